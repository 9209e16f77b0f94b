import { beforeEach, describe, expect, test } from 'vitest'
import type { ApiError } from '../base/errors.ts'
import { KubeError } from '../kube/errors.ts'
import { stamps } from '../kube/labels.ts'
import { ann, eve, root, Site } from './testing/site.ts'

let site: Site
beforeEach(() => {
  site = new Site()
})

const ready = {
  phase: 'Ready',
  message: '',
  url: 'https://x/console/apps/a/',
  serviceName: 'app-a',
  observedGeneration: 1,
}
const idsOf = ({ apps }: { apps: readonly { id: string }[] }) => apps.map(({ id }) => id)
const refused = (status: number, type?: string) =>
  expect.objectContaining({ status, ...(type && { detail: [expect.objectContaining({ type })] }) })
const specOf = (id: string) => site.object(id)!.spec as Record<string, unknown>

describe('AppService.list', () => {
  test('shows users the apps of their groups, and administrators all, by id', () => {
    site.declare('b', { status: ready })
    site.declare('a')
    site.declare('c', { namespace: 'others', spec: { groupName: 'others' } })
    expect(idsOf(site.service.list(ann, { limit: 9 }))).toEqual(['a', 'b'])
    expect(idsOf(site.service.list(eve, { limit: 9 }))).toEqual(['c'])
    expect(idsOf(site.service.list(root, { limit: 9 }))).toEqual(['a', 'b', 'c'])
    expect(idsOf(site.service.list(root, { limit: 9, group: 'others' }))).toEqual(['c'])
    expect(idsOf(site.service.list(ann, { limit: 9, phase: 'Ready' }))).toEqual(['b'])
  })

  test('refuses a group of which the caller is no member', () => {
    expect(() => site.service.list(ann, { limit: 9, group: 'others' })).toThrow(refused(403))
  })

  test('goes on with the next page, and tells the last one', () => {
    for (const id of ['a', 'b', 'c']) site.declare(id)
    const first = site.service.list(ann, { limit: 2 })
    expect([idsOf(first), first.cursor]).toEqual([['a', 'b'], 'b'])
    const last = site.service.list(ann, { limit: 2, cursor: 'b' })
    expect([idsOf(last), last.cursor]).toEqual([['c'], undefined])
    expect(site.service.list(ann, { limit: 3 }).cursor).toBeUndefined()
  })
})

describe('AppService.find', () => {
  test('shows an app with the version of its spec', () => {
    const svcTemplate = { spec: { ports: [{ name: 'http', port: 5000 }] } }
    site.declare('a', { uid: 'u', spec: { displayName: 'A', svcTemplate, scope: 'public' }, status: ready })
    const { detail, etag } = site.service.find('a', ann)
    expect(etag).toBe('"u.1"')
    expect(detail).toMatchObject({
      ...{ id: 'a', displayName: 'A', group: 'physics', scope: 'public', stop: false, phase: 'Ready', image: 'i:1' },
      endpoints: ['app-a.physics:5000'],
    })
  })

  test('answers 404 without an app, 403 to strangers, and everything to administrators', () => {
    site.declare('a')
    expect(() => site.service.find('b', ann)).toThrow(refused(404, 'unknown_app'))
    expect(() => site.service.find('a', eve)).toThrow(refused(403, 'forbidden'))
    expect(site.service.find('a', root).detail.id).toBe('a')
  })

  test('shows an app to administrators alone when its namespace is another group’s', () => {
    site.declare('a', { namespace: 'others' })
    for (const asker of [ann, eve]) expect(() => site.service.find('a', asker)).toThrow(refused(404, 'unknown_app'))
    expect(site.service.find('a', root).detail.namespace).toBe('others')
  })

  test('shows the oldest of several with one id, but none of a wrong namespace before it', () => {
    site.declare('a', { namespace: 'others', bornAt: 1 })
    site.declare('a', { bornAt: 3 })
    site.declare('a', { namespace: 'chem', spec: { groupName: 'chem' }, bornAt: 2 })
    expect(site.service.find('a', root).detail.namespace).toBe('chem')
    expect(() => site.service.find('a', ann)).toThrow(refused(403))
  })

  test('answers 503 until the watches show the cluster', () => {
    const blind = new Site({ isSynced: () => false })
    expect(() => blind.service.find('a', ann)).toThrow(refused(503))
    expect(() => blind.service.list(ann, { limit: 1 })).toThrow(refused(503))
  })
})

