import { describe, expect, it } from 'vitest'
import { RetryLater } from '../../base/errors.ts'
import { KubeError } from '../../kube/client.ts'
import { stamps } from '../../kube/labels.ts'
import type { StopRefusal, StopRequest } from '../../store/idle.ts'
import { notebook, podOf } from './testing/objects.ts'
import { both, id, ownerWorld as world } from './testing/owner-world.ts'

const { signal } = new AbortController()
const limit = { signal, check: () => {} }
const expectedMs = Date.parse('2026-01-01T12:00:00Z')
const request = { kind: 'notebook', id, expectedMs } as StopRequest

describe('NotebookOwner.stop', () => {
  it('writes the annotation by UID and by the version from before the look, and removes the others', async () => {
    const { known, calls, stopped, watches } = world()
    const before = await known()
    watches.notebooks.show(notebook({ resourceVersion: '2' }, both))
    expect(await before.stop(request, limit)).toBe('requested')
    const annotations = {
      ...{ [stamps.stopped]: '2026-01-01T12:00:00Z', [stamps.lastActivity]: null, [stamps.checked]: null },
    }
    expect(calls).toEqual(['idle.requested', ['Notebook', 'blue', 'nb', '1', annotations]])
    expect(stopped).toEqual([['blue', expectedMs]])
  })

  it.each<StopRefusal>(['changed', 'held', 'clock'])('writes nothing when the script says %s', async answer => {
    const { known, calls } = world({ answer })
    expect(await (await known()).stop(request, limit)).toBe(answer)
    expect(calls).toEqual([])
  })

  it('writes nothing when its time is over after the request', async () => {
    const { known, calls, stopped, told } = world({ stampPolicy: 'off' })
    const check = () => {
      throw new RetryLater('its time is over')
    }
    await expect((await known()).stop(request, { signal, check })).rejects.toThrow('its time is over')
    expect([calls, stopped, told]).toEqual([['idle.requested'], [], []])
  })

  const fails = (status: number) => () => {
    throw new KubeError(status, '', '')
  }

  it('lets an edit since then win', async () => {
    const { known, stopped } = world({ patch: fails(409) })
    expect(await (await known()).stop(request, limit)).toBe('changed')
    expect(stopped).toEqual([])
  })

  it('takes the conflict for its own change when it is stopped', async () => {
    const { known, watches } = world({ patch: fails(409) })
    const before = await known()
    watches.notebooks.show(notebook({ resourceVersion: '2' }, { [stamps.stopped]: 'x' }))
    expect(await before.stop(request, limit)).toBe('requested')
  })

  it('takes no conflict for its own change when another notebook of this name is stopped', async () => {
    const { known, watches } = world({ patch: fails(409) })
    const before = await known()
    watches.notebooks.show(notebook({ uid: 'next', resourceVersion: '2' }, { [stamps.stopped]: 'x' }))
    expect(await before.stop(request, limit)).toBe('changed')
  })

  it('has changed when the notebook is gone, and fails when a policy refuses', async () => {
    expect(await (await world({ patch: () => null }).known()).stop(request, limit)).toBe('changed')
    await expect((await world({ patch: fails(422) }).known()).stop(request, limit)).rejects.toThrow(KubeError)
  })

  it('tells of it once the annotation is written, also when the reply was lost', async () => {
    const patch = () => {
      expect(told).toEqual([])
      return notebook()
    }
    const { known, told } = world({ patch })
    await (await known()).stop(request, limit)
    expect(told).toEqual([id])
    const lost = world({ patch: fails(409) })
    const before = await lost.known()
    lost.watches.notebooks.show(notebook({ resourceVersion: '2' }, { [stamps.stopped]: 'x' }))
    await before.stop(request, limit)
    expect(lost.told).toEqual([id])
  })

  it.each([409, 403, 422, 500])('tells of none when the API server answers %i', async status => {
    const { known, told } = world({ patch: fails(status) })
    await (await known()).stop(request, limit).catch(() => {})
    expect(told).toEqual([])
  })

  it('is requested when the annotation is written, and Redis does not answer since', async () => {
    const { known, stopped } = world({ isAway: true })
    expect(await (await known()).stop(request, limit)).toBe('requested')
    expect(stopped).toHaveLength(1)
  })

  it.each([409, 403, 422])('gives the place of the fuse back when the API server answers %i', async status => {
    const { known, withdrawn } = world({ patch: fails(status) })
    await (await known()).stop(request, limit).catch(() => {})
    expect(withdrawn).toEqual([id])
  })

  it('gives the place of the fuse back when the notebook is gone, and keeps it when nobody knows what was written', async () => {
    const gone = world({ patch: () => null })
    await (await gone.known()).stop(request, limit)
    expect(gone.withdrawn).toEqual([id])
    const away = () => {
      throw new RetryLater('no answer')
    }
    for (const patch of [() => notebook(), fails(500), away]) {
      const { known, withdrawn } = world({ patch })
      await (await known()).stop(request, limit).catch(() => {})
      expect(withdrawn).toEqual([])
    }
  })

  it('gives no place back when the conflict is with its own change', async () => {
    const { known, watches, withdrawn } = world({ patch: fails(409) })
    const before = await known()
    watches.notebooks.show(notebook({ resourceVersion: '2' }, { [stamps.stopped]: 'x' }))
    await before.stop(request, limit)
    expect(withdrawn).toEqual([])
  })
})

describe('NotebookOwner.stamp', () => {
  it('writes to the owner of the pod that was looked at, and to none with another pod', async () => {
    const { owner, calls } = world({ kind: 'statefulset' })
    const facts = owner.facts(id)!
    await owner.stamp(facts, { a: '1' }, signal)
    await owner.stamp({ ...facts, podUid: 'former' }, { a: '2' }, signal)
    expect(calls).toEqual([['StatefulSet', 'blue', 'set', undefined, { a: '1' }]])
  })

  it('leaves an activity that somebody wrote since the look', async () => {
    const { owner, calls, watches } = world()
    const facts = owner.facts(id)!
    watches.notebooks.show(notebook({ resourceVersion: '2' }, { ...both, [stamps.lastActivity]: 'by hand' }))
    await owner.stamp(facts, { [stamps.lastActivity]: 'older', [stamps.checked]: 'c' }, signal)
    expect(calls).toEqual([])
    await owner.stamp(facts, { [stamps.keepUntil]: 'k' }, signal)
    expect(calls).toEqual([['Notebook', 'blue', 'nb', undefined, { [stamps.keepUntil]: 'k' }]])
  })

  it('removes both times where nothing runs, and nowhere else', async () => {
    const { owner, calls, watches } = world()
    expect(owner.leftovers(id)).toBeUndefined()
    await owner.tidy(id, signal)
    watches.pods.drop(podOf({ resourceVersion: '2' }))
    const removed = { [stamps.lastActivity]: null, [stamps.checked]: null }
    expect(owner.leftovers(id)).toEqual(removed)
    await owner.tidy(id, signal)
    expect(calls).toEqual([['Notebook', 'blue', 'nb', undefined, removed]])
    expect(world({ stampPolicy: 'off' }).owner.leftovers(id)).toBeUndefined()
  })
})
