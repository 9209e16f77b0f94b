import { describe, expect, it } from 'vitest'
import { render } from '../../test/kit/labs/plan.ts'
import { podEventFacts } from '../../test/kit/labs/pod-facts.ts'
import type { KubeObject, LabPlan } from '../base/domain.ts'
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import { KubeError } from '../kube/client.ts'
import { createSteps } from './create.ts'
import type { LabKnown } from './lab-context.ts'
import { FakeCluster, fakeContext, namespaceObject, podObject } from './testing/cluster.ts'

/** Operation 7 creates its pod while one exists already: with this op, owned by the namespace with this UID. */
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
  return { cluster, known, run: () => makePod(cluster, known, create) }
}

function makePod(cluster: FakeCluster, known: LabKnown, create: () => Promise<KubeObject>) {
  const plan = { objects: [podObject() as KubeObject] } as unknown as LabPlan
  const { context } = fakeContext(cluster, { known, plan, kube: { ...cluster.kube, create } as typeof cluster.kube })
  return createSteps(plan)
    .find(({ name }) => name === 'make.pod')!
    .run(context)
}

it('createSteps lists the namespace, its content in one act, and the pod after that', () => {
  const steps = createSteps(render())
  expect(steps.filter(({ name }) => !name.startsWith('clear.')).map(({ name, kind }) => [name, kind])).toEqual([
    ['make.namespace', 'act'],
    ['make.content', 'act'],
    ['make.pod', 'act'],
    ['start', 'wait'],
  ])
})

describe('createSteps, when a pod exists already,', () => {
  it('adopts it by op and by the namespace that owns it', async () => {
    const { known, run } = meeting(7, 'uid-of-nublado-ada')
    await run()
    expect(known.podUid).toBe('uid-of-nb-ada')
  })

  it('waits while it is being removed, even if it is its own', async () => {
    const { cluster, known, run } = meeting(7, 'uid-of-nublado-ada', 'uid-of-nublado-ada', true)
    await expect(run()).rejects.toBeInstanceOf(RetryLater)
    expect(known.podUid).toBeUndefined()
    expect(cluster.requests).toEqual(['get Pod'])
  })

  it.each([
    ['of a lower op', 6, 'uid-of-an-older-one'],
    ['of the same op in a namespace that is gone', 7, 'uid-of-an-older-one'],
  ])('removes a pod %s from its own namespace', async (_, op, owner) => {
    const { cluster, run } = meeting(op, owner)
    await expect(run()).rejects.toBeInstanceOf(RetryLater)
    expect(cluster.requests).toContain('delete Pod uid-of-nb-ada')
  })

  it.each([
    ['of a newer operation', 8],
    ['of this operation, by its next owner', 7],
  ])('leaves a pod %s when the namespace is no longer ours', async (_, op) => {
    const { cluster, run } = meeting(op, 'uid-of-a-newer-one', 'uid-of-a-newer-one')
    await expect(run()).rejects.toBeInstanceOf(NeedsSomeone)
    expect(cluster.requests).toEqual(['get Pod', 'get Namespace'])
  })
})

describe('createSteps, when a quota refuses the pod,', () => {
  const words =
    'pods "nb-ada" is forbidden: exceeded quota: nb-ada, requested: limits.cpu=4, used: limits.cpu=0, limited: limits.cpu=2'

  /** Operation 7 creates its pod, and is refused. */
  function refused(message: string, real: FakeCluster['real']) {
    const cluster = new FakeCluster()
    cluster.real = { namespace: namespaceObject(), ...real }
    const known: LabKnown = { namespaceUid: 'uid-of-nublado-ada', podUid: undefined, doubt: false }
    const create = async () => {
      throw new KubeError(403, 'Forbidden', message)
    }
    return { cluster, known, made: makePod(cluster, known, create) }
  }

  it('fails at once with a reason', async () => {
    const { made } = refused(words, {})
    await expect(made).rejects.toThrow(`The lab is more than its quota allows: ${words}`)
    await expect(made).rejects.toBeInstanceOf(NeedsSomeone)
  })

  it('adopts the pod when the pod itself fills the quota, since the first reply was lost', async () => {
    const pod = podObject()
    const owner = { apiVersion: 'v1', kind: 'Namespace', name: 'nublado-ada', uid: 'uid-of-nublado-ada' }
    const { known, made } = refused(words, {
      pod: { ...pod, metadata: { ...pod.metadata, ownerReferences: [owner] } },
    })
    await made
    expect(known.podUid).toBe('uid-of-nb-ada')
  })

  it('names the namespace as the reason when that is gone', async () => {
    const { made } = refused(words, { namespace: undefined })
    await expect(made).rejects.toThrow('was removed while the lab was being made')
  })

  it('tries again while the quota is not counted yet', async () => {
    const { made } = refused('pods "nb-ada" is forbidden: status unknown for quota: nb-ada, resources: limits.cpu', {})
    await expect(made).rejects.toBeInstanceOf(KubeError)
  })
})

