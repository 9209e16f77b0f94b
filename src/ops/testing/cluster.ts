/** For tests: a cluster with one user, as steps see it through watches and requests. */
import { isDeepStrictEqual } from 'node:util'
import { ManualClock } from '../../../test/kit/clock.ts'
import type { KubeObject } from '../../base/domain.ts'
import { Listeners, ListenersByKey } from '../../base/listeners.ts'
import { annotations, labels } from '../../kube/labels.ts'
import type { PodEventFacts } from '../../kube/pods/facts.ts'
import { projectNamespace, projectPod } from '../../kube/pods/project.ts'
import { labNames } from '../../labs/names.ts'
import type { NewEvent } from '../../store/records.ts'
import { Sealer } from '../../store/sealing.ts'
import { silentLogger } from '../../telemetry/log.ts'
import { noTracing } from '../../telemetry/tracing.ts'
import type { Change, ClusterClient, ClusterView } from '../cluster.ts'
import type { LabContext, LabKnown } from '../lab-context.ts'
import type { Call } from '../steps.ts'
import { boundAt, Trust } from '../trust.ts'

export const user = 'ada'
export const installation = 'skylab'
export const names = labNames('nublado', user)
export const sealer = new Sealer([Buffer.alloc(32, 1)])
export const trust = new Trust({ installation, namespacePrefix: 'nublado', sealer })
/** Redis' clock, in milliseconds. */
export const redisMs = 1_700_000_000_000

interface Marks {
  readonly op?: number
  readonly uid?: string
  readonly foreign?: boolean
  readonly terminating?: boolean
  readonly record?: string
  readonly mac?: string
}

function metadata(name: string, { op = 7, uid = `uid-of-${name}`, foreign, terminating, record, mac }: Marks) {
  const deletion = terminating ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}
  if (foreign) return { name, uid, ...deletion }
  const ours = { labels: { [labels.installation]: installation, [labels.op]: String(op) } }
  const kept = {
    [annotations.user]: user,
    ...(record !== undefined && { [annotations.record]: record }),
    ...(mac !== undefined && { [annotations.recordMac]: mac }),
  }
  return { name, uid, ...deletion, ...ours, annotations: kept }
}

export const namespaceObject = (marks: Marks = {}): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Namespace', metadata: metadata(names.namespace, marks) },
})

export const podObject = (marks: Marks = {}): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata(names.lab, marks), namespace: names.namespace } },
})

/** The objects in the cluster, the state that the watches show, and every request. */
export class FakeCluster {
  readonly requests: string[] = []
  readonly #listeners = new Listeners<Change>()
  readonly #byNamespace = new ListenersByKey<Change>()
  real: { namespace?: KubeObject | undefined; pod?: KubeObject | undefined } = {}
  events: readonly PodEventFacts[] = []
  seen: { namespace?: KubeObject | undefined; pod?: KubeObject | undefined } = {}

  /** Brings the watches up to date. */
  show(): void {
    this.seen = { ...this.real }
    this.change({ namespace: names.namespace })
  }

  change(change: Change): void {
    this.#listeners.notify(change)
    this.#byNamespace.notify(change.namespace, change)
  }

  /** The number of namespaces with listeners. */
  get listeners(): number {
    return this.#byNamespace.size
  }

  readonly view: ClusterView = {
    namespace: () => this.seen.namespace && projectNamespace(this.seen.namespace),
    namespaces: () => (this.seen.namespace ? [projectNamespace(this.seen.namespace)] : []),
    pods: () => (this.seen.pod ? [projectPod(this.seen.pod)] : []),
    podEvents: () => this.events,
    onChange: listener => this.#listeners.add(listener),
    onChangeOf: (namespace, listener) => this.#byNamespace.add(namespace, listener),
  }

  readonly kube = {
    create: async (object: KubeObject) => {
      this.requests.push(`create ${object.kind}`)
      return object
    },
    get: async ({ kind }: { kind: string }) => {
      this.requests.push(`get ${kind}`)
      return (kind === 'Pod' ? this.real.pod : this.real.namespace) ?? null
    },
    patch: async ({ kind, uid }: { kind: string; uid: string }, patch: object) => {
      this.requests.push(`patch ${kind} ${uid} ${JSON.stringify(patch)}`)
      return null
    },
    delete: async ({ kind, uid }: { kind: string; uid: string }) => {
      this.requests.push(`delete ${kind} ${uid}`)
      const existing = kind === 'Pod' ? this.real.pod : this.real.namespace
      if (!existing) return 'gone' as const
      return existing.metadata.uid === uid ? ('accepted' as const) : ('other' as const)
    },
    account: async () => 'system:serviceaccount:skylab:skylab',
    list: async () => [],
    settled: async () => {},
  } as unknown as ClusterClient
}

const fakeCall = ({ signal }: Pick<LabContext, 'signal'>): Call => ({
  ...{ signal, agent: 'op=7 claim=1', check: () => {}, failpoint: () => {} },
  ...{ log: silentLogger(), span: noTracing.request(undefined) },
})

/** The context of a step of operation 7 of `user`. */
export function fakeContext(cluster: FakeCluster, more: Partial<LabContext> = {}) {
  const clock = new ManualClock()
  const reported: NewEvent[] = []
  const compares = { count: 0 }
  const known: LabKnown = { namespaceUid: undefined, podUid: undefined, doubt: false }
  const context: LabContext = {
    ...{
      name: user,
      user,
      epoch: undefined,
      op: 7,
      trust,
      boundOp: () => boundAt(redisMs),
      names,
      plan: undefined,
      known,
      kube: cluster.kube,
      view: cluster.view,
      clock,
    },
    ...{ graces: { noRoomMs: 1000, registryMs: 1000, unknownMs: 1000 }, signal: new AbortController().signal },
    ...{ gone: new Set<string>(), call: () => fakeCall(context), failpoint: () => {}, at: () => context },
    report: async events => void reported.push(...events),
    unreported: events => events.filter(event => !reported.some(known => isDeepStrictEqual(known, event))),
    compare: () => {
      compares.count += 1
    },
    ...more,
  }
  return { context, clock, reported, compares, known: context.known }
}
