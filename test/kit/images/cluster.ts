/** A fake cluster for tests of prepulling: nodes, and DaemonSets whose pods pull when the test says so. */
import type { KubeObject } from '../../../src/base/domain.ts'
import { configSchema } from '../../../src/config/schema.ts'
import type { Catalogue, CatalogueImage } from '../../../src/images/catalogue/types.ts'
import type { PrepullRules } from '../../../src/images/prepull/decide.ts'
import { type NodeFacts, projectNode } from '../../../src/images/prepull/nodes.ts'
import { type PullPod, type PullSet, projectPullPod, projectPullSet } from '../../../src/images/prepull/pull-set.ts'
import type { PrepullView } from '../../../src/images/prepull/watches.ts'
import { KubeError, type ObjectIdentity, type ObjectRef } from '../../../src/kube/client.ts'
import type { PrepullRecords } from '../../../src/store/prepulls.ts'

export const repository = 'registry.example.org/some/lab'

/** The digest made of one letter. */
export const digestOf = (letter: string) => `sha256:${letter.repeat(64)}`

/** An image with the digest of a letter, or without a known digest. */
export function image(tag: string, letter: string | null = 'a'): CatalogueImage {
  const digest = letter === null ? null : digestOf(letter)
  return { reference: `${repository}:${tag}`, tag, aliases: [], name: tag, digest }
}

export const catalogueOf = (...prepull: CatalogueImage[]): Catalogue => ({
  types: {},
  prepull,
  menu: prepull,
  all: prepull,
  readAtMs: 0,
})

export interface NodeShape {
  readonly uid?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly taints?: readonly object[]
  readonly cordoned?: boolean
  readonly ready?: boolean
  /** Names of each image on the node. */
  readonly images?: readonly (readonly string[])[]
  readonly createdAt?: string
}

export function nodeObject(name: string, shape: NodeShape = {}): KubeObject {
  const { uid = `uid-${name}`, labels = {}, taints, cordoned, ready = true, images = [], createdAt } = shape
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid, labels, ...(createdAt !== undefined && { creationTimestamp: createdAt }) },
    spec: { ...(taints && { taints }), ...(cordoned && { unschedulable: true }) },
    status: {
      conditions: [
        { type: 'MemoryPressure', status: 'False' },
        { type: 'Ready', status: ready ? 'True' : 'Unknown' },
      ],
      images: images.map(names => ({ names, sizeBytes: 1000 })),
    },
  }
}

/** Rules of prepulling with short times. */
export const rules: PrepullRules = {
  installation: 'north',
  placement: configSchema.parse({}).lab,
  timeoutMs: 60_000,
  retryMs: 1000,
  maxRetryMs: 5000,
  maxAtOnce: 2,
}

export const noRecords: PrepullRecords = { prepulled: new Map(), failures: new Map() }

export const node = (name: string, shape?: NodeShape): NodeFacts => projectNode(nodeObject(name, shape))

/** States of a pod's container. */
export const containers = {
  running: { state: { running: {} }, imageID: 'x' },
  failing: (message: string, reason = 'ErrImagePull') => ({ state: { waiting: { reason, message } }, imageID: '' }),
}

export class FakeCluster implements PrepullView {
  readonly nodesByName = new Map<string, KubeObject>()
  readonly setsByName = new Map<string, KubeObject>()
  /** By name of DaemonSet and node. */
  readonly podsByPlace = new Map<string, KubeObject>()
  /** Writes, as `create <tag>: <nodes>`. */
  readonly writes: string[] = []
  /** Called by a create before it has an effect. */
  beforeCreate: (object: KubeObject) => void = () => {}
  readonly #listeners = new Set<() => void>()
  #count = 0

  ready(): boolean {
    return true
  }

  async whenReady(): Promise<void> {}

  nodes(): readonly NodeFacts[] {
    return [...this.nodesByName.values()].map(projectNode)
  }

  sets(): readonly PullSet[] {
    return [...this.setsByName.values()].map(projectPullSet)
  }

