import { beforeEach, describe, expect, test } from 'vitest'
import { groupLabel } from '../apps/names.ts'
import { appParent } from '../apps/words.ts'
import type { KubeObject } from '../base/domain.ts'
import { KubeError } from '../kube/errors.ts'
import { factOf } from '../reconcile/facts.ts'
import type { Fact } from '../reconcile/types.ts'
import { AppLogs, type LogOptions, type LogWish, type SeenPod } from './logs.ts'
import { ann, eve, root } from './testing/site.ts'

const pod = 'app-a-1-2'
const owner = (apiVersion: string, kind: string, name: string, uid: string) => ({ apiVersion, kind, name, uid })
const ofSet = owner('apps/v1', 'ReplicaSet', 'app-a-1', 'set')
const ofDeployment = owner('apps/v1', 'Deployment', 'app-a', 'deployment')
const ofApp = owner(appParent.apiVersion, appParent.kind, 'a', 'app')
const labels = { 'primehub.io/group': groupLabel('physics') }

type Metadata = KubeObject['metadata']
const object = (apiVersion: string, kind: string, metadata: Partial<Metadata>): KubeObject => ({
  ...{ apiVersion, kind },
  metadata: { name: 'x', namespace: 'physics', ...metadata },
})

/** The cluster, by kind; each is as the API server has it. */
let live: Record<'Pod' | 'ReplicaSet', KubeObject | null>
let shown: { pods: Fact[]; deployment: Fact; app: Fact }
let asked: object[]
let onLog: () => unknown

beforeEach(() => {
  asked = []
  onLog = () => {}
  live = {
    Pod: object('v1', 'Pod', { name: pod, uid: 'pod', labels, ownerReferences: [ofSet] }),
    ReplicaSet: object('apps/v1', 'ReplicaSet', { name: 'app-a-1', uid: 'set', ownerReferences: [ofDeployment] }),
  }
  shown = {
    pods: [factOf(live.Pod!, [['metadata', 'labels']])],
    deployment: factOf(
      object('apps/v1', 'Deployment', { name: 'app-a', uid: 'deployment', ownerReferences: [ofApp] }),
      [],
    ),
    app: factOf({ ...object(appParent.apiVersion, appParent.kind, { name: 'a', uid: 'app' }), spec: {} }, [['spec']]),
  }
})

const stream = { stream: async () => {}, pause: () => {}, resume: () => {} }

const logs = (more: object = {}) => new AppLogs(optionsOf(more))

function optionsOf(more: object = {}): LogOptions {
  const named = (fact: Fact): SeenPod => ({ fact, containers: ['main', 'init-a'] })
  return {
    kube: {
      get: async ref => live[ref.kind as 'Pod'],
      log: async (ref, options) => {
        asked.push({ ...ref, ...options })
        await onLog()
        return stream
      },
    },
    sights: {
      apps: { get: key => (key === 'physics/a' ? shown.app : undefined) },
      deployments: { get: key => (key === 'physics/app-a' ? shown.deployment : undefined) },
      podsNamed: name => shown.pods.filter(({ ref }) => ref.name === name).map(named),
      groupOf: () => 'physics',
      named: () => [shown.app],
      ...more,
    },
    isMember: ({ groups }, group) => groups.some(({ name }) => name === group),
    isSynced: () => true,
    maxSeconds: 60,
  }
}

const find = (wish: Partial<LogWish> = {}, asker = ann, more: object = {}) =>
  logs(more).find({ pod, follow: false, ...wish }, asker)
const open = async (wish?: Partial<LogWish>) => (await find(wish)).open(new AbortController().signal)
const refused = (status: number) => expect.objectContaining({ status })

