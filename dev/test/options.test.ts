import { expect, test } from 'vitest'
import { UsageError } from '../process/program.ts'
import { parseTestOptions } from './options.ts'

test('parseTestOptions runs everything by default, on a real node when the machine can have one', () => {
  expect(parseTestOptions([], true)).toMatchObject({ unit: false, realNode: true, cluster: false, whole: true })
  expect(parseTestOptions([], false)).toMatchObject({ realNode: false })
})

test.each([
  ['--no-real-node'],
  ['--unit'],
  ['--vm'],
  ['--kubeconfig=mine'],
  ['--context=mine'],
  ['--containers=cluster'],
])('parseTestOptions takes no real node with %s', option => {
  expect(parseTestOptions([option], true).realNode).toBe(false)
})

test('parseTestOptions keeps filters and a pattern for vitest, and leaves out suites without filters', () => {
  const options = parseTestOptions(['streams', '-t', 'a lab', 'faults'], true)
  expect(options).toMatchObject({ pattern: 'a lab', filters: ['streams', 'faults'], whole: false })
})

test.each([
  [[], false, false],
  [['--containers', 'redis'], true, false],
  [['--containers', 'cluster'], false, true],
  [['--containers', 'both'], true, true],
] as const)('parseTestOptions reads %j: Redis in containers: %s, the cluster: %s', (args, redis, cluster) => {
  const { redisInContainers, choice } = parseTestOptions(args, true)
  expect(redisInContainers).toBe(redis)
  expect(choice.containers).toBe(cluster)
})

test.each([
  [['--fast'], /--fast/],
  [['--containers', 'all'], /--containers: redis, cluster, both, not all/],
  [['--vm', '--unit'], /--vm: not with --unit/],
  [['--vm', '--containers', 'redis'], /--vm: not with --containers/],
  [['--containers', 'both', '--context', 'mine'], /--containers: not with an existing cluster/],
])('parseTestOptions refuses %j', (args, words) => {
  expect(() => parseTestOptions(args, true)).toThrow(UsageError)
  expect(() => parseTestOptions(args, true)).toThrow(words)
})
