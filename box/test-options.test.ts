import { expect, test } from 'vitest'
import { UsageError } from './program.ts'
import { parseTestOptions } from './test-options.ts'

test('without options all is run, on a real node where the machine can have one', () => {
  expect(parseTestOptions([], true)).toMatchObject({ unit: false, realNode: true, cluster: false, whole: true })
  expect(parseTestOptions([], false)).toMatchObject({ realNode: false })
})

test.each([['--no-real-node'], ['--unit'], ['--kubeconfig=mine'], ['--context=mine']])('%s: no real node', option => {
  expect(parseTestOptions([option], true).realNode).toBe(false)
})

test('filters and a pattern are for vitest, and leave out what they cannot choose from', () => {
  const { vitest, whole } = parseTestOptions(['streams', '-t', 'a lab', 'faults'], true)
  expect(vitest).toEqual(['-t', 'a lab', 'streams', 'faults'])
  expect(whole).toBe(false)
})

test('what is no option is a mistake', () => {
  expect(() => parseTestOptions(['--fast'], true)).toThrow(UsageError)
})
