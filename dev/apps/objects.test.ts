import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { newApp } from '../../src/appcontrol/creation.ts'
import { renderApp } from '../../src/apps/render.ts'
import { readTemplate } from '../../src/apps/template.ts'
import type { KubeObject } from '../../src/base/domain.ts'
import { configSchema } from '../../src/config/schema.ts'
import { appFact, appSettings, checkedFact } from '../../test/kit/apps/facts.ts'
import { seedApp } from '../../test/kit/apps/seed.ts'
import { timesAsFar } from './orbits.ts'
import { appFiles, pathOf } from './steps.ts'
import { oscillatorWish, templateBody } from './template-steps.ts'

const read = (file: string) => readFileSync(pathOf(file), 'utf8')

test('mlflow-xyzab.yaml is the example of the seed, word for word', () => {
  expect(parse(read('mlflow-xyzab'))).toEqual(seedApp())
})

test.each(appFiles)('%s.yaml is an app of which nothing is refused or left out', file => {
  const documents = parseAllDocuments(read(file)).map(each => each.toJS() as KubeObject)
  const app = appFact(documents.find(({ kind }) => kind === 'PhApplication')!)
  const { spec, refusal } = checkedFact(app)
  expect(refusal).toBeUndefined()
  expect(renderApp(app, spec!, appSettings(), false).pruned).toEqual([])
})

test('docs/apps.md shows the page of Streamlit as the demo has it', () => {
  const page = readFileSync(new URL('../../docs/apps.md', import.meta.url), 'utf8')
  const shown = parse(/```yaml\n([\s\S]*?)```/.exec(page)![1]!) as KubeObject
  const [, app] = parseAllDocuments(read('orbits')).map(each => each.toJS() as KubeObject)
  // The page has names of a site, and is shorter.
  const plain = (object: object) =>
    JSON.parse(
      JSON.stringify(object)
        .replaceAll(/"(registry\.example\.org|demo)\//g, '"')
        .replace(',"periodSeconds":1', ''),
    )
  expect(plain(shown)).toEqual(plain(app!))
})

test('an app of shiny.yaml has what was filled in, a masked secret, and nothing that is refused or left out', async () => {
  const template = readTemplate('shiny', parse(read('shiny')).spec)
  const terms = { id: 'oscillator', patterns: configSchema.parse({}).lab.secretPatterns, suffix: '0123456789abcdef' }
  const { spec: made, secrets } = newApp(oscillatorWish, template, terms)
  const env = (made.podTemplate as { spec: { containers: { env: object[] }[] } }).spec.containers[0]!.env
  expect(env[0]).toEqual({ name: 'QUANTUM', value: '0.2' })
  expect(Object.values(secrets)).toEqual(['a-token-of-ada'])
  const fact = appFact({ ...seedApp(), spec: made, metadata: { name: 'oscillator', namespace: 'hub' } })
  const { spec, refusal } = checkedFact(fact)
  expect(refusal).toBeUndefined()
  expect(renderApp(fact, spec!, appSettings(), false).pruned).toEqual([])
  expect(await templateBody()).toMatchObject({ name: 'Oscillator', template: { spec: { rewrite: true } } })
})

test('timesAsFar is what the program of orbits.yaml computes at first', () => {
  expect(timesAsFar(0.3)).toBe('1.86')
})
