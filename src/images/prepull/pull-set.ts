/** The DaemonSet by which one image gets onto nodes, and what becomes of its pods. Pure. */
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

/** DaemonSets and their pods bear the installation by a label of their own: those who watch labs do not see the pods. */
export const prepullLabel = 'skylab/prepull'
/** By which a DaemonSet knows its pods. */
const imageLabel = 'skylab/prepull-image'
const imageAnnotation = 'skylab/prepull-image'
/** When it was made, by Redis' clock in milliseconds. */
const begunAnnotation = 'skylab/prepull-begun'

/** A DaemonSet that pulls an image. */
export interface PullSet {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly deleting: boolean
  /** What its pods pull. */
  readonly image: string
  /** By Redis' clock, in milliseconds. */
  readonly begunMs: number
  /** Names of the nodes that it is for. */
  readonly nodes: readonly string[]
}

/** A pod of one. */
export interface PullPod {
  /** Name and UID of its DaemonSet. */
  readonly set: string
  readonly setUid: string
  /** Where it is, or is to be; empty where that is not told. */
  readonly node: string
  /** By the cluster's clock, in milliseconds since the epoch. */
  readonly createdMs: number
  readonly state: 'pulling' | 'pulled' | 'failed'
  /** In words, why it failed or what it waits for; may be empty. */
  readonly message: string
}

/** What is pulled: by digest where it is known, and under the very name by which labs ask for it. */
export const pullReference = ({ reference, digest }: Pick<CatalogueImage, 'reference' | 'digest'>) =>
  digest === null ? reference : `${reference}@${digest}`

/** The same for one image and installation always, so that two who make it make one. */
export function pullSetName(installation: string, image: Pick<CatalogueImage, 'reference' | 'digest'>): string {
  const text = JSON.stringify([installation, pullReference(image)])
  return `skylab-prepull-${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
}

export interface PullSetInput {
  readonly config: Pick<Config, 'installation' | 'lab'>
  /** The controller's own. */
  readonly namespace: string
  readonly image: CatalogueImage
  readonly nodes: readonly string[]
  readonly begunMs: number
}

/** The DaemonSet (SQR-066, "Prepulling"). */
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
      // A node that joins changes the template: those that pull already go on.
      updateStrategy: { type: 'OnDelete' },
      revisionHistoryLimit: 0,
      template: { metadata: marks, spec: podSpec(input) },
    },
  }
}

/** A merge patch that makes it one for these nodes. */
export const renderPullNodes = (nodes: readonly string[]) => ({
  spec: { template: { spec: { affinity: affinityTo(nodes) } } },
})

/** The default user of an image may be root, which need not be for nothing. */
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
        // What every image that labs are made of has. Whether it runs is of no matter: the image is there by then.
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

/** Terms are alternatives, and each may name one node. */
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

/** Facts of a pod of one; undefined for what a DaemonSet has not made. */
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

/** A container comes to these only with its image: what fails then is not the pull. */
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
  // Evicted for want of disk: what was pulled goes first.
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
