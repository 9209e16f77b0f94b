/** For tests: an API server in memory, with versions, UIDs and watches that lag as the test says. */
import type { Clock } from '../../base/clock.ts'
import { unlessAborted } from '../../base/deadline.ts'
import type { KubeObject } from '../../base/domain.ts'
import { Listeners } from '../../base/listeners.ts'
import { keyOf } from '../../kube/cache.ts'
import type { CallOptions } from '../../kube/call-options.ts'
import { KubeError } from '../../kube/client.ts'
import type { ObjectRef } from '../../kube/kinds.ts'
import type { Change } from '../../kube/picture.ts'
import { factOf } from '../facts.ts'
import { refKey, refOf } from '../plan.ts'
import { Sight } from '../sight.ts'
import type { Fact, Path } from '../types.ts'
import type { ReconcileClient } from '../writer.ts'
import { mergePatched } from './merge-patch.ts'

const refusal = (status: number, reason: string) => new KubeError(status, reason, reason)

/** Whether a watch shows an object. */
export type Selects = (object: KubeObject) => boolean

type Event = Readonly<{ type: 'put' | 'gone'; object: KubeObject }>

export class FakeApi {
  readonly objects = new Map<string, KubeObject>()
  /** Every accepted write, such as `create ConfigMap a`. */
  readonly writes: string[] = []
  /** Whether the status of objects can be written. */
  hasStatus = true
  /** Whether watches show each write at once. */
  live = true
  /** Called before each write takes effect; what it throws is the answer. */
  onWrite: (verb: string, ref: ObjectRef, body: object) => unknown = () => {}
  readonly #watches = new Map<string, FakeWatch[]>()
  readonly #bySight = new Map<Sight, FakeWatch>()
  readonly #unshown: Event[] = []
  #version = 0

  /** A watch on one kind, as a sight. */
  sight(apiVersion: string, kind: string, paths: readonly Path[], clock: Clock, selects: Selects = () => true): Sight {
    return this.sightOf(apiVersion, kind, object => factOf(object, paths), clock, selects)
  }

  /** The same, with a projection of its own. */
  sightOf(
    apiVersion: string,
    kind: string,
    project: (object: KubeObject) => Fact,
    clock: Clock,
    selects: Selects = () => true,
  ): Sight {
    const name = `${apiVersion} ${kind}`
    const standing = [...this.objects.values()].filter(object => `${object.apiVersion} ${object.kind}` === name)
    const reflector = new FakeWatch(project, selects, standing)
    this.#watches.set(name, [...(this.#watches.get(name) ?? []), reflector])
    const sight = new Sight({ reflector, apiVersion, kind, project, clock })
    this.#bySight.set(sight, reflector)
    return sight
  }

  /** Lets one watch lag until `catchUp`. */
  stall(sight: Sight): void {
    this.#bySight.get(sight)!.isStalled = true
  }

  /** A list of the watch lacks an object, which is no proof of its end. */
  lose(sight: Sight, key: string): void {
    this.#bySight.get(sight)!.lose(key)
  }

  catchUp(sight: Sight): void {
    this.#bySight.get(sight)!.catchUp()
  }