describe('AppService.stop', () => {
  test('writes the wish, tells the reconciler, and shows the new version at once', async () => {
    site.declare('a', { uid: 'u' })
    site.api.live = false
    expect((await site.service.stop('a', ann, true)).etag).toBe('"u.2"')
    expect([specOf('a').stop, site.written]).toEqual([true, ['a']])
    expect(site.service.find('a', ann).detail.stop).toBe(true)
  })

  test('writes nothing when it is so', async () => {
    site.declare('a', { spec: { stop: true } })
    await site.service.stop('a', ann, true)
    expect(site.patches).toEqual([])
  })

  test('takes the annotation away that would stop it again', async () => {
    site.declare('a', { spec: { stop: true }, annotations: { [stamps.stopped]: 'now', other: 'x' } })
    await site.service.stop('a', ann, false)
    expect([specOf('a').stop, site.object('a')!.metadata.annotations]).toEqual([false, { other: 'x' }])
  })

  test('is refused to strangers, and writes nothing', async () => {
    site.declare('a')
    await expect(site.service.stop('a', eve, true)).rejects.toEqual(refused(403))
    await expect(site.service.delete('a', eve)).rejects.toEqual(refused(403))
    await expect(site.service.change('a', eve, { scope: 'public' })).rejects.toEqual(refused(403))
    expect(site.api.writes).toEqual([])
  })

  test('judges anew when somebody writes the app meanwhile', async () => {
    site.declare('a')
    site.api.live = false
    let isFirst = true
    site.api.onWrite = verb => {
      if (verb === 'patch' && isFirst) {
        isFirst = false
        site.declare('a', { spec: { groupName: 'others' } })
      }
    }
    await expect(site.service.stop('a', ann, true)).rejects.toEqual(refused(404))
    expect(specOf('a').stop).toBeUndefined()
  })

  test('writes again after the status changed, and leaves what others wished', async () => {
    site.declare('a', { uid: 'u' })
    site.api.live = false
    let isFirst = true
    site.api.onWrite = verb => {
      if (verb !== 'patch' || !isFirst) return
      isFirst = false
      site.api.put({ ...site.object('a')!, status: ready })
    }
    await site.service.stop('a', ann, true, '"u.1"')
    expect(specOf('a').stop).toBe(true)
    expect(site.patches).toHaveLength(2)
  })
})

describe('while the watch lags', () => {
  beforeEach(() => {
    site.declare('a', { uid: 'u', spec: { stop: false, scope: 'public' } })
    site.api.live = false
  })

  test.each([true, false])(
    'AppService.stop writes %s when the watch shows that it is so, and another one undid it',
    async stop => {
      site.declare('a', { uid: 'u', spec: { stop } })
      site.api.show()
      site.declare('a', { uid: 'u', spec: { stop: !stop } })
      expect((await site.service.stop('a', ann, stop)).detail.stop).toBe(stop)
      expect(specOf('a').stop).toBe(stop)
    },
  )

  test('AppService.change takes access away that another one has just given', async () => {
    site.api.show()
    site.declare('a', { uid: 'u', spec: { scope: 'group' } })
    site.api.show()
    site.declare('a', { uid: 'u', spec: { scope: 'public' } })
    await site.service.change('a', ann, { scope: 'group' })
    expect(specOf('a').scope).toBe('group')
  })

  test('AppService stops and deletes an app that the watch does not show yet', async () => {
    site.declare('new')
    await site.service.stop('new', ann, true)
    expect(specOf('new').stop).toBe(true)
    site.declare('newer', { namespace: 'others', spec: { groupName: 'others' } })
    await expect(site.service.delete('newer', ann)).rejects.toEqual(refused(403))
    await site.service.delete('newer', eve)
    expect(site.object('newer', 'others')).toBeUndefined()
  })

  test('AppService opens the events of an app that the watch does not show yet, for its members', async () => {
    const opened: unknown[] = []
    site = new Site({
      openEvents: async ({ ref }) => {
        opened.push(ref.name)
        return null
      },
    })
    site.api.live = false
    site.declare('new')
    const { signal } = new AbortController()
    await site.service.events('new', ann, undefined, signal)
    await expect(site.service.events('new', eve, undefined, signal)).rejects.toEqual(refused(403))
    await expect(site.service.events('none', ann, undefined, signal)).rejects.toEqual(refused(404))
    expect(opened).toEqual(['new'])
  })

  test('AppService deletes an app when the watch shows that its former namesake is being deleted', async () => {
    site.api.show()
    await site.service.delete('a', ann)
    site.declare('a', { uid: 'u2' })
    await site.service.delete('a', ann)
    expect(site.object('a')).toBeUndefined()
  })
})

