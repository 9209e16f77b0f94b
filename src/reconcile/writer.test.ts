import { expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { KubeError } from '../kube/client.ts'
import { FakeApi } from './testing/api.ts'
import { object, paths } from './testing/plans.ts'
import { Writer } from './writer.ts'

test.each<[string, string, number]>([
  ['reads the object once', 'AlreadyExists', 1],
  ['reads nothing', 'Conflict', 0],
])('Writer %s when a creation is answered with %s', async (_what, reason, reads) => {
  const api = new FakeApi()
  let read = 0
  const kube = {
    ...api.client,
    create: async () => Promise.reject(new KubeError(409, reason, reason)),
    get: async () => {
      read += 1
      return null
    },
  }
  const sights = [api.sight('v1', 'ConfigMap', paths, new ManualClock())]
  const writer = new Writer({ kube, sights, call: () => ({}) })
  const sent = await writer.send({ act: 'create', stage: 0, object: object('a') })
  expect([sent, read]).toEqual(['stale', reads])
})
