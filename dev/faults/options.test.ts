import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { UsageError } from '../process/program.ts'
import { parseFaultsOptions } from './options.ts'

test('parseFaultsOptions runs all attacks by default, on a real node when the machine can have one', () => {
  const none = { seed: undefined, pattern: undefined, only: undefined, beside: undefined }
  const all = { controls: false, realNode: true, filters: [], ...none }
  expect(parseFaultsOptions([], true)).toEqual(all)
  expect(parseFaultsOptions([], false)).toEqual({ ...all, realNode: false })
  expect(parseFaultsOptions(['--no-real-node'], true)).toEqual({ ...all, realNode: false })
})

test('parseFaultsOptions takes a seed to repeat a run, and filters and a pattern to run a part', () => {
  const options = parseFaultsOptions(['stop', '--seed', '2147483647', '-t', '^T3 ', 'kill'], true)
  expect(options).toMatchObject({ seed: 2_147_483_647, pattern: '^T3 ', filters: ['stop', 'kill'] })
})

test('parseFaultsOptions runs one wing when it is named', () => {
  expect(parseFaultsOptions(['--only', 'idle'], true)).toMatchObject({ only: 'idle', filters: [] })
})

test('parseFaultsOptions runs controls without a real node', () => {
  expect(parseFaultsOptions(['--controls', 'no-fence'], true)).toMatchObject({
    controls: true,
    realNode: false,
    filters: ['no-fence'],
  })
})

test('parseFaultsOptions runs one attack, without a real node, when another build is given', () => {
  const other = fileURLToPath(import.meta.url)
  expect(parseFaultsOptions(['--beside', other], true)).toMatchObject({
    beside: other,
    realNode: false,
    filters: ['faults/beside.attack'],
  })
})

test.each([[['--beside', 'no-such-build.mjs']], [['--seed', 'x']], [['--seed=-1']], [['--all']], [['--only', 'all']]])(
  'parseFaultsOptions refuses %j',
  args => {
    expect(() => parseFaultsOptions(args, true)).toThrow(UsageError)
  },
)
