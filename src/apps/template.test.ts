import { expect, test } from 'vitest'
import { appSettings } from '../../test/kit/apps/facts.ts'
import { seedTemplate } from '../../test/kit/apps/seed.ts'
import { asObject } from '../base/json.ts'
import { factOf } from '../reconcile/facts.ts'
import { namespaceOf } from './groups.ts'
import {
  copiedSpec,
  envOfSpec,
  readTemplate,
  templateIn,
  templateOf,
  templateText,
  templateWatch,
  withEnv,
} from './template.ts'

const seed = () => templateOf(factOf(seedTemplate(), templateWatch.paths))

test('templateOf reads the template of the seed', () => {
  const { spec, ...shown } = seed()
  expect(shown).toEqual({
    ...{
      id: 'mlflow',
      name: 'MLFlow',
      description: '',
      version: '',
      docLink: '',
      icon: 'https://example.org/mlflow.png',
    },
    defaultEnvs: [
      {
        ...{ name: 'BACKEND_STORE_URI', description: '', optional: false },
        defaultValue: 'sqlite://$(PRIMEHUB_APP_ROOT)/mlflow.db',
      },
      { name: 'DEFAULT_ARTIFACT_ROOT', description: '', optional: false, defaultValue: '$(PRIMEHUB_APP_ROOT)/mlruns' },
    ],
  })
  expect(envOfSpec(spec)).toEqual([{ name: 'FOO', value: 'bar' }])
  expect(copiedSpec(seed())).toEqual(asObject(asObject(asObject(seedTemplate().spec).template).spec))
})

test('templateIn reads what templateText writes, and nothing of what else may be there', () => {
  expect(templateIn(templateText(seed()))).toEqual(seed())
  for (const text of ['', '{', '"x']) expect(templateIn(text)).toBeUndefined()
  for (const text of ['[]', '7', 'null', '{"spec":{"defaultEnvs":7,"template":[]}}'])
    expect(templateIn(text)).toEqual(readTemplate('', {}))
})

test('templateIn reads no more of an annotation than a template can have', () => {
  const defaultEnvs = Array.from({ length: 65 }, (_, i) => ({ name: `A${i}` }))
  const read = (icon: string) => templateIn(JSON.stringify({ spec: { icon, defaultEnvs } }))!
  expect([read('i'.repeat(65_536)).icon.length, read('i'.repeat(65_537)).icon]).toEqual([65_536, ''])
  expect(read('').defaultEnvs.length).toBe(64)
})

test('copiedSpec takes of a template what is the same for all apps, and nothing that is of one', () => {
  const spec = { stop: true, groupName: 'x', scope: 'public', podTemplate: {}, svcTemplate: {}, rewrite: true }
  expect(copiedSpec(readTemplate('a', { template: { spec } }))).toEqual({
    podTemplate: {},
    svcTemplate: {},
    rewrite: true,
  })
})

test('withEnv replaces the variables of the first container alone', () => {
  const spec = { podTemplate: { spec: { containers: [{ name: 'a', env: [{ name: 'X' }] }, { name: 'b' }] }, x: 1 } }
  expect(withEnv(spec, [{ name: 'Y' }])).toEqual({
    podTemplate: { spec: { containers: [{ name: 'a', env: [{ name: 'Y' }] }, { name: 'b' }] }, x: 1 },
  })
  expect(withEnv({}, [{ name: 'Y' }])).toEqual({})
})

test('namespaceOf is the namespace that serves the group, and no other', () => {
  const settings = appSettings({ groups: { chem: { namespace: 'lab' } } })
  const of = (group: string) => namespaceOf(group, settings, name => ['lab', 'team'].includes(name))
  expect([of('chem'), of('team')]).toEqual(['lab', 'team'])
  // The namespace of the LNamespace `lab` is that of a group of the configuration.
  for (const group of ['lab', 'nobody', 'toString', '__proto__', '..', '']) expect(of(group)).toBeUndefined()
})
