/** Joins the idle engine of a process for labs. Loaded only where labs are stopped that nobody uses. */
import type { Feature } from '../api/feature.ts'
import { failpoint } from '../base/failpoint.ts'
import type { IdleNotices } from '../form/notice.ts'
import { cpuDuty, limitsOf } from '../idle/cpu.ts'
import { IdleEngine } from '../idle/engine.ts'
import { LabOwner } from '../idle/workloads/labs.ts'
import { labMuster } from '../idle/workloads/muster.ts'
import { labels } from '../kube/labels.ts'
import { byController } from '../ops/audit.ts'
import { readCredential } from '../ops/credential.ts'
import { ActivityStore } from '../store/activity.ts'
import { DueStore } from '../store/due.ts'
import { UsageStore } from '../store/usage.ts'
import { beginIdleAtZero, createIdleMetrics, type IdleMetrics } from '../telemetry/idle-metrics.ts'
import { joinActivity } from './activity.ts'
import type { Audit } from './audit.ts'
import type { Basics } from './basics.ts'
import type { Cluster } from './cluster.ts'
import type { Part } from './part.ts'
import type { Store } from './store.ts'

export interface IdleShared {
  readonly audit: Audit['auditor']
  /** A deletion was accepted. */
  readonly wake: () => void
}

export interface Idle {
  /** Those that start when the records are compared. */
  readonly parts: readonly Part[]
  /** Reads the events of activity for clients. */
  readonly feed: Part
  /** The routes of activity. */
  readonly feature: Feature
  /** What the form says of the last stop. */
  readonly notices: IdleNotices
}

export function joinIdle(basics: Basics, store: Store, cluster: Cluster, shared: IdleShared): Idle {
  const { config, clock, log, metrics } = basics
  const { connection, keys, leases } = store
  const due = new DueStore(connection, keys)
  const activity = new ActivityStore(connection, keys)
  const kinds = ['lab'] as const
  const idleMetrics = createIdleMetrics(metrics.registry, { kinds, census: () => due.census('lab') })
  beginIdleAtZero(idleMetrics, kinds)
  const labs = labOwner(basics, store, cluster, activity, shared)
  const engine = new IdleEngine({
    ...{ idle: config.idle, due, activity, metrics: idleMetrics, clock, log, failpoint },
    owners: [labs],
  })
  const muster = labMuster({
    ...{ store: due, leases, lease: keys.musterLease, clock, log },
    periodMs: config.idle.checkPeriodSeconds * 1000,
  })
  const rest = joinActivity(basics, store, {
    kinds: [{ owner: labs, ownerOf: user => user, isEnding: user => labs.isEnding(user) }],
    ...{ activity, due, audit: shared.audit },
    onKept: (facts, untilMs) => engine.stampKeep(facts, untilMs),
  })
  const cpu = joinCpu(basics, store, cluster, labs, idleMetrics)
  return { parts: [engine, muster, ...cpu], ...rest, notices: noticesOf(activity) }
}

/** Only where a rule goes by it. */
function joinCpu(
  { config, clock, log }: Basics,
  { connection, keys, leases }: Store,
  { kube }: Cluster,
  labs: LabOwner,
  metrics: IdleMetrics,
): readonly Part[] {
  const { rules, cpuPeriodSeconds: periodSeconds } = config.idle
  if (Object.keys(limitsOf(rules)).length === 0) return []
  const duty = cpuDuty({
    ...{ kube, leases, lease: keys.cpuLease, rules, periodSeconds, clock, log },
    store: new UsageStore(connection, keys),
    pods: {
      ...{ kind: labs.kind, labelSelector: `${labels.installation}=${config.installation}` },
      silenceMs: () => labs.silenceMs(),
      ofPod: (namespace, name) => labs.ofPod(namespace, name),
    },
    onList: result => metrics.cpuLists.inc({ result }),
  })
  return [duty]
}

const noticesOf = (store: ActivityStore): IdleNotices => ({
  lastStop: async user => {
    const [view] = await store.find('lab', [user])
    return view?.stopped && { ms: view.stopped.atMs, words: view.stopped.words }
  },
})

function labOwner(
  { config, clock }: Basics,
  { sealer }: Store,
  { kube, watches }: Cluster,
  store: ActivityStore,
  { audit, wake }: IdleShared,
): LabOwner {
  const { idle, lab, times } = config
  return new LabOwner({
    ...{ store, sealer, kube, pods: watches.pods, namespacePrefix: lab.namespacePrefix },
    stampPolicy: idle.annotations.lab,
    readCredential: (standing, signal) =>
      readCredential({ kube, clock, config, variables: idle.credentialVariables }, standing, signal),
    deleteTimeoutMs: times.deleteTimeoutSeconds * 1000,
    by: user => byController(audit, user, 'lab_idle'),
    onStop: wake,
  })
}
