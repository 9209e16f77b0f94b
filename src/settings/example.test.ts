/** The example of the documentation is a configuration that `skylab serve` accepts unchanged. */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { chooseLab } from '../labs/choose.ts'
import { loadSettings } from './load.ts'

const example = fileURLToPath(new URL('../../docs/example.yaml', import.meta.url))
const env = { SKYLAB_SEALING_KEY: Buffer.alloc(32).toString('base64') }

test('loadSettings loads the example without a warning', async () => {
  const { config, warnings, sealingKeys } = await loadSettings(example, env)
  expect(warnings).toEqual([])
  expect(sealingKeys).toHaveLength(1)
  expect(config.lab.sizes.large?.requests).toEqual({ cpu: 2, memory: 4 * 2 ** 30 })
})

test('the example’s tokens are of a user who may have a medium lab, and of an administrator', async () => {
  const { config, tokens } = await loadSettings(example, env)
  const [ada, admin] = tokens
  expect(admin?.scopes).toEqual(['exec:notebook', 'admin:jupyterlab'])
  expect(ada?.scopes).toEqual(['exec:notebook'])
  const { memory: memoryBytes, cpu, spawn } = ada!.quota!
  const identity = { ...ada!, quota: { cpu: cpu!, memoryBytes: memoryBytes!, spawn } }
  expect(chooseLab(config.lab, identity, { size: 'medium' }).quotas.limits).toEqual({ cpu: 2, memory: 4 * 2 ** 30 })
  expect(() => chooseLab(config.lab, identity, { size: 'large' })).toThrow(/more than your quota/)
})
