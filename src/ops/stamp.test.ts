import { describe, expect, it } from 'vitest'
import { RetryLater } from '../base/errors.ts'
import { KubeError } from '../kube/client.ts'
import { cullSteps, deleteSteps } from './delete.ts'
import { FakeCluster, fakeContext } from './testing/cluster.ts'

const [stamp, ...others] = cullSteps(Date.parse('2026-11-24T19:06:01.234Z'))

const known = { namespaceUid: 'n', podUid: 'p', doubt: false }

/** A step’s context on a cluster that refuses patches with this error. */
function refusing(error: Error) {
  const cluster = new FakeCluster()
  const patch = async () => {
    throw error
  }
  return fakeContext(cluster, { known, kube: { ...cluster.kube, patch } }).context
}

describe('cullSteps', () => {
  it('stamp the pod of the record, by its UID, before all else', async () => {
    const cluster = new FakeCluster()
    const passed: string[] = []
    const failpoint = (place: string) => void passed.push(place)
    const { context } = fakeContext(cluster, { known, failpoint })
    expect(await stamp!.run(context)).toBe('nothing')
    const annotations = { 'kubeflow-resource-stopped': '2026-11-24T19:06:01Z' }
    expect(cluster.requests).toEqual([`patch Pod p ${JSON.stringify({ metadata: { annotations } })}`])
    expect(passed).toEqual(['before-act', 'after-act'])
    expect(others).toEqual(deleteSteps)
  })

  it('ask nothing when the record has no pod', async () => {
    const cluster = new FakeCluster()
    const { context } = fakeContext(cluster, { known: { ...known, podUid: undefined } })
    expect(await stamp!.run(context)).toBe('nothing')
    expect(cluster.requests).toEqual([])
  })

  it.each([
    ['lacks the right', new KubeError(403, 'Forbidden', 'pods "nb-ada" is forbidden: cannot patch')],
    ['finds another pod', new KubeError(409, 'Conflict', 'Precondition failed: UID in precondition')],
    ['does not answer', new RetryLater('no answer')],
  ])('go on when the API server %s', async (_, error) => {
    expect(await stamp!.run(refusing(error))).toBe('nothing')
  })

  it('stop at an error that is no answer of the API server', async () => {
    await expect(stamp!.run(refusing(new Error('the lease is lost')))).rejects.toThrow('the lease is lost')
  })
})
