import { describe, expect, it } from 'vitest'
import type { KubeObject, LabPlan } from '../domain.ts'
import { NeedsSomeone, RetryLater } from '../errors.ts'
import { KubeError } from '../kube/client.ts'
import { render } from '../labs/testing-plan.ts'
import { createSteps } from './create.ts'
import { FakeCluster, fakeContext, namespaceObject, podObject } from './testing.ts'

/** Operation 7 makes its pod, and a pod stands there already: of this op, owned by the namespace of this UID. */
function meeting(op: number, ownerUid: string, namespaceUid = 'uid-of-nublado-ada', terminating = false) {
  const cluster = new FakeCluster()
  const pod = podObject({ op, terminating })
  const owner = { apiVersion: 'v1', kind: 'Namespace', name: 'nublado-ada', uid: ownerUid }
  cluster.real = {
    namespace: namespaceObject({ uid: namespaceUid }),
    pod: { ...pod, metadata: { ...pod.metadata, ownerReferences: [owner] } },
  }
  const create = async () => {
    throw new KubeError(409, 'AlreadyExists', 'it stands already')
  }
  const known = { namespaceUid: 'uid-of-nublado-ada', podUid: undefined, doubt: false }
  const plan = { objects: [podObject() as KubeObject] } as unknown as LabPlan
  const { context } = fakeContext(cluster, { known, plan, kube: { ...cluster.kube, create } as typeof cluster.kube })
  const step = createSteps(plan).find(({ name }) => name === 'make.pod')!
  return { cluster, known, run: () => step.run(context) }
}

it('names steps by kind, and by what names have beyond the pod’s', () => {
  const steps = createSteps(render({ identity: { username: 'my-env' } })).map(({ name }) => name)
  expect(steps.filter(name => name.startsWith('make.'))).toEqual([
    ...['make.namespace', 'make.configmap-env', 'make.configmap-nss', 'make.secret', 'make.secret-env'],
    ...['make.networkpolicy', 'make.service', 'make.pod'],
  ])
})

describe('a pod that stands already', () => {
  it('is one’s own by op and by the namespace that owns it', async () => {
    const { known, run } = meeting(7, 'uid-of-nublado-ada')
    await run()
    expect(known.podUid).toBe('uid-of-nb-ada')
  })

  it('is awaited while it is being removed, though it is one’s own', async () => {
    const { cluster, known, run } = meeting(7, 'uid-of-nublado-ada', 'uid-of-nublado-ada', true)
    await expect(run()).rejects.toBeInstanceOf(RetryLater)
    expect(known.podUid).toBeUndefined()
    expect(cluster.requests).toEqual(['get Pod'])
  })

  it.each([
    ['of a lower op', 6, 'uid-of-an-older-one'],
    ['of the same op in a namespace that is gone', 7, 'uid-of-an-older-one'],
  ])('%s is debris in one’s own namespace', async (_, op, owner) => {
    const { cluster, run } = meeting(op, owner)
    await expect(run()).rejects.toBeInstanceOf(RetryLater)
    expect(cluster.requests).toContain('delete Pod uid-of-nb-ada')
  })

  it.each([
    ['of a newer operation', 8],
    ['of this operation, by its next owner', 7],
  ])('%s is left alone: the namespace is not ours any more', async (_, op) => {
    const { cluster, run } = meeting(op, 'uid-of-a-newer-one', 'uid-of-a-newer-one')
    await expect(run()).rejects.toBeInstanceOf(NeedsSomeone)
    expect(cluster.requests).toEqual(['get Pod', 'get Namespace'])
  })
})
