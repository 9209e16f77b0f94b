/** The facts of a Node that prepulling keeps. Pure. */
import type { KubeObject } from '../../base/domain.ts'
import { asNumber, asObject, asObjects, asText, asTimeMs, type JsonObject } from '../../base/json.ts'

export interface Taint {
  readonly key: string
  readonly value: string
  readonly effect: string
}

/** An image in a kubelet's list, which has at most the 50 largest, with a few names each. */
export interface ListedImage {
  /** `repository:tag` and `repository@sha256:…` */
  readonly names: readonly string[]
  readonly sizeBytes: number
}

export interface NodeFacts {
  readonly name: string
  readonly uid: string
  /** Time of creation by the cluster's clock, in milliseconds since the epoch. */
  readonly createdMs: number
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  /** Cordoned. */
  readonly unschedulable: boolean
  readonly ready: boolean
  readonly deleting: boolean
  readonly images: readonly ListedImage[]
  /** The images by each of their names. */
  readonly imagesByName: ReadonlyMap<string, ListedImage>
}

/** Facts of a Node. */
export function projectNode({ metadata, spec, status }: KubeObject): NodeFacts {
  const { taints, unschedulable } = asObject(spec)
  const { conditions, images } = asObject(status)
  const listed = asObjects(images).map(projectImage)
  return {
    name: metadata.name,
    uid: asText(metadata.uid),
    createdMs: asTimeMs(metadata.creationTimestamp),
    labels: metadata.labels ?? {},
    taints: asObjects(taints).map(({ key, value, effect }) => ({
      key: asText(key),
      value: asText(value),
      effect: asText(effect),
    })),
    unschedulable: unschedulable === true,
    ready: asObjects(conditions).some(({ type, status: is }) => type === 'Ready' && is === 'True'),
    deleting: metadata.deletionTimestamp !== undefined,
    images: listed,
    imagesByName: new Map(listed.flatMap(image => image.names.map(name => [name, image]))),
  }
}

function projectImage({ names, sizeBytes }: JsonObject): ListedImage {
  return {
    names: Array.isArray(names) ? names.map(name => plainName(asText(name))) : [],
    sizeBytes: asNumber(sizeBytes),
  }
}

/** Unifies names: Docker Hub has several host names, and some runtimes omit them. */
export function plainName(name: string): string {
  return name.replace(/^(index\.)?docker\.io\/(library\/)?/, '')
}