  pods(): readonly PullPod[] {
    return [...this.podsByPlace.values()].flatMap(pod => projectPullPod(pod) ?? [])
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  setNode(name: string, shape?: NodeShape): void {
    this.nodesByName.set(name, nodeObject(name, shape))
    this.#changed()
  }

  removeNode(name: string): void {
    this.nodesByName.delete(name)
    this.#changed()
  }

  /** Removes a DaemonSet, as a person would. */
  removeSet(name: string): void {
    this.setsByName.delete(name)
    this.#changed()
  }

  /** Sets the status that a node's kubelet reports of the pod that pulls an image. */
  setPod(image: string, nodeName: string, container: object, status: object = {}): void {
    const set = this.sets().find(each => each.image.includes(image))
    const place = `${set?.name} ${nodeName}`
    const pod = this.podsByPlace.get(place)
    if (!pod) throw new Error(`nothing pulls ${image} onto ${nodeName}`)
    this.podsByPlace.set(place, { ...pod, status: { containerStatuses: [container], ...status } })
    this.#changed()
  }

  /** All existing pods finish their pulls. */
  pullAll(): void {
    for (const { image, nodes } of this.sets()) {
      for (const name of nodes) if (this.nodesByName.has(name)) this.setPod(image, name, containers.running)
    }
  }

  async create(object: KubeObject): Promise<KubeObject> {
    this.beforeCreate(object)
    const { name } = object.metadata
    if (this.setsByName.has(name)) throw new KubeError(409, 'AlreadyExists', 'it exists already')
    this.#count += 1
    const metadata = { ...object.metadata, uid: `set-${this.#count}`, resourceVersion: '1' }
    const made = { ...object, metadata }
    this.setsByName.set(name, made)
    this.#wrote('create', name)
    return made
  }

  async get({ name }: ObjectRef): Promise<KubeObject | null> {
    return this.setsByName.get(name) ?? null
  }

  async patch(ref: ObjectIdentity, patch: object): Promise<KubeObject | null> {
    const existing = this.setsByName.get(ref.name)
    if (!existing) return null
    if (existing.metadata.uid !== ref.uid) throw new KubeError(422, 'Invalid', 'metadata.uid: field is immutable')
    this.setsByName.set(ref.name, { ...(merged(existing, patch) as KubeObject), metadata: nextVersion(existing) })
    this.#wrote('patch', ref.name)
    return this.setsByName.get(ref.name)!
  }

  async delete(ref: ObjectIdentity): Promise<'accepted' | 'gone' | 'other'> {
    const existing = this.setsByName.get(ref.name)
    if (!existing) return 'gone'
    if (existing.metadata.uid !== ref.uid) return 'other'
    this.#wrote('delete', ref.name)
    this.removeSet(ref.name)
    return 'accepted'
  }

  #wrote(verb: string, name: string): void {
    const { image, nodes } = projectPullSet(this.setsByName.get(name)!)
    const tag = image.replace(/@.*$/, '').replace(/^.*:/, '')
    this.writes.push(`${verb} ${tag}: ${nodes.join(' ')}`)
    this.#changed()
  }

  /** Does what the controllers of DaemonSets and of orphaned pods do. */
  #changed(): void {
    const places = new Set<string>()
    for (const { name, uid, nodes } of this.sets()) {
      for (const nodeName of nodes.filter(each => this.nodesByName.has(each))) {
        const place = `${name} ${nodeName}`
        places.add(place)
        const owner = this.podsByPlace.get(place)?.metadata.ownerReferences?.[0]?.uid
        if (owner !== uid) this.podsByPlace.set(place, podObject(name, uid, nodeName))
      }
    }
    for (const place of this.podsByPlace.keys()) if (!places.has(place)) this.podsByPlace.delete(place)
    for (const listener of this.#listeners) listener()
  }
}

const nextVersion = ({ metadata }: KubeObject) => ({
  ...metadata,
  resourceVersion: String(Number(metadata.resourceVersion) + 1),
})

function podObject(set: string, uid: string, nodeName: string): KubeObject {
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: set, uid }]
  const metadata = { name: `${set}-${nodeName}`, namespace: 'skylab', ownerReferences }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName } }
}

/** Applies a merge patch: objects are merged, everything else is replaced. */
function merged(value: unknown, patch: unknown): unknown {
  if (!isObject(value) || !isObject(patch)) return patch
  const changed = Object.entries(patch).map(([key, part]) => [key, merged(value[key], part)])
  return { ...value, ...Object.fromEntries(changed) }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
