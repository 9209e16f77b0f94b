import { expect, test } from 'vitest'
import { complaints, type RolloutReport } from './rollout.ts'

const unnoticed: RolloutReport = {
  labs: 50,
  failedSpawns: [],
  inProgress: 25,
  begunMeanwhile: 25,
  requests: 900,
  repeated: 12,
  failedRequests: [],
  streamsResumed: 30,
  survivors: 0,
  seconds: { rollout: 20, all: 25 },
}

test('complaints returns nothing for a rollout without failures', () => {
  expect(complaints(unnoticed)).toEqual([])
})

test.each<[string, Partial<RolloutReport>]>([
  ['a spawn that failed', { failedSpawns: ['user-004: failed: gone'] }],
  ['a request that failed twice', { failedRequests: ['GET /user-status: reset'] }],
  ['a replica that is still there', { survivors: 1 }],
  ['one that met no creation', { inProgress: 0 }],
])('complaints names %s', (_, change) => {
  expect(complaints({ ...unnoticed, ...change })).toHaveLength(1)
})
