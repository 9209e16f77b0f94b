/** Every meaning of 409: made before, debris, foreign, being deleted, or another object than intended. */
import { expect } from 'vitest'
import type { KubeObject } from '../../../src/base/domain.ts'
import { annotations, labels } from '../../../src/kube/labels.ts'
import { withOwnership } from '../../../src/labs/render.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { expectNothingLeft, fullLabFleet } from './wave.ts'

const finalizer = 'skylab.test/hold'

/** A user whose operation is held just before a write. */
interface Scene {
  readonly fleet: Fleet
  readonly user: Client
  readonly op: number
  /** Name of the user's namespace, and its UID if it exists. */
  readonly namespace: string
  readonly namespaceUid: string | undefined
  /** Lets the operation run to its end. Returns its outcome and its last error. */
  end(): Promise<{ readonly outcome: string; readonly error: string }>
}

async function held(fleet: Fleet, user: Client, point: string, ask: () => Promise<{ status: number }>) {
  const arm = fleet.arm(point, 'hold', { user: user.username })
  expect([202, 303]).toContain((await ask()).status)
  await arm.landed()
  const op = Number(await fleet.world.redis.hget(fleet.world.keys.record(user.username), 'op'))
  const namespaceUid = (await fleet.world.namespaceOf(user.username))?.metadata.uid
  const end = async () => {
    arm.release()
    const { outcome, errors } = await user.follow()
    return { outcome, error: errors.at(-1) ?? '' }
  }
  return { fleet, user, op, namespace: fleet.namespace(user.username), namespaceUid, end }
}

function creating(fleet: Fleet, step: string): Promise<Scene> {
  const user = fleet.user()
  return held(fleet, user, `lab.create.make.${step}.before-act`, () => user.create())
}

async function deleting(fleet: Fleet, step: string): Promise<Scene> {
  const user = fleet.user()
  expect((await user.create()).status).toBe(303)
  expect((await user.follow()).outcome).toBe('complete')
  return held(fleet, user, `lab.delete.${step}.before-act`, () => fleet.admin.delete(user.username))
}

interface Marks {
  readonly op?: number
  readonly installation?: string
  readonly user?: string
}

/** The user's namespace as another client may have made it meanwhile. */
function namespaceObject({ fleet, user, namespace, op }: Scene, marks: Marks = {}): KubeObject {
  const { installation = fleet.installation, user: name = user.username } = marks
  const itsLabels = { [labels.installation]: installation, [labels.op]: String(marks.op ?? op) }
  const metadata = { name: namespace, labels: itsLabels, annotations: { [annotations.user]: name } }
  return { apiVersion: 'v1', kind: 'Namespace', metadata }
}

const foreignNamespace = ({ namespace: name }: Scene): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
})

/** The ConfigMap of the user's creation as another client may have made it meanwhile. */
function configMap(scene: Scene, op: number, ownerUid: string, more: object = {}, owner = scene.namespace): KubeObject {
  const { fleet, user, namespace } = scene
  const itsLabels = { [labels.installation]: fleet.installation, [labels.op]: String(op) }
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Namespace', name: owner, uid: ownerUid }]
  const metadata = { name: `nb-${user.username}-nss`, namespace, labels: itsLabels, ownerReferences, ...more }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata }
}

const bareConfigMap = ({ user, namespace }: Scene): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `nb-${user.username}-nss`, namespace } },
})

const put = ({ fleet }: Scene, object: KubeObject) => fleet.world.kube.create(object)
const conflicts = async ({ fleet, namespace, op }: Scene) =>
  (await fleet.audit.requestsOf(namespace)).filter(request => request.code === 409 && request.op === op)

/** The lab gets a namespace of its own op: the existing one, if it has that op, else a new one. */
async function expectNamespace(scene: Scene, isAdopted: boolean, stood: KubeObject): Promise<void> {
  expect(await scene.end()).toMatchObject({ outcome: 'complete' })
  const { metadata } = await scene.fleet.world.namespaceOf(scene.user.username)
  expect(metadata.labels[labels.op]).toBe(String(scene.op))
  expect(metadata.uid === stood.metadata.uid).toBe(isAdopted)
}

/** The creation fails with a message, and leaves the existing namespace unchanged; then the test deletes it. */
async function expectRefused(scene: Scene, stood: KubeObject): Promise<void> {
  const { outcome, error } = await scene.end()
  expect(outcome).toBe('failed')
  expect(error).toContain(`was not made for ${scene.user.username} by this installation: it is left untouched`)
  await expectUntouched(scene, stood)
}

async function expectUntouched({ fleet, user, namespace }: Scene, stood: KubeObject): Promise<void> {
  const { metadata, status } = await fleet.world.namespaceOf(user.username)
  expect([metadata.uid, metadata.labels, status.phase]).toEqual([stood.metadata.uid, stood.metadata.labels, 'Active'])
  await fleet.world.kube.delete('Namespace', namespace)
}

