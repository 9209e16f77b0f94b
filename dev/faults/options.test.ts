import { expect, test } from 'vitest'
import { UsageError } from '../process/program.ts'
import { parseFaultsOptions } from './options.ts'

test('without options all attacks are run, on a real node where the machine can have one', () => {
  const all = { controls: false, realNode: true, seed: undefined, pattern: undefined, filters: [] }
  expect(parseFaultsOptions([], true)).toEqual(all)
  expect(parseFaultsOptions([], false)).toEqual({ ...all, realNode: false })
  expect(parseFaultsOptions(['--no-real-node'], true)).toEqual({ ...all, realNode: false })
})

test('a run is repeated by its seed, in part by filters and a pattern', () => {
  const options = parseFaultsOptions(['stop', '--seed', '2147483647', '-t', '^T3 ', 'kill'], true)
  expect(options).toMatchObject({ seed: 2_147_483_647, pattern: '^T3 ', filters: ['stop', 'kill'] })
})

test('controls take no real node', () => {
  expect(parseFaultsOptions(['--controls', 'no-fence'], true)).toMatchObject({
    controls: true,
    realNode: false,
    filters: ['no-fence'],
  })
})

test.each([[['--seed', 'x']], [['--seed=-1']], [['--all']]])('%j is a mistake', args => {
  expect(() => parseFaultsOptions(args, true)).toThrow(UsageError)
})
