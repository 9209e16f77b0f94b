/** Joins the upkeep of labs between operations: compare, monitor, removal of debris, and the watch on the policies. */
import { failpoint } from '../base/failpoint.ts'
import type { Listeners } from '../base/listeners.ts'
import type { Auditor } from '../ops/audit.ts'
import type { Trust } from '../ops/trust.ts'
import { Comparer } from '../ops/upkeep/compare.ts'
import { Debris } from '../ops/upkeep/debris.ts'
import { Monitor } from '../ops/upkeep/monitor.ts'
import { PolicyWatch } from '../ops/upkeep/policy.ts'
import type { Basics } from './basics.ts'
import type { Cluster } from './cluster.ts'
import type { Store } from './store.ts'
import { holdMs, longestRequestMs } from './times.ts'

/** Notified when a compare is needed: `true` for a finding in the cluster, `false` for an answer of Redis. */
export type CompareWanted = Listeners<boolean>

export interface UpkeepShared {
  readonly audit: Auditor
  readonly trust: Trust
  readonly compareWanted: CompareWanted
}

export type Upkeep = ReturnType<typeof joinUpkeep>

export function joinUpkeep(basics: Basics, store: Store, cluster: Cluster, shared: UpkeepShared) {
  const { config, log, metrics } = basics
  const { audit, trust, compareWanted } = shared
  /** Aborts requests for debris when the replica drains. */
  const draining = new AbortController()
  const debris = new Debris({
    config,
    store: store.compares,
    kube: cluster.kube,
    view: cluster.view,
    namespacePrefix: config.lab.namespacePrefix,
    trust,
    log,
    metrics,
    signal: draining.signal,
    compare: () => compareWanted.notify(true),
  })
  const monitor = joinMonitor(basics, store, cluster, audit, debris)
  const comparer = joinComparer(basics, store, cluster, shared, { debris, monitor })
  compareWanted.add(insist => comparer.wake(insist))
  return { draining, monitor, comparer, policy: joinPolicy(basics, cluster, compareWanted) }
}

function joinMonitor(
  { config, clock, log }: Basics,
  { compares, bell }: Store,
  { view }: Cluster,
  audit: Auditor,
  debris: Debris,
): Monitor {
  const { times, lab, idle } = config
  return new Monitor({
    store: compares,
    bell,
    view,
    debris,
    clock,
    log,
    audit,
    namespacePrefix: lab.namespacePrefix,
    deleteTimeoutMs: times.deleteTimeoutSeconds * 1000,
    crashLoopGraceMs: times.crashLoopGraceSeconds * 1000,
    unknownGraceMs: times.unknownGraceSeconds * 1000,
    heedsStamp: idle.enabled,
  })
}

function joinComparer(
  { config, clock, log, metrics }: Basics,
  { compares, labs, leases }: Store,
  { kube }: Cluster,
  { audit, trust }: UpkeepShared,
  { debris, monitor }: { readonly debris: Debris; readonly monitor: Monitor },
): Comparer {
  const { times, lab, installation, idle } = config
  return new Comparer({
    store: compares,
    labs: labs.operations,
    leases,
    kube,
    monitor,
    debris,
    clock,
    log,
    audit,
    metrics,
    trust,
    installation,
    namespacePrefix: lab.namespacePrefix,
    intervalMs: times.compareIntervalSeconds * 1000,
    holdMs: holdMs(config),
    pageMs: longestRequestMs(config),
    deleteTimeoutMs: times.deleteTimeoutSeconds * 1000,
    failedLabMs: times.failedLabHours * 3_600_000,
    heedsStamp: idle.enabled,
    failpoint,
  })
}

function joinPolicy(
  { settings, config, clock, log, metrics }: Basics,
  { kube, withoutRight }: Cluster,
  compareWanted: CompareWanted,
): PolicyWatch {
  const policy = new PolicyWatch({
    kube,
    config,
    namespace: settings.namespace,
    clock,
    log,
    metrics,
    intervalMs: config.times.policyIntervalSeconds * 1000,
    required: config.kubernetes.requirePolicy,
    // The compare finds objects that could not be removed meanwhile.
    onRightsBack: () => compareWanted.notify(true),
  })
  withoutRight.add(() => policy.wake())
  return policy
}