/** The lab runs, and its ConfigMap is the existing one, or a new one with the lab's own marks. */
async function expectMade(scene: Scene, isAdopted: boolean, stood: KubeObject): Promise<void> {
  expect(await scene.end()).toMatchObject({ outcome: 'complete' })
  const { metadata } = await scene.fleet.world.kube.get(stood.kind, stood.metadata.name, scene.namespace)
  expect(metadata.labels[labels.op]).toBe(String(scene.op))
  expect(metadata.ownerReferences[0].uid).toBe(scene.namespaceUid)
  expect(metadata.uid === stood.metadata.uid).toBe(isAdopted)
}

/** An object of another kind, as a late write of an older creation leaves it. The creation removes it by its UID. */
async function olderObject(fleet: Fleet, step: string, object: object, suffix = ''): Promise<Scene> {
  const scene = await creating(fleet, step)
  const metadata = { name: `nb-${scene.user.username}${suffix}`, namespace: scene.namespace, labels: {} }
  const marked = withOwnership({ ...object, metadata } as KubeObject, scene.op - 1, scene.namespaceUid!)
  await expectMade(scene, false, await put(scene, marked))
  return scene
}

/** A ConfigMap that a finalizer keeps while it is being deleted: the creation retries until it is gone. */
async function awaitedObject(fleet: Fleet, opOf: (op: number) => number): Promise<Scene> {
  const scene = await creating(fleet, 'configmap-nss')
  const { kube } = fleet.world
  const object = configMap(scene, opOf(scene.op), scene.namespaceUid!, { finalizers: [finalizer] })
  const stood = await put(scene, object)
  const { name } = stood.metadata
  await kube.delete('ConfigMap', name, scene.namespace)
  const made = expectMade(scene, false, stood)
  made.catch(() => {})
  await eventually('a retry of the creation', async () => (await conflicts(scene)).length > 1)
  await kube.patch('ConfigMap', name, scene.namespace, { metadata: { finalizers: null } })
  await made
  return scene
}

/** The pod of an older creation in the newer one's namespace. */
async function olderPod(scene: Scene): Promise<KubeObject> {
  const metadata = { name: `nb-${scene.user.username}`, namespace: scene.namespace }
  // The quota refuses containers without requests and limits.
  const some = { cpu: 1, memory: '1Mi' }
  const containers = [{ name: 'late', image: 'late', resources: { limits: some, requests: some } }]
  const spec = { containers, terminationGracePeriodSeconds: 0 }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, labels: {} }, spec }
  const account = () => scene.fleet.world.kube.get('ServiceAccount', 'default', scene.namespace)
  await eventually('the ServiceAccount of pods', account)
  return put(scene, withOwnership(pod, scene.op - 1, scene.namespaceUid!))
}

/**
 * The controllers take a moment to count the quota again, and admission takes another one to learn of it: it can refuse a pod
 * when the quota itself already shows room.
 */
function ifOverQuota(error: Error): undefined {
  if (!error.message.includes('exceeded quota')) throw error
}

/** The deletion finds another pod of the same name than intended, and removes that one next. */
async function exchangedPod(fleet: Fleet): Promise<Scene> {
  const scene = await deleting(fleet, 'pod')
  const { kube } = fleet.world
  const { metadata, spec, ...pod } = await fleet.world.podOf(scene.user.username)
  const { name, namespace, labels: itsLabels, ownerReferences } = metadata
  await kube.delete('Pod', name, namespace, 0)
  await eventually('the end of the pod', async () => !(await fleet.world.podOf(scene.user.username)))
  const { nodeName, ...unscheduled } = spec
  const another = { ...pod, metadata: { name, namespace, labels: itsLabels, ownerReferences }, spec: unscheduled }
  await eventually('room in the quota', () => put(scene, another).catch(ifOverQuota))
  expect(nodeName).toBeTruthy()
  expect(await scene.end()).toMatchObject({ outcome: 'complete' })
  expect(await fleet.world.podOf(scene.user.username)).toBeNull()
  return scene
}

/** The deletion finds another namespace of the same name. */
async function exchangedNamespace(fleet: Fleet, newOne: (scene: Scene) => KubeObject): Promise<[Scene, KubeObject]> {
  const scene = await deleting(fleet, 'namespace')
  await fleet.world.kube.delete('Namespace', scene.namespace)
  await eventually(
    'the end of the namespace',
    async () => !(await fleet.world.namespaceOf(scene.user.username)),
    60_000,
  )
  const stood = await put(scene, newOne(scene))
  expect(await scene.end()).toMatchObject({ outcome: 'complete' })
  return [scene, stood]
}

