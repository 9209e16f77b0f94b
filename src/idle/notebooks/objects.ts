/**
 * What is kept of the objects of notebooks. Everything in them may be written by people, so what is checked is what is used. Pure.
 *
 * - **owner**: the object that bears the annotations: a Notebook, or a StatefulSet with our label.
 * - **set**: the StatefulSet that an owner's pod is of: Kubeflow's controller makes that of a Notebook.
 */
import { isIP } from 'node:net'
import type { KubeObject } from '../../base/domain.ts'
import { asNumber, asObject, asObjects, asText, asTimeMs, type JsonObject } from '../../base/json.ts'
import { registerKind } from '../../kube/kinds.ts'
import { stamps } from '../../kube/labels.ts'
import type { Stamps } from '../workloads/workload.ts'

export const notebookKind = { apiVersion: 'kubeflow.org/v1', kind: 'Notebook' } as const
export const setKind = { apiVersion: 'apps/v1', kind: 'StatefulSet' } as const
registerKind(notebookKind.apiVersion, notebookKind.kind, { plural: 'notebooks', namespaced: true })
registerKind(setKind.apiVersion, setKind.kind, { plural: 'statefulsets', namespaced: true })

/** A StatefulSet with this label is one of ours. */
export const idleLabel = 'user.skylab/idle'
/** Every pod of a StatefulSet has it, whatever people do: its controller writes it again. */
export const podOfSetLabel = 'statefulset.kubernetes.io/pod-name'

/** The part that owners of both kinds have. */
export interface OwnerFacts {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly deleting: boolean
  readonly stamps: Stamps
}

export interface SetFacts extends OwnerFacts {
  /** The Notebook whose it is, by its controller reference. */
  readonly notebook: { readonly name: string; readonly uid: string } | undefined
  /** It has our label, and is nobody's but its own. */
  readonly labelled: boolean
  readonly replicas: number
  /** Name of the first container, as the set declares it: a mesh may put its own before it. */
  readonly container: string
}

interface ContainerPlace {
  readonly name: string
  readonly image: string
  /** Its first port; 0 without one. */
  readonly port: number
}

export interface SetPodFacts {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** UID of the StatefulSet that controls it. */
  readonly setUid: string
  readonly running: boolean
  readonly deleting: boolean
  readonly ready: boolean
  readonly hostNetwork: boolean
  /** '' without one. */
  readonly ip: string
  /** By the cluster's clock; 0 when unknown. */
  readonly startedAtMs: number
  readonly containers: readonly ContainerPlace[]
}

export interface ServiceFacts {
  /** '' if it has none that a request could be sent to. */
  readonly ip: string
  /** Its first port; 0 without one. */
  readonly port: number
}

/** Longer than any time. */
const longestStamp = 64
/** In place of a longer one: a part of a text keeps all of it in memory. */
const tooLong = 'too long'
/** Of a name, a UID and an image. The API server bounds names and UIDs of objects, and not those that they refer to. */
const longestReference = 253
const longestImage = 1024
const mostContainers = 16

export function projectNotebook(object: KubeObject): OwnerFacts {
  const { name, namespace, uid, resourceVersion, deletionTimestamp, annotations } = object.metadata
  const of = (key: string) => {
    const value = annotations?.[key]
    if (typeof value !== 'string') return undefined
    return value.length > longestStamp ? tooLong : value
  }
  return {
    ...{ name, namespace: asText(namespace), uid: asText(uid), resourceVersion: asText(resourceVersion) },
    deleting: deletionTimestamp !== undefined,
    stamps: {
      ...{ lastActivity: of(stamps.lastActivity), checked: of(stamps.checked) },
      ...{ keepUntil: of(stamps.keepUntil), stopped: of(stamps.stopped) },
    },
  }
}

/** One for all that are none of ours: a watch must see that an object is not ours any more. */
const foreign: OwnerFacts = {
  ...{ namespace: '', name: '', uid: '', resourceVersion: '', deleting: true, stamps: {} },
}
const foreignSet: SetFacts = { ...foreign, notebook: undefined, labelled: false, replicas: 0, container: '' }
const foreignPod: SetPodFacts = {
  ...{ namespace: '', name: '', uid: '', setUid: '', running: false, deleting: true, ready: false },
  ...{ hostNetwork: false, ip: '', startedAtMs: 0, containers: [] },
}

export function projectSet(object: KubeObject): SetFacts {
  const controller = controllerOf(object)
  const isNotebook = asText(controller?.apiVersion).startsWith('kubeflow.org/') && controller?.kind === 'Notebook'
  const labelled = !isNotebook && object.metadata.labels?.[idleLabel] === 'true'
  if (!isNotebook && !labelled) return foreignSet
  const spec = asObject(object.spec)
  const [first] = asObjects(asObject(asObject(spec.template).spec).containers)
  return {
    ...projectNotebook(object),
    notebook: isNotebook ? { name: asText(controller.name), uid: asText(controller.uid) } : undefined,
    labelled,
    replicas: spec.replicas === undefined ? 1 : asNumber(spec.replicas),
    container: asText(first?.name),
  }
}

/** @returns undefined for a pod that has not the name of the first one of a set */
export function projectSetPod(object: KubeObject): SetPodFacts | undefined {
  const { name, namespace, uid, deletionTimestamp } = object.metadata
  if (setNameOf(name) === undefined) return undefined
  const controller = controllerOf(object)
  const isOfSet = controller?.apiVersion === setKind.apiVersion && controller.kind === setKind.kind
  if (!isOfSet) return foreignPod
  const { hostNetwork, containers } = asObject(object.spec)
  const status = asObject(object.status)
  const ready = asObjects(status.conditions).find(({ type }) => type === 'Ready')
  const ip = asText(status.podIP)
  return {
    ...{ name, namespace: asText(namespace), uid: asText(uid), setUid: asText(controller.uid) },
    running: status.phase === 'Running',
    deleting: deletionTimestamp !== undefined,
    ready: ready?.status === 'True',
    hostNetwork: hostNetwork === true,
    ip: isIP(ip) === 0 ? '' : ip,
    startedAtMs: asTimeMs(status.startTime),
    containers: asObjects(containers).slice(0, mostContainers).map(placeOf),
  }
}

export function projectService(object: KubeObject): ServiceFacts {
  const { type, clusterIP, ports } = asObject(object.spec)
  const ip = asText(clusterIP)
  // A headless one has `None`, and an ExternalName leads anywhere.
  const isUsable = type !== 'ExternalName' && isIP(ip) !== 0
  return { ip: isUsable ? ip : '', port: asNumber(asObjects(ports)[0]?.port) }
}

export const podNameOf = (set: string): string => `${set}-0`
/** @returns undefined if it is not the name of a first pod */
export const setNameOf = (pod: string): string | undefined =>
  pod.endsWith(podNameOf('')) ? pod.slice(0, -podNameOf('').length) : undefined

function placeOf({ name, image, ports }: JsonObject): ContainerPlace {
  return { name: asText(name), image: bounded(image, longestImage), port: asNumber(asObjects(ports)[0]?.containerPort) }
}

/** '' for a longer one. */
function bounded(value: unknown, longest: number): string {
  const text = asText(value)
  return text.length > longest ? '' : text
}

function controllerOf({ metadata }: KubeObject): JsonObject | undefined {
  const controller = asObjects(metadata.ownerReferences).find(each => each.controller === true)
  const { name, uid } = controller ?? {}
  return controller && { ...controller, name: bounded(name, longestReference), uid: bounded(uid, longestReference) }
}