  /** A write that is on the wire goes on without who sent it. */
  readonly client: ReconcileClient = {
    create: (object, options) => unlessAborted(this.#writes.create(object, options), options?.signal),
    get: async ref => this.objects.get(refKey(ref)) ?? null,
    patch: (ref, patch, options) => unlessAborted(this.#writes.patch(ref, patch, options), options?.signal),
    delete: (ref, options) => unlessAborted(this.#writes.delete(ref, options), options?.signal),
    deleteVersion: (ref, version, options) =>
      unlessAborted(this.#writes.deleteVersion(ref, version, options), options?.signal),
  }

  readonly #writes: Omit<ReconcileClient, 'get'> = {
    create: async (object, options) => {
      await this.#begin('create', refOf(object), object, options)
      const key = refKey(refOf(object))
      if (this.objects.has(key)) throw refusal(409, 'AlreadyExists')
      return this.put(object)
    },
    patch: async (ref, patch, options) => {
      await this.#begin(options?.subresource ?? 'patch', ref, patch, options)
      const before = this.objects.get(refKey(ref))
      if (!before || (options?.subresource === 'status' && !this.hasStatus)) return null
      this.#expect(before, ref.uid, options?.resourceVersion)
      const { status, ...rest } = patch
      const merged = mergePatched(before, options?.subresource === 'status' ? { status } : rest) as KubeObject
      return this.put(merged)
    },
    delete: async (ref, options) => {
      await this.#begin('delete', ref, {}, options)
      const before = this.objects.get(refKey(ref))
      if (!before) return 'gone'
      if (before.metadata.uid !== ref.uid) return 'other'
      this.remove(ref)
      return 'accepted'
    },
    deleteVersion: async (ref, version, options) => {
      await this.#begin('delete', ref, {}, options)
      const before = this.objects.get(refKey(ref))
      if (!before) return 'gone'
      if (before.metadata.uid !== ref.uid) return 'other'
      if (before.metadata.resourceVersion !== version) return 'changed'
      this.remove(ref)
      return 'accepted'
    },
  }

  /** Writes an object as somebody else, whatever was there. */
  put(object: KubeObject): KubeObject {
    const key = refKey(refOf(object))
    this.#version += 1
    const known = this.objects.get(key)
    const uid = object.metadata.uid ?? known?.metadata.uid ?? `uid-${this.#version}`
    const made = { ...object, metadata: { ...object.metadata, uid, resourceVersion: String(this.#version) } }
    this.objects.set(key, made)
    this.#tell({ type: 'put', object: made })
    return made
  }

  remove(ref: ObjectRef): void {
    const object = this.objects.get(refKey(ref))
    if (!object) return
    this.#version += 1
    this.objects.delete(refKey(ref))
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) }
    this.#tell({ type: 'gone', object: { ...object, metadata } })
  }

  /** Brings all watches up to date. */
  show(): void {
    for (const { type, object } of this.#unshown.splice(0)) {
      for (const watch of this.#watches.get(`${object.apiVersion} ${object.kind}`) ?? []) watch.tell(type, object)
    }
  }

  async #begin(verb: string, ref: ObjectRef, body: object, options: CallOptions = {}): Promise<void> {
    options.signal?.throwIfAborted()
    options.check?.()
    await options.failpoint?.('before-send')
    await this.onWrite(verb, ref, body)
    this.writes.push(`${verb} ${ref.kind} ${ref.name}`)
  }

  #expect({ metadata }: KubeObject, uid: string, version: string | undefined): void {
    const isSame = version === undefined || version === metadata.resourceVersion
    if (metadata.uid !== uid || !isSame) throw refusal(409, 'Conflict')
  }

  #tell(event: Event): void {
    this.#unshown.push(event)
    if (this.live) this.show()
  }
}

class FakeWatch {
  readonly #project: (object: KubeObject) => Fact
  readonly #selects: Selects
  readonly #facts = new Map<string, Fact>()
  readonly #listeners = new Listeners<Change<Fact>>()
  readonly #missed: [Event['type'], KubeObject][] = []
  /** The first list. */
  readonly #standing: KubeObject[]
  isStalled = false

  constructor(project: (object: KubeObject) => Fact, selects: Selects, standing: KubeObject[]) {
    this.#project = project
    this.#selects = selects
    this.#standing = standing
  }

  get = (key: string) => this.#facts.get(key)
  values = () => this.#facts.values()
  on = (listener: (change: Change<Fact>) => void) => this.#listeners.add(listener)
  whenSynced = async () => {
    for (const object of this.#standing.splice(0)) this.tell('put', object)
  }

  catchUp(): void {
    this.isStalled = false
    for (const [type, object] of this.#missed.splice(0)) this.tell(type, object)
  }

  lose(key: string): void {
    const value = this.#facts.get(key)
    if (!value) return
    this.#facts.delete(key)
    const { namespace = '', name } = value.ref
    this.#listeners.notify({ namespace, name, uid: value.uid, value, type: 'gone', confirmed: false })
  }

  tell(type: Event['type'], object: KubeObject): void {
    if (this.isStalled) return void this.#missed.push([type, object])
    const { namespace = '', name } = object.metadata
    const key = keyOf(namespace, name)
    const value = this.#project(object)
    const previous = this.#facts.get(key)
    const changed = { namespace, name, uid: value.uid, value }
    if (type === 'put' && this.#selects(object)) {
      this.#facts.set(key, value)
      this.#listeners.notify({ ...changed, type: 'put', previous })
    } else if (this.#facts.delete(key)) this.#listeners.notify({ ...changed, type: 'gone', confirmed: true })
  }
}
