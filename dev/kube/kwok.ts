import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ApiClient, waitUntil } from '../process/api-client.ts'
import { together } from '../process/command.ts'
import { freePort } from '../process/ports.ts'
import { startProcess } from '../process/process.ts'
import { assertRunning } from '../process/server.ts'
import type { Tools } from '../setup/setup.ts'

/** Keeps ordinary pods off nodes that only pretend: labs get there by selector and toleration. */
const kwokTaint = { key: 'kwok.x-k8s.io/node', value: 'fake', effect: 'NoSchedule' }

const mine = 'kwok.x-k8s.io/node'
/** Nothing is there. */
const usualRange = '10.99.0.0/16'

interface StageSpec {
  name: string
  kind: 'Node' | 'Pod'
  /** Conditions of the stage, each on a jq path of the object. */
  when: Array<{ key: string; operator: string; values?: string[] }>
  /** The new status, a Go template of YAML; without one the object is deleted. */
  status?: string
  delay?: { durationMilliseconds: number; jitterDurationMilliseconds: number }
}

const readiness = '.status.conditions[]? | select(.type == "Ready") | .status'
const alive = { key: '.metadata.deletionTimestamp', operator: 'DoesNotExist' }

const nodeStatus = `
phase: Running
addresses:
- type: InternalIP
  address: {{ NodeIP | Quote }}
- type: Hostname
  address: {{ .metadata.name | Quote }}
allocatable: &room
  cpu: "1000"
  memory: 4Ti
  pods: "5000"
capacity: *room
nodeInfo:
  architecture: amd64
  operatingSystem: linux
  kubeletVersion: kwok-{{ Version }}
conditions:
- type: Ready
  status: "True"
  reason: Simulated
  lastHeartbeatTime: {{ Now | Quote }}
  lastTransitionTime: {{ Now | Quote }}
`

const nodeBeat = `
conditions:
- type: Ready
  status: "True"
  reason: Simulated
  lastHeartbeatTime: {{ Now | Quote }}
`

const podRuns = `
{{ $now := Now | Quote }}
{{ $address := PodIPWith .spec.nodeName (or .spec.hostNetwork false) .metadata.uid .metadata.name .metadata.namespace | Quote }}
phase: Running
startTime: {{ $now }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
podIP: {{ $address }}
podIPs: [{ip: {{ $address }}}]
conditions:
{{ range $type := list "Initialized" "ContainersReady" "Ready" }}
- type: {{ $type }}
  status: "True"
  lastTransitionTime: {{ $now }}
{{ end }}
{{ with .spec.initContainers }}
initContainerStatuses:
{{ range . }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  restartCount: 0
  ready: true
  state: {terminated: {reason: Completed, exitCode: 0, startedAt: {{ $now }}, finishedAt: {{ $now }}}}
{{ end }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  restartCount: 0
  ready: true
  started: true
  state: {running: {startedAt: {{ $now }}}}
{{ end }}
`

const jobPodEnds = `
{{ $now := Now | Quote }}
phase: Succeeded
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  restartCount: 0
  ready: false
  state: {terminated: {reason: Completed, exitCode: 0, startedAt: {{ $now }}, finishedAt: {{ $now }}}}
{{ end }}
`

/** All stages: a KWOK built with `go build` has no default ones. */
const stages: StageSpec[] = [
  {
    name: 'node-becomes-ready',
    kind: 'Node',
    when: [{ key: readiness, operator: 'NotIn', values: ['True'] }],
    status: nodeStatus,
  },
  {
    // The lease keeps a node alive; this updates the condition's time for clients that read it.
    name: 'node-beats',
    kind: 'Node',
    when: [{ key: readiness, operator: 'In', values: ['True'] }],
    status: nodeBeat,
    delay: { durationMilliseconds: 60_000, jitterDurationMilliseconds: 90_000 },
  },
  {
    name: 'pod-runs',
    kind: 'Pod',
    when: [alive, { key: '.status.phase', operator: 'In', values: ['Pending'] }],
    status: podRuns,
  },
  {
    name: 'job-pod-ends',
    kind: 'Pod',
    when: [
      alive,
      { key: '.status.phase', operator: 'In', values: ['Running'] },
      { key: '.metadata.ownerReferences[]?.kind', operator: 'In', values: ['Job'] },
    ],
    status: jobPodEnds,
  },
  {
    name: 'pod-goes',
    kind: 'Pod',
    when: [
      { key: '.metadata.deletionTimestamp', operator: 'Exists' },
      { key: '.metadata.finalizers[]?', operator: 'DoesNotExist' },
    ],
  },
]

