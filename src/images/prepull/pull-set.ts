/** The DaemonSet that pulls one image onto nodes, and the state of its pods. Pure. */
import { createHash } from 'node:crypto'
import type { KubeObject } from '../../base/domain.ts'
import { asObject, asObjects, asText, asTimeMs } from '../../base/json.ts'
import { cleanWords } from '../../base/text.ts'
import type { Config } from '../../config/schema.ts'
import { annotations, labels } from '../../kube/labels.ts'
import type { PodFacts } from '../../kube/pods/facts.ts'
import { projectPod } from '../../kube/pods/project.ts'
import { judgePull, pullReasons } from '../../kube/pods/pulling.ts'
import type { CatalogueImage } from '../catalogue/types.ts'

/** DaemonSets and their pods have the installation in a separate label, so that the watches of labs do not see the pods. */
export const prepullLabel = 'skylab/prepull'
/** The label by which a DaemonSet selects its pods. */
const imageLabel = 'skylab/prepull-image'
const imageAnnotation = 'skylab/prepull-image'
/** The annotation with the time of creation, by Redis' clock in milliseconds. */
const begunAnnotation = 'skylab/prepull-begun'

/** A DaemonSet that pulls an image. */
export interface PullSet {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly deleting: boolean
  /** The image that its pods pull. */
  readonly image: string
  /** Begin of the pull by Redis' clock, in milliseconds. */
  readonly begunMs: number
  /** Names of the nodes that it is restricted to. */
  readonly nodes: readonly string[]
}

/** A pod of such a DaemonSet. */
export interface PullPod {
  /** Name and UID of its DaemonSet. */
  readonly set: string
  readonly setUid: string
  /** Its present or intended node; empty if unknown. */
  readonly node: string
  /** Time of creation by the cluster's clock, in milliseconds since the epoch. */
  readonly createdMs: number
  readonly state: 'pulling' | 'pulled' | 'failed'
  /** The reason for its failure or its wait; may be empty. */
  readonly message: string
}

/** The reference to pull: with the digest if it is known, and under the name that labs use. */
export const pullReference = ({ reference, digest }: Pick<CatalogueImage, 'reference' | 'digest'>) =>
  digest === null ? reference : `${reference}@${digest}`

