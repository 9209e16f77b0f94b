/** Joins the parts for labs: the service that accepts and reads operations, and the engine that runs them. */
import { Slots } from '../base/slots.ts'
import type { Images } from '../images/service.ts'
import { Acceptance } from '../ops/acceptance.ts'
import type { Auditor } from '../ops/audit.ts'
import { Engine } from '../ops/engine.ts'
import { Feeds } from '../ops/labs/feeds.ts'
import { Labs } from '../ops/labs/labs.ts'
import { Sources } from '../ops/labs/sources.ts'
import type { Trust } from '../ops/trust.ts'
import type { PolicyWatch } from '../ops/upkeep/policy.ts'
import { StreamReader } from '../store/streams.ts'
import type { Basics } from './basics.ts'
import type { Cluster } from './cluster.ts'
import type { Store } from './store.ts'
import { longestRequestMs } from './times.ts'

export interface LabsShared {
  readonly audit: Auditor
  readonly trust: Trust
  readonly images: Images
  readonly policy: PolicyWatch
  /** Requests a compare when no record explains an object. */
  readonly compare: () => void
}

export type LabParts = ReturnType<typeof joinLabs>

export function joinLabs(basics: Basics, store: Store, cluster: Cluster, shared: LabsShared) {
  const { settings, config, clock, log, metrics, tracing } = basics
  const { audit, images, policy } = shared
  const acceptance = new Acceptance(clock)
  /** Limits operations that write at the same time. */
  const room = new Slots(config.engine.room)
  const engine = joinEngine(basics, store, cluster, shared, { acceptance, room })
  const sources = new Sources({
    lab: config.lab,
    namespace: settings.namespace,
    kube: cluster.kube,
    clock,
    log,
    timeoutMs: longestRequestMs(config),
  })
  const service = new Labs({
    config,
    store: store.labStore,
    feeds: new Feeds(store.labStore, new StreamReader(store.bell, clock)),
    sealer: store.sealer,
    images,
    sources,
    policy,
    log,
    metrics,
    tracing,
    acceptance,
    audit,
    onAccepted: () => engine.wake(),
  })
  return { service, engine, room }
}

function joinEngine(
  { config, clock, log, metrics, tracing }: Basics,
  { owners, labStore, sealer, leases, bell }: Store,
  { kube, view }: Cluster,
  { audit, trust, compare }: LabsShared,
  { acceptance, room }: { readonly acceptance: Acceptance; readonly room: Slots },
): Engine {
  const { times, engine, lab } = config
  return new Engine({
    owners,
    labs: labStore,
    sealer,
    kube,
    view,
    clock,
    times: {
      spawnMs: times.spawnTimeoutSeconds * 1000,
      deleteMs: times.deleteTimeoutSeconds * 1000,
      noRoomMs: times.noRoomGraceSeconds * 1000,
      registryMs: times.registryGraceSeconds * 1000,
      unknownMs: times.unknownGraceSeconds * 1000,
    },
    trust,
    namespacePrefix: lab.namespacePrefix,
    maxAttempts: engine.maxAttempts,
    longestRequestMs: longestRequestMs(config),
    room,
    log,
    metrics,
    tracing,
    audit,
    compare,
    leases,
    bell,
    acceptance,
    ttlMs: engine.leaseTtlMs,
    scanIntervalMs: engine.scanIntervalMs,
  })
}