function renderStage({ name, kind, when, status, delay }: StageSpec): object {
  const step =
    status === undefined ? { delete: true } : { patch: { subresource: 'status', root: 'status', template: status } }
  return {
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'Stage',
    metadata: { name },
    spec: {
      resourceRef: { apiGroup: 'v1', kind },
      selector: {
        matchExpressions: when.map(({ key, operator, values }) => ({
          jq: { key, operator, ...(values && { values }) },
        })),
      },
      ...(delay && { delay }),
      ...(kind === 'Node' && { immediateNextStage: true }),
      steps: [step],
    },
  }
}

/** The whole configuration: its options have no defaults either, and without the leases' parallelism KWOK exits at once. */
function renderConfiguration(cidr: string): string {
  const configuration = {
    apiVersion: 'config.kwok.x-k8s.io/v1alpha1',
    kind: 'KwokConfiguration',
    options: {
      manageAllNodes: false,
      manageNodesWithAnnotationSelector: `${mine}=fake`,
      cidr,
      nodeIP: '10.98.0.1',
      nodePlayStageParallelism: 8,
      podPlayStageParallelism: 32,
      podsOnNodeSyncParallelism: 8,
      nodeLeaseParallelism: 4,
      nodeLeaseDurationSeconds: 40,
    },
  }
  return [configuration, ...stages.map(renderStage)].map(document => JSON.stringify(document)).join('\n---\n')
}

export interface KwokOptions {
  stateDir: string
  tools: Tools
  client: ApiClient
  kubeconfig: string
  count: number
  /** Addresses of pods. */
  podRange?: string | undefined
  signal?: AbortSignal | undefined
}

/**
 * Starts KWOK, which plays the kubelet, with nodes `kwok-1` … `kwok-N` (label `type: kwok`, tainted). Resolves when all are
 * Ready. Pods that select and tolerate them run and are Ready at once.
 */
export async function startKwok(options: KwokOptions): Promise<void> {
  const { stateDir, tools, client, kubeconfig, count, podRange = usualRange, signal } = options
  const configFile = join(stateDir, 'etc', 'kwok.yaml')
  writeFileSync(configFile, renderConfiguration(podRange))
  await startProcess({
    name: 'kwok',
    command: tools.program('kwok'),
    args: ['--config', configFile, '--kubeconfig', kubeconfig, '--server-address', `127.0.0.1:${await freePort()}`],
    // The default is a folder in the user's home.
    env: { KWOK_WORKDIR: join(stateDir, 'kwok') },
    stateDir,
  })
  await together(...Array.from({ length: count }, (_, index) => createNode(client, `kwok-${index + 1}`)))
  await waitUntil(async () => (await readyNodes(client, 'type=kwok')) === count, {
    what: 'KWOK nodes',
    limitMs: 60_000,
    signal,
    check: () => assertRunning(stateDir, 'kwok'),
  })
}

async function createNode(client: ApiClient, name: string): Promise<void> {
  const answer = await client.request('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { type: 'kwok', 'kubernetes.io/hostname': name }, annotations: { [mine]: 'fake' } },
    spec: { taints: [kwokTaint] },
  })
  if (answer.status !== 201) throw new Error(`node ${name}: ${JSON.stringify(answer.body)}`)
}

/** Number of Ready nodes among those that a label selector finds. */
export async function readyNodes(client: ApiClient, selector: string): Promise<number> {
  const { body } = await client.request('GET', `/api/v1/nodes?labelSelector=${encodeURIComponent(selector)}`)
  const isReady = (node: { status?: { conditions?: Array<{ type: string; status: string }> } }) =>
    node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
  return body.items.filter(isReady).length
}
