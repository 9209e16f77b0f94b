/** For tests: an operation held by an owner, with fakes around it. */
import { Registry } from 'prom-client'
import { ManualClock } from '../../../test/kit/clock.ts'
import { Slots } from '../../base/slots.ts'
import { KubeError } from '../../kube/client.ts'
import type { Lease } from '../../leases/leases.ts'
import type { Claim } from '../../store/claims.ts'
import { type LabFields, type LabRecord, type NewEvent, readView } from '../../store/records.ts'
import { createLogger } from '../../telemetry/log.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { noTracing } from '../../telemetry/tracing.ts'
import { type Auditor, noAudit } from '../audit.ts'
import { OwnedHost } from '../host.ts'
import type { LabShape } from '../lab-context.ts'
import { type LabIdle, labs } from '../lab-kind.ts'
import { Owned, type RunOptions } from '../owned.ts'
import { OperationRun } from '../run.ts'
import { FakeCluster, namespaceObject, redisMs, trust, user } from './cluster.ts'

export const places = 4
export const withdrawn = new KubeError(
  403,
  'Forbidden',
  'namespaces is forbidden: User "s" cannot get resource "namespaces"',
)

export const recordOf = (more: Partial<LabRecord> = {}): LabRecord => ({
  ...{ op: 7, kind: 'delete', status: 'terminating', active: true, nonce: 'n', token: 't', claims: 1, attempts: 1 },
  acting: true,
  ...{ step: '', seq: 1, progress: 0, acceptedAtMs: 0, failedAtMs: 0, view: readView(undefined, user) },
  ...{ sealedPlan: undefined, namespaceUid: undefined, podUid: undefined, podPresent: false, failing: undefined },
  ...{ requestId: undefined, traceparent: undefined },
  ...more,
})

/** A run on a cluster that holds only the user's namespace. `earlier`: the stream's events so far. */
export function makeRun(
  more: Partial<LabRecord>,
  claim: Partial<Claim<LabRecord>> = {},
  earlier: readonly NewEvent[] = [],
  idle?: LabIdle,
) {
  const cluster = new FakeCluster()
  cluster.real = { namespace: namespaceObject() }
  cluster.show()
  const clock = new ManualClock()
  const room = new Slots(places)
  const written: { events: readonly NewEvent[]; fields: LabFields; outcome?: string }[] = []
  const calls: string[] = []
  const owners = {
    commit: async (_: unknown, __: number, events: readonly NewEvent[], fields: LabFields) => {
      written.push({ events, fields })
    },
    finish: async (_: unknown, __: number, events: readonly NewEvent[], outcome: string, fields: LabFields) => {
      written.push({ events, fields, outcome })
    },
    release: async () => void calls.push('release'),
  }
  const events = async () => ({ found: true, events: earlier.map(([event, data]) => ({ event, data })) })
  const lost = new AbortController()
  const lease: Lease = { name: user, op: 7, token: 't', signal: lost.signal, check: () => lost.signal.throwIfAborted() }
  const metrics = createMetrics(new Registry())
  const ended: string[] = []
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const log = createLogger({ level: 'info', replica: 'r', destination })
  const audit = {
    ...noAudit,
    operation: (...[op, kind, result, by]: Parameters<Auditor['operation']>) =>
      void ended.push(`${op} ${kind} ${result} ${by}`),
  }
  const times = { spawnMs: 60_000, deleteMs: 60_000, noRoomMs: 1000, registryMs: 1000, unknownMs: 1000 }
  const { kube, view } = cluster
  const options = {
    ...{ owners, streams: { events }, sealer: { open: (sealed: string) => sealed }, clock, room },
    kind: labs({
      ...{ kube, view, clock, times, trust, namespacePrefix: 'nublado', compare: () => {}, idle },
      ...{ maxAttempts: 3, longestRequestMs: 1000 },
    }),
    ...{ log, metrics, tracing: noTracing, audit },
  } as unknown as RunOptions<LabShape>
  room.tryEnter()
  const full: Claim<LabRecord> = { record: recordOf(more), remainingMs: 60_000, nowMs: redisMs, foundOp: 0, ...claim }
  const owned = new Owned(options, full, lease, 1)
  const run = new OperationRun(owned)
  const host = new OwnedHost(owned)
  /** The cluster deletes the namespace, and the API server's cached answers expire. */
  const vanish = async () => {
    const uid = cluster.real.namespace!.metadata.uid!
    cluster.real.namespace = undefined
    cluster.seen = {}
    cluster.change({ namespace: 'nublado-ada', goneUid: uid })
    await clock.sleepBetween(500, 500)
    clock.advance(500)
  }
  /** Number of leases by outcome. */
  const leases = async () => {
    const { values } = await metrics.leases.get()
    return Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]))
  }
  /** Makes every later request fail with this error. */
  const refuse = (error: Error = withdrawn) => {
    const no = async () => {
      cluster.requests.push('refused')
      throw error
    }
    Object.assign(cluster.kube, { get: no, create: no, delete: no })
  }
  /** Advances the clock until the operation ends or the limit passes. */
  const pass = async (over: Promise<unknown>, limitMs: number) => {
    let isOver = false
    void over.then(() => {
      isOver = true
    })
    const beganMs = clock.monotonicMs()
    while (!isOver && clock.monotonicMs() - beganMs < limitMs) {
      clock.advance(100)
      await settled()
    }
    return isOver ? clock.monotonicMs() - beganMs : 'it goes on'
  }
  return {
    ended,
    owned,
    run,
    host,
    cluster,
    clock,
    room,
    written,
    calls,
    lost,
    owners,
    vanish,
    leases,
    lines,
    refuse,
    pass,
  }
}

/** Lets everything run that does not wait for the clock. */
export const settled = () => new Promise(resolve => setImmediate(resolve))
