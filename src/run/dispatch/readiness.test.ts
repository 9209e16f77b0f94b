import { expect, test } from 'vitest'
import { redisName } from '../readiness.ts'
import { firstCompare, readinessOf } from './readiness.ts'

const reason = { words: 'it does not answer', detail: 'it does not answer (10.0.0.1:6379)' }

function readiness(waiting: readonly string[], redis = false, cloud?: string) {
  return readinessOf(new Set(waiting), {
    store: { connection: { trouble: () => (redis ? reason : undefined) } },
    pool: { comparer: { trouble: cloud } },
    rest: { trouble: () => undefined },
  })
}

test('readinessOf names why Redis or the cloud cannot be used while the process waits for it', () => {
  const both = [redisName, firstCompare, 'its end']
  expect(readiness(both).waitingFor()).toEqual(both)
  expect(readiness(both, true, 'the credentials lack a permission').waitingFor()).toEqual([
    expect.stringMatching(/^Redis: it does not answer/),
    `${firstCompare}: the credentials lack a permission`,
    'its end',
  ])
})

test('readinessOf lists what troubles a process that is ready', () => {
  expect(readiness([]).troubles()).toEqual([])
  expect(readiness([], true, 'the cloud does not answer').troubles()).toEqual([
    expect.stringMatching(/^Redis: it does not answer/),
    'the compare: the cloud does not answer',
  ])
})