/** Operation 7 waits for its pod. */
function awaiting() {
  const cluster = new FakeCluster()
  const known: LabKnown = { namespaceUid: 'uid-of-nublado-ada', podUid: 'uid-of-nb-ada', doubt: false }
  const plan = { objects: [podObject() as KubeObject] } as unknown as LabPlan
  const { context, reported, clock } = fakeContext(cluster, { known, plan })
  const show = (status: object) => {
    cluster.real = { namespace: namespaceObject(), pod: { ...podObject(), status } }
    cluster.show()
  }
  const start = () => createSteps(plan).at(-1)!.run(context)
  return { cluster, clock, show, start, reported }
}

describe('the start step, when the lab is ready,', () => {
  const named = { name: 'lab', started: true, ready: true, state: { running: {} }, containerID: 'containerd://1' }
  const { containerID: _, ...unnamed } = named
  const ready = (container: object) => ({ phase: 'Running', containerStatuses: [container] })
  const about = { podUid: 'uid-of-nb-ada', container: 'lab' }
  const pulled = podEventFacts({ ...about, uid: 'e1', reason: 'Pulled', message: 'already present on machine' })
  const startedEvent = podEventFacts({ ...about, uid: 'e2', reason: 'Started', message: 'Container started' })

  /** The events when the step was over, those of its result last; null while it is not. */
  async function reportedAtEnd({ start, reported }: ReturnType<typeof awaiting>) {
    let ended: string[] | null = null
    void start().then(result => {
      const last = result === 'nothing' ? [] : result.events
      ended = [...reported, ...last].map(([, data]) => data)
    })
    await new Promise(setImmediate)
    return () => ended
  }

  it('waits for the events of the start, and writes them', async () => {
    const lab = awaiting()
    lab.show(ready(named))
    const ended = await reportedAtEnd(lab)
    lab.cluster.events = [pulled]
    lab.cluster.show()
    await new Promise(setImmediate)
    expect(ended()).toBeNull()
    lab.cluster.events = [pulled, startedEvent]
    lab.cluster.show()
    await new Promise(setImmediate)
    expect(ended()).toEqual(expect.arrayContaining(['already present on machine', 'Container started']))
    expect(ended()!.at(-1)).toBe('The lab is up')
  })

  it('leaves the news of its last look to the end of the operation, and writes earlier ones at once', async () => {
    const lab = awaiting()
    lab.cluster.events = [pulled]
    lab.show({ phase: 'Pending' })
    const started = lab.start()
    await new Promise(setImmediate)
    expect(lab.reported).toEqual([['info', 'already present on machine']])
    lab.cluster.events = [pulled, startedEvent]
    lab.show(ready(named))
    expect(await started).toEqual({
      events: [
        ['info', 'Container started'],
        ['info', 'The lab is up'],
      ],
    })
    expect(lab.reported).toHaveLength(1)
  })

  it('waits for a second when events do not come', async () => {
    const lab = awaiting()
    lab.show(ready(named))
    const ended = await reportedAtEnd(lab)
    lab.clock.advance(999)
    await new Promise(setImmediate)
    expect(ended()).toBeNull()
    lab.clock.advance(1)
    await new Promise(setImmediate)
    expect(ended()).toEqual(['The lab is up'])
  })

  it.each([
    ['the event of its start was seen', named, [startedEvent]],
    ['no runtime has named its container', unnamed, []],
  ])('does not wait when %s', async (_, container, events) => {
    const lab = awaiting()
    lab.cluster.events = events
    lab.show(ready(container))
    expect((await reportedAtEnd(lab))()).not.toBeNull()
  })

  it('waits when only the init container has been reported', async () => {
    const lab = awaiting()
    const { container: _, ...ofInit } = startedEvent
    lab.cluster.events = [ofInit]
    lab.show(ready(named))
    expect((await reportedAtEnd(lab))()).toBeNull()
  })
})

describe('the start step, while the lab is being prepared,', () => {
  const running = { name: 'provision', restartCount: 0, state: { running: {} } }
  const failed = { exitCode: 3, message: 'mkdir /home/ada\nno space left\n' }
  const initStatus = (state: object) => ({ phase: 'Pending', initContainerStatuses: [{ ...running, state }] })

  it('reports that', async () => {
    const { show, start, reported } = awaiting()
    show(initStatus({ running: {} }))
    const started = start()
    await new Promise(resolve => setImmediate(resolve))
    expect(reported).toEqual([['info', 'Preparing what the lab needs']])
    show({ phase: 'Running', containerStatuses: [{ name: 'lab', started: true, ready: true, state: { running: {} } }] })
    await started
  })

  it('fails with the last lines of the output when the preparation fails', async () => {
    const { show, start } = awaiting()
    show(initStatus({ terminated: failed }))
    await expect(start()).rejects.toThrow('The lab could not be prepared: exit code 3\nmkdir /home/ada\nno space left')
    await expect(start()).rejects.toBeInstanceOf(NeedsSomeone)
  })
})