/** The name depends only on image and installation, so that two replicas make only one DaemonSet. */
export function pullSetName(installation: string, image: Pick<CatalogueImage, 'reference' | 'digest'>): string {
  const text = JSON.stringify([installation, pullReference(image)])
  return `skylab-prepull-${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
}

export interface PullSetInput {
  readonly config: Pick<Config, 'installation' | 'lab'>
  /** The controller's own namespace. */
  readonly namespace: string
  readonly image: CatalogueImage
  readonly nodes: readonly string[]
  readonly begunMs: number
}

/** Makes the DaemonSet (SQR-066, "Prepulling"). */
export function renderPullSet(input: PullSetInput): KubeObject {
  const { config, namespace, image, begunMs } = input
  const name = pullSetName(config.installation, image)
  const own = { [prepullLabel]: config.installation, [imageLabel]: name }
  const marks = {
    labels: {
      ...own,
      [labels.managedBy]: 'skylab',
      [labels.component]: 'prepull',
      [labels.argoInstance]: config.lab.application,
    },
    annotations: {
      [imageAnnotation]: pullReference(image),
      [annotations.argoCompareOptions]: 'IgnoreExtraneous',
      [annotations.argoSyncOptions]: 'Prune=false',
    },
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: {
      name,
      namespace,
      labels: { ...marks.labels, [labels.installation]: config.installation },
      annotations: { ...marks.annotations, [begunAnnotation]: String(begunMs) },
    },
    spec: {
      selector: { matchLabels: own },
      // A joining node changes the template, but running pulls must continue.
      updateStrategy: { type: 'OnDelete' },
      revisionHistoryLimit: 0,
      template: { metadata: marks, spec: podSpec(input) },
    },
  }
}

/** A merge patch that restricts it to these nodes. */
export const renderPullNodes = (nodes: readonly string[]) => ({
  spec: { template: { spec: { affinity: affinityTo(nodes) } } },
})

/** UID and GID of the pods, since an image's default user may be root. */
const nobody = 65_534

function podSpec({ config: { lab }, image, nodes }: PullSetInput): object {
  const pull = lab.secrets.find(secret => secret.pull)
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 0,
    ...(pull && { imagePullSecrets: [{ name: pull.name }] }),
    ...(lab.tolerations.length > 0 && { tolerations: lab.tolerations }),
    affinity: affinityTo(nodes),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: nobody,
      runAsGroup: nobody,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [
      {
        name: 'pull',
        image: pullReference(image),
        imagePullPolicy: 'IfNotPresent',
        // Every lab image has a shell. It does not matter whether this runs, since the image is pulled by then.
        command: ['/bin/sh', '-c', 'exec sleep 1000000'],
        resources: {
          limits: { cpu: '100m', memory: '32Mi', 'ephemeral-storage': '16Mi' },
          requests: { cpu: '1m', memory: '1Mi', 'ephemeral-storage': '0' },
        },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      },
    ],
  }
}

/** Restricts pods to nodes. Terms are alternatives, and each may name only one node. */
function affinityTo(nodes: readonly string[]): object {
  const nodeSelectorTerms = nodes.map(node => ({
    matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }],
  }))
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } }
}

/** Names of the nodes that a pod's spec is restricted to by `affinityTo`, or by the DaemonSet's controller. */
function nodesOf(spec: unknown): string[] {
  const { nodeAffinity } = asObject(asObject(spec).affinity)
  const required = asObject(asObject(nodeAffinity).requiredDuringSchedulingIgnoredDuringExecution)
  return asObjects(required.nodeSelectorTerms)
    .flatMap(({ matchFields }) => asObjects(matchFields))
    .filter(({ key, operator }) => key === 'metadata.name' && operator === 'In')
    .flatMap(({ values }) => (Array.isArray(values) ? values.map(asText) : []))
}

/** Facts of a DaemonSet of ours. */
export function projectPullSet({ metadata, spec }: KubeObject): PullSet {
  const podSpecOf = asObject(asObject(asObject(spec).template).spec)
  const begunMs = Number(metadata.annotations?.[begunAnnotation])
  return {
    name: metadata.name,
    uid: asText(metadata.uid),
    resourceVersion: asText(metadata.resourceVersion),
    deleting: metadata.deletionTimestamp !== undefined,
    image: asText(asObjects(podSpecOf.containers)[0]?.image),
    begunMs: begunMs > 0 ? begunMs : asTimeMs(metadata.creationTimestamp),
    nodes: nodesOf(podSpecOf),
  }
}

/** Facts of a pod of such a DaemonSet; undefined for a pod that no DaemonSet made. */
export function projectPullPod(object: KubeObject): PullPod | undefined {
  const owner = object.metadata.ownerReferences?.find(({ kind }) => kind === 'DaemonSet')
  if (!owner) return undefined
  const pod = projectPod(object)
  return {
    set: owner.name,
    setUid: owner.uid,
    node: pod.node || (nodesOf(object.spec)[0] ?? ''),
    createdMs: asTimeMs(object.metadata.creationTimestamp),
    ...stateOf(pod, imageIdOf(object)),
  }
}

function imageIdOf({ status }: KubeObject): string {
  return asText(asObjects(asObject(status).containerStatuses)[0]?.imageID)
}

/** Reasons that occur only after the image was pulled: the failure is not that of the pull. */
const withImage = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'PreCreateHookError',
  'PreStartHookError',
  'RunContainerError',
  'CrashLoopBackOff',
])

function stateOf(pod: PodFacts, imageId: string): Pick<PullPod, 'state' | 'message'> {
  const [container] = pod.containers
  const waiting = container?.waiting
  // An eviction for lack of disk space also removes pulled images.
  if (pod.phase === 'Failed' && pod.reason) return { state: 'failed', message: cleanWords(because(pod)) }
  if (waiting && pullReasons.has(waiting.reason)) {
    const verdict = judgePull(waiting.reason, waiting.message)
    return { state: 'failed', message: 'message' in verdict ? verdict.message : '' }
  }
  const ran = container && (container.running || container.terminated || container.lastTerminated)
  if (imageId || ran || withImage.has(waiting?.reason ?? '')) return { state: 'pulled', message: '' }
  return { state: 'pulling', message: cleanWords(pod.unschedulable ?? '') }
}

const because = ({ reason, message }: PodFacts) => (message ? `${reason}: ${message}` : reason)
