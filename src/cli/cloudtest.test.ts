import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { main } from '../main.ts'
import { newKey } from '../ssh/new-key.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skylab-cloudtest-'))
  await writeFile(join(folder, 'token'), 'a'.repeat(40))
  await writeFile(join(folder, 'key'), newKey().private)
})
afterEach(() => rm(folder, { recursive: true }))

const whole = (over: object = {}) => ({
  run: ['dispatch'],
  dispatch: {
    ...{ clusterId: 'zzzzz', tokenFile: 'token', InstanceTypes: { small: { VCPUs: 1, RAM: '4GiB', Price: 1 } } },
    CloudVMs: { Driver: 'loopback', DriverParameters: { Directory: join(folder, 'cloud') } },
    ...{ Containers: { DispatchPrivateKey: 'key' }, ...over },
  },
})

async function run(config: object | undefined, ...args: string[]) {
  const [out, err]: [string[], string[]] = [[], []]
  const file = join(folder, 'skylab.yaml')
  if (config) await writeFile(file, JSON.stringify(config))
  const code = await main(['cloudtest', ...(config ? ['--config', file] : []), ...args], {
    ...{ env: {}, out: text => void out.push(text), err: text => void err.push(text) },
    serve: () => Promise.reject(new Error('nothing is to be served')),
  })
  return { code, out: out.join(''), err: err.join('') }
}

it.each([
  [undefined, [], '--config is missing'],
  [whole, ['--colour'], "Unknown option '--colour'"],
  [whole, ['large'], "Unexpected argument 'large'"],
  [whole, ['--instance-type', 'large'], 'dispatch.InstanceTypes: has no large'],
  [() => ({}), [], 'dispatch: is required by a process that runs dispatch'],
  [() => whole({ tokenFile: 'none' }), [], 'dispatch.tokenFile: the file cannot be read (ENOENT)'],
  [() => whole({ InstanceTypes: {} }), [], 'dispatch.InstanceTypes: no type of machine'],
] as const)('skylab cloudtest is refused for the configuration %s and the words %j', async (config, args, words) => {
  const { code, out, err } = await run(config?.(), ...args)
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain(words)
})

it('skylab cloudtest is refused before it makes anything when the program for machines cannot be read', async () => {
  const { CloudVMs } = whole().dispatch
  const { code, err } = await run(whole({ CloudVMs: { ...CloudVMs, DeployRunnerBinary: 'none' } }))
  expect([code, err]).toEqual([2, expect.stringContaining('dispatch.CloudVMs.DeployRunnerBinary: the file')])
  expect(existsSync(join(folder, 'cloud'))).toBe(false)
})
