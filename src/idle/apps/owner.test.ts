import { describe, expect, it } from 'vitest'
import { RetryLater } from '../../base/errors.ts'
import { KubeError } from '../../kube/client.ts'
import { stamps } from '../../kube/labels.ts'
import type { StopRefusal, StopRequest } from '../../store/idle.ts'
import type { SeenApp } from './owner.ts'
import { both, id, removed, seenPod, appOwnerWorld as world } from './testing/owner-world.ts'

const { signal } = new AbortController()
const limit = { signal, check: () => {} }
const request = { kind: 'app', id } as StopRequest

describe('AppOwner.facts', () => {
  it('shows the pod that serves the app, and its stamps', () => {
    expect(world().owner.facts(id)).toEqual({
      ...{ kind: 'app', id, podUid: 'pod', mayBeAsked: true, startedMs: 7, stamps: both },
    })
  })

  it.each<[string, Partial<SeenApp>]>([
    ['it has no pod', { pod: undefined }],
    ['its pod does not run', { pod: seenPod({ running: false }) }],
    ['it is being deleted', { deleting: true }],
    ['it is to stop', { stop: true }],
    ['somebody has written the annotation', { stamps: { stopped: 'now' } }],
  ])('shows nothing when %s', (_, more) => {
    const { owner, show } = world()
    show(more)
    expect(owner.facts(id)).toBeUndefined()
  })

  it.each<[string, Parameters<typeof seenPod>[0]]>([
    ['it is not ready', { ready: false }],
    ['it is in the network of its node', { hostNetwork: true }],
    ['it has no address', { ip: '' }],
  ])('lets nobody ask the pod when %s', (_, pod) => {
    const { owner, show } = world()
    show({ pod: seenPod(pod) })
    expect(owner.facts(id)?.mayBeAsked).toBe(false)
  })

  it('knows an app that ends', () => {
    const { owner, show } = world()
    expect(owner.isEnding(id)).toBe(false)
    for (const more of [{ stop: true }, { deleting: true }, { pod: seenPod({ running: false }) }]) {
      show(more)
      expect(owner.isEnding(id)).toBe(true)
    }
    show({ stop: true, pod: undefined })
    expect(owner.isEnding(id)).toBe(false)
  })

  it('finds an app by the name of the pod that serves it', () => {
    const { owner } = world()
    expect(owner.ofPod('hub', 'app-mlflow-1-2')?.id).toBe(id)
    expect(owner.ofPod('hub', 'app-mlflow-1-3')).toBeUndefined()
    expect(owner.ofPod('other', 'app-mlflow-1-2')).toBeUndefined()
  })
})

describe('AppOwner.read', () => {
  it('reads what rules match by, and where the app is asked', async () => {
    const { known } = world()
    const { traits, target } = await known()
    expect(traits).toEqual({
      ...{ size: 'small', image: 'mlflow:1', groups: ['phusers'], tenant: undefined, namespace: 'hub' },
    })
    expect(await target(signal)).toEqual({
      ...{ address: '10.0.0.7', port: 5000, prefix: '/console/apps/mlflow/', credential: undefined },
    })
  })

  it('knows nothing of a pod that is not the present one', async () => {
    const { owner } = world()
    expect(await owner.read({ ...owner.facts(id)!, podUid: 'former' })).toBeUndefined()
  })
})

describe('AppOwner.stop', () => {
  const fails = (status: number) => () => {
    throw new KubeError(status, '', '')
  }
  const patch = { spec: { stop: true }, metadata: { annotations: removed } }

  it('writes spec.stop by UID and by the version from before the look', async () => {
    const { known, show, calls, stopped, told, written } = world()
    const before = await known()
    show({ resourceVersion: '2' })
    expect(await before.stop(request, limit)).toBe('requested')
    expect(calls).toEqual(['idle.requested app:mlflow', ['PhApplication hub/mlflow', 'app', '1', patch]])
    expect([stopped, told]).toEqual([[['app', written]], [id]])
  })

  it('writes spec.stop alone when annotations are off', async () => {
    const { known, calls } = world({ stampPolicy: 'off' })
    await (await known()).stop(request, limit)
    expect(calls[1]).toEqual(['PhApplication hub/mlflow', 'app', '1', { spec: { stop: true } }])
  })

  it.each<StopRefusal>(['changed', 'held', 'clock'])('writes nothing when the script says %s', async answer => {
    const { known, calls, stopped } = world({ answer })
    expect(await (await known()).stop(request, limit)).toBe(answer)
    expect([calls, stopped]).toEqual([[], []])
  })

  it('writes nothing when its time is over after the request', async () => {
    const { known, calls, stopped, told } = world({ stampPolicy: 'off' })
    const check = () => {
      throw new RetryLater('its time is over')
    }
    await expect((await known()).stop(request, { signal, check })).rejects.toThrow('its time is over')
    expect([calls, stopped, told]).toEqual([['idle.requested app:mlflow'], [], []])
  })

  it('lets an edit since then win, and gives the place of the fuse back', async () => {
    const { known, stopped, told, withdrawn } = world({ patch: fails(409) })
    expect(await (await known()).stop(request, limit)).toBe('changed')
    expect([stopped, told, withdrawn]).toEqual([[], [], [id]])
  })

  it('takes the conflict for its own change when the same app is stopped', async () => {
    const { known, show, withdrawn } = world({ patch: fails(409) })
    const before = await known()
    show({ resourceVersion: '2', stop: true })
    expect(await before.stop(request, limit)).toBe('requested')
    show({ uid: 'next', stop: true })
    expect(await before.stop(request, limit)).toBe('changed')
    expect(withdrawn).toEqual([id])
  })

  it('keeps the place of the fuse when nobody knows what was written', async () => {
    const away = () => {
      throw new RetryLater('no answer')
    }
    for (const answer of [fails(500), away]) {
      const { known, withdrawn } = world({ patch: answer })
      await expect((await known()).stop(request, limit)).rejects.toThrow()
      expect(withdrawn).toEqual([])
    }
  })
})

describe('AppOwner.stamp', () => {
  it('writes to the app whose pod was looked at, and leaves an activity that somebody wrote since', async () => {
    const { owner, show, calls } = world()
    const facts = owner.facts(id)!
    await owner.stamp(facts, { [stamps.lastActivity]: 'c' }, signal)
    await owner.stamp({ ...facts, podUid: 'former' }, { [stamps.lastActivity]: 'd' }, signal)
    show({ stamps: { ...both, lastActivity: 'by hand' } })
    await owner.stamp(facts, { [stamps.lastActivity]: 'e' }, signal)
    const patch = { metadata: { annotations: { [stamps.lastActivity]: 'c' } } }
    expect(calls).toEqual([['PhApplication hub/mlflow', 'app', undefined, patch]])
  })

  it('removes both times where nothing runs, and nowhere else', async () => {
    const { owner, show, calls } = world()
    expect(owner.leftovers(id)).toBeUndefined()
    await owner.tidy(id, signal)
    show({ stop: true })
    expect(owner.leftovers(id)).toEqual(removed)
    await owner.tidy(id, signal)
    expect(calls).toEqual([['PhApplication hub/mlflow', 'app', undefined, { metadata: { annotations: removed } }]])
    expect(world({ stampPolicy: 'off' }).owner.leftovers(id)).toBeUndefined()
  })
})