describe('If-Match', () => {
  test.each([
    ['another version', '"u.9"', 412],
    ['a weak tag', 'W/"u.1"', 412],
    ['no tag', 'u.1', 412],
    ['nothing', '', 412],
    ['the version', '"u.1"', undefined],
    ['a list with it', '"x.1", "u.1"', undefined],
    ['any', '*', undefined],
  ])('binds a change to a version: %s', async (_, tag, status) => {
    site.declare('a', { uid: 'u' })
    const results = await Promise.allSettled([
      site.service.stop('a', ann, false, tag),
      ...(status === undefined ? [] : [site.service.delete('a', ann, tag)]),
      ...(status === undefined ? [] : [site.service.change('a', ann, { scope: 'public' }, tag)]),
    ])
    const statuses = results.map(each => (each.status === 'rejected' ? (each.reason as ApiError).status : undefined))
    expect(new Set(statuses)).toEqual(new Set([status]))
    expect(site.object('a')).toBeDefined()
  })

  test('holds for the very version that is deleted', async () => {
    site.declare('a', { uid: 'u' })
    site.api.live = false
    site.api.onWrite = verb => {
      if (verb !== 'delete') return
      site.api.onWrite = () => {}
      site.declare('a', { uid: 'u', spec: { scope: 'public' } })
    }
    await expect(site.service.delete('a', ann, '"u.1"')).rejects.toEqual(refused(412))
    expect(site.object('a')).toBeDefined()
  })

  test('does not refuse a change whose answer was lost', async () => {
    site.declare('a', { uid: 'u' })
    site.api.live = false
    site.api.onWrite = verb => {
      if (verb !== 'patch') return
      site.api.onWrite = () => {}
      site.declare('a', { uid: 'u', spec: { stop: true } })
      throw new KubeError(409, 'Conflict', 'conflict')
    }
    expect((await site.service.stop('a', ann, true, '"u.1"')).detail.stop).toBe(true)
  })
})

describe('AppService.delete', () => {
  test('deletes the app of this UID, and no namesake that came meanwhile', async () => {
    site.declare('a', { uid: 'u1' })
    site.api.live = false
    site.api.onWrite = verb => {
      if (verb !== 'delete') return
      site.api.onWrite = () => {}
      site.declare('a', { uid: 'u2', spec: { groupName: 'others' } })
    }
    await expect(site.service.delete('a', ann)).rejects.toEqual(refused(404))
    expect(site.object('a')!.metadata.uid).toBe('u2')
  })

  test('answers 404 afterwards', async () => {
    site.declare('a')
    await site.service.delete('a', ann)
    await expect(site.service.delete('a', ann)).rejects.toEqual(refused(404))
    await expect(site.service.stop('a', ann, true)).rejects.toEqual(refused(404))
  })
})

test('no change is made of an app that is being deleted', async () => {
  site.declare('a')
  site.api.live = false
  await site.service.delete('a', ann)
  // The watch still shows it.
  expect(site.service.find('a', ann).detail.phase).toBe('Stopping')
  await expect(site.service.stop('a', ann, true)).rejects.toEqual(refused(404))
  await expect(site.service.change('a', ann, { scope: 'public' })).rejects.toEqual(refused(404))
  expect(site.patches).toEqual([])
})

describe('AppService.change', () => {
  test('changes what is given, and leaves the rest', async () => {
    site.declare('a', { spec: { displayName: 'A', scope: 'public', instanceType: 'small' } })
    await site.service.change('a', ann, { instanceType: 'large', scope: 'group' })
    expect(specOf('a')).toMatchObject({ displayName: 'A', scope: 'group', instanceType: 'large' })
    expect(site.patches).toEqual([{ spec: { scope: 'group', instanceType: 'large' } }])
  })

  test('takes the instance types of the site alone, and the default', async () => {
    site.declare('a', { spec: { instanceType: 'small' } })
    await expect(site.service.change('a', ann, { instanceType: 'huge' })).rejects.toEqual(refused(422, 'invalid'))
    await expect(site.service.change('a', ann, { instanceType: 'toString' })).rejects.toEqual(refused(422))
    await site.service.change('a', ann, { instanceType: '' })
    expect(specOf('a').instanceType).toBe('')
  })

  test('answers 422 to what the API server refuses', async () => {
    site.declare('a')
    site.api.onWrite = () => {
      throw new KubeError(422, 'Invalid', 'spec.displayName: Too long')
    }
    await expect(site.service.change('a', ann, { displayName: 'x' })).rejects.toEqual(refused(422, 'invalid'))
  })
})

test('AppService.pods shows the pods with what holds them up, without secrets', () => {
  site.declare('a')
  const waiting = { reason: 'ImagePullBackOff', message: 'https://u:p@r.example/x?sig=abc' }
  const container = { name: 'c', started: false, ready: false, restartCount: 2, waiting, running: false }
  site.pods.push({
    ...{ name: 'app-a-1', namespace: 'physics', uid: 'p', phase: 'Pending', reason: '', message: '', deleting: false },
    ...{
      installation: undefined,
      op: undefined,
      user: undefined,
      ownerUid: undefined,
      node: 'n',
      unschedulable: undefined,
    },
    ...{ initContainers: [], containers: [{ ...container, terminated: undefined, lastTerminated: undefined }] },
  })
  expect(site.service.pods('a', ann)).toEqual([
    {
      ...{ name: 'app-a-1', phase: 'Pending', deleting: false, ready: false, restarts: 2, node: 'n' },
      message: 'ImagePullBackOff: https://***@r.example/x?***',
    },
  ])
  expect(() => site.service.pods('a', eve)).toThrow(refused(403))
})