describe('AppLogs', () => {
  test('opens the log of the first container for members and administrators', async () => {
    await open({ follow: true, tailLines: 7 })
    expect(asked).toMatchObject([{ name: pod, namespace: 'physics', container: 'main', follow: true, tailLines: 7 }])
    expect((await find({}, root)).app).toBe('a')
    await open({ container: 'init-a' })
    expect(asked[1]).toMatchObject({ container: 'init-a' })
  })

  test('refuses who is no member, and an unknown container', async () => {
    await expect(find({}, eve)).rejects.toEqual(refused(403))
    await expect(find({ container: 'other' })).rejects.toEqual(refused(422))
    expect(asked).toEqual([])
  })

  const pods = (change: Partial<Metadata>) => () => {
    shown.pods = [factOf(object('v1', 'Pod', { ...live.Pod!.metadata, ...change }), [['metadata', 'labels']])]
  }
  const set = (metadata: Partial<Metadata> | null) => () => {
    live.ReplicaSet = metadata && object('apps/v1', 'ReplicaSet', metadata)
  }
  test.each<[string, () => void]>([
    [
      'is not there',
      () => {
        shown.pods = []
      },
    ],
    ['has no label of a group', pods({ labels: {} })],
    ['bears the label of another group', pods({ labels: { 'primehub.io/group': groupLabel('others') } })],
    ['has no owner', pods({ ownerReferences: [] })],
    ['names a ReplicaSet of another UID', pods({ ownerReferences: [{ ...ofSet, uid: 'planted' }] })],
    ['is owned by a DaemonSet of that name', pods({ ownerReferences: [{ ...ofSet, kind: 'DaemonSet' }] })],
    ['is owned by a ReplicaSet of another API', pods({ ownerReferences: [{ ...ofSet, apiVersion: 'x.io/v1' }] })],
    ['names a ReplicaSet that is gone', set(null)],
    ['has a ReplicaSet that no Deployment owns', set({ uid: 'set', ownerReferences: [] })],
    [
      'has a ReplicaSet that names another Deployment by that name',
      set({ uid: 'set', ownerReferences: [{ ...ofDeployment, uid: 'planted' }] }),
    ],
    [
      'has a Deployment of somebody else',
      () => {
        shown.deployment = { ...shown.deployment, owners: [] }
      },
    ],
    [
      'has a Deployment of a former app of the id',
      () => {
        shown.app = { ...shown.app, uid: 'new' }
      },
    ],
  ])('finds no pod where one %s', async (_, change) => {
    change()
    for (const asker of [ann, eve, root]) await expect(find({}, asker)).rejects.toEqual(refused(404))
    expect(asked).toEqual([])
  })

  test('finds no pod of an app whose namespace is not that of its group', async () => {
    await expect(find({}, ann, { groupOf: () => undefined })).rejects.toEqual(refused(404))
  })

  test('finds the pod of the app beside a namesake that somebody planted elsewhere', async () => {
    const planted = object('v1', 'Pod', { ...live.Pod!.metadata, namespace: 'others', uid: 'planted' })
    shown.pods.unshift(factOf(planted, [['metadata', 'labels']]))
    await open()
    expect(asked).toMatchObject([{ namespace: 'physics' }])
  })

  /** A whole chain in another namespace, of an app with an id of its own or with that of the first. */
  function planting(id: string) {
    const ofPlanted = { ...ofApp, name: id, uid: 'planted' }
    const planted = object('v1', 'Pod', { ...live.Pod!.metadata, namespace: 'others', uid: 'planted' })
    shown.pods.unshift(factOf(planted, [['metadata', 'labels']]))
    const metadata = { name: id, namespace: 'others', uid: 'planted', creationTimestamp: '2026-02-01T00:00:00Z' }
    const app = factOf(object(appParent.apiVersion, appParent.kind, metadata), [['metadata', 'creationTimestamp']])
    const deployment = { ...shown.deployment, owners: [ofPlanted] }
    return {
      ...{
        apps: { get: (key: string) => (key === 'physics/a' ? shown.app : key === `others/${id}` ? app : undefined) },
      },
      deployments: { get: (key: string) => (key === 'physics/app-a' ? shown.deployment : deployment) },
      named: (name: string) => [...(name === 'a' ? [shown.app] : []), ...(name === id ? [app] : [])],
    }
  }

  test('takes of several pods of a name that of the app that holds its id, and else none', async () => {
    shown.app = { ...shown.app, owned: { metadata: { creationTimestamp: '2026-01-01T00:00:00Z' } } }
    const log = await find({}, root, planting('a'))
    await log.open(new AbortController().signal)
    expect(asked).toMatchObject([{ namespace: 'physics' }])
    shown.pods.shift()
    await expect(find({}, root, planting('b'))).rejects.toEqual(refused(409))
  })

  test('may be read until its reader leaves the group, or the app is another one', async () => {
    let member = true
    const log = await new AppLogs({ ...optionsOf(), isMember: () => member }).find({ pod, follow: true }, ann)
    expect(log.mayRead(ann.caller)).toBe(true)
    member = false
    expect(log.mayRead(ann.caller)).toBe(false)
    member = true
    shown.app = { ...shown.app, uid: 'new' }
    expect(log.mayRead(ann.caller)).toBe(false)
  })

  test('may be read by what is known of its reader now', async () => {
    const isMember = ({ groups }: { groups: readonly unknown[] }) => groups.length > 0
    const log = await new AppLogs({ ...optionsOf(), isMember }).find({ pod, follow: true }, ann)
    expect([log.mayRead(ann.caller), log.mayRead({ ...ann.caller, groups: [] })]).toEqual([true, false])
  })

  test('passes nothing on when another pod got the name meanwhile', async () => {
    onLog = () => {
      live.Pod = object('v1', 'Pod', { name: pod, uid: 'planted' })
    }
    await expect(open()).rejects.toEqual(refused(404))
    live.Pod = null
    await expect(open()).rejects.toEqual(refused(404))
    onLog = () => {
      throw new KubeError(404, 'NotFound', 'pods "app-a-1-2" not found')
    }
    await expect(open()).rejects.toEqual(refused(404))
  })

  test.each([
    [400, 409, 'container "main" is waiting to start: ContainerCreating'],
    [404, 503, 'the log cannot be read now'],
    [403, 503, 'the API server refuses to show the log'],
    [500, 503, 'the log cannot be read now'],
  ])('answers %d of the API server by %d', async (status, answered, words) => {
    onLog = () => {
      throw new KubeError(status, '', 'container "main" is waiting to start: ContainerCreating')
    }
    await expect(open()).rejects.toMatchObject({ status: answered, message: words })
  })

  test('answers 503 until the watches show the cluster, and when the connection breaks', async () => {
    const blind = new AppLogs({ isSynced: () => false } as never)
    await expect(blind.find({ pod, follow: false }, ann)).rejects.toEqual(refused(503))
    onLog = () => {
      throw new Error('ECONNRESET')
    }
    await expect(open()).rejects.toEqual(refused(503))
  })
})