const cells: Readonly<Record<string, (fleet: Fleet) => Promise<Scene>>> = {
  'namespace of this op: made before': async fleet => {
    const scene = await creating(fleet, 'namespace')
    await expectNamespace(scene, true, await put(scene, namespaceObject(scene)))
    return scene
  },
  'namespace of an older op: made way for': async fleet => {
    const scene = await creating(fleet, 'namespace')
    await expectNamespace(scene, false, await put(scene, namespaceObject(scene, { op: scene.op - 1 })))
    return scene
  },
  'namespace on its way out: awaited': async fleet => {
    const scene = await creating(fleet, 'namespace')
    const stood = await put(scene, namespaceObject(scene))
    await fleet.world.kube.delete('Namespace', scene.namespace)
    await expectNamespace(scene, false, stood)
    return scene
  },
  'namespace of nobody: refused': async fleet => {
    const scene = await creating(fleet, 'namespace')
    await expectRefused(scene, await put(scene, foreignNamespace(scene)))
    return scene
  },
  'namespace of another installation: refused': async fleet => {
    const scene = await creating(fleet, 'namespace')
    await expectRefused(scene, await put(scene, namespaceObject(scene, { installation: 'another' })))
    return scene
  },
  'namespace of another user: refused': async fleet => {
    const scene = await creating(fleet, 'namespace')
    await expectRefused(scene, await put(scene, namespaceObject(scene, { user: 'somebody else' })))
    return scene
  },
  'object of this op and this namespace: made before': async fleet => {
    const scene = await creating(fleet, 'configmap-nss')
    await expectMade(scene, true, await put(scene, configMap(scene, scene.op, scene.namespaceUid!)))
    return scene
  },
  'object of an older op: removed': async fleet => {
    const scene = await creating(fleet, 'configmap-nss')
    await expectMade(scene, false, await put(scene, configMap(scene, scene.op - 1, scene.namespaceUid!)))
    return scene
  },
  'Secret of an older op: removed': fleet => olderObject(fleet, 'secret', { apiVersion: 'v1', kind: 'Secret' }),
  'NetworkPolicy of an older op: removed': fleet =>
    olderObject(fleet, 'networkpolicy', {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      spec: { podSelector: {} },
    }),
  'Service of an older op: removed': fleet =>
    olderObject(fleet, 'service', { apiVersion: 'v1', kind: 'Service', spec: { ports: [{ port: 8888 }] } }),
  'PersistentVolumeClaim of an older op: removed': fleet =>
    olderObject(
      fleet,
      'persistentvolumeclaim-scratch',
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'older',
          resources: { requests: { storage: '1Gi' } },
        },
      },
      '-scratch',
    ),
  'ResourceQuota of an older op: removed': fleet =>
    olderObject(fleet, 'resourcequota', {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      spec: { hard: { 'limits.cpu': '1' } },
    }),
  'object of this op and another namespace: removed': async fleet => {
    const scene = await creating(fleet, 'configmap-nss')
    const { metadata } = await fleet.world.kube.get('Namespace', 'default')
    // The owner exists: otherwise the garbage collector would often remove the object first.
    await expectMade(scene, false, await put(scene, configMap(scene, scene.op, metadata.uid, {}, 'default')))
    return scene
  },
  'object without marks: removed': async fleet => {
    const scene = await creating(fleet, 'configmap-nss')
    await expectMade(scene, false, await put(scene, bareConfigMap(scene)))
    return scene
  },
  'object of an older op on its way out: awaited': fleet => awaitedObject(fleet, op => op - 1),
  'object of this op on its way out: awaited': fleet => awaitedObject(fleet, op => op),
  'pod of an older op: removed': async fleet => {
    const scene = await creating(fleet, 'pod')
    await expectMade(scene, false, await olderPod(scene))
    return scene
  },
  'deletion meets another pod: removed': exchangedPod,
  'deletion meets another namespace of ours: removed': async fleet => {
    const [scene] = await exchangedNamespace(fleet, each => namespaceObject(each))
    expect(await fleet.world.namespaceOf(scene.user.username)).toBeNull()
    return scene
  },
  'deletion meets a foreign namespace: left alone': async fleet => {
    const [scene, stood] = await exchangedNamespace(fleet, foreignNamespace)
    await expectUntouched(scene, stood)
    return scene
  },
}

/** The audit log proves each 409. */
async function conflict(trial: Trial): Promise<void> {
  const names = Object.keys(cells)
  const { fullLab } = await fullLabFleet(trial, 2 * names.length)
  const fleet = await trial.fleet({ replicas: 2, fullLab, config: { engine: { room: 32 } } })
  trial.injected(names.length)
  const scenes = await Promise.all(
    Object.entries(cells).map(async ([name, cell]) => {
      try {
        return await cell(fleet)
      } catch (error) {
        throw new Error(`${name}: ${(error as Error).message}`, { cause: error })
      }
    }),
  )
  const proved = await Promise.all(scenes.map(async scene => (await conflicts(scene)).length > 0))
  expect(names.filter((_, i) => !proved[i])).toEqual([])
  trial.landed(proved.filter(Boolean).length)
  await expectNothingLeft(
    fleet,
    scenes.map(({ user }) => user),
  )
}

attack('T14 all that 409 can mean', conflict, { concurrent: true })
