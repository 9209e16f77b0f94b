import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { nodeEnv, nodeOptions } from './node-options.ts'

const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8')

test('the image starts Node with the options and the environment of the replicas in tests', () => {
  const [, entrypoint] = /^ENTRYPOINT (.*)$/m.exec(dockerfile) ?? []
  expect(JSON.parse(entrypoint!)).toEqual(['/usr/local/bin/node', ...nodeOptions, '/skylab/dist/main.mjs'])
  const [, env] = /^ENV (.*)$/m.exec(dockerfile) ?? []
  const own = env!.split(' ').filter(each => !each.startsWith('NODE_'))
  expect(own).toEqual(Object.entries(nodeEnv).map(([name, value]) => `${name}=${value}`))
})
