/** Joins the parts for labs: the service that accepts and reads operations, and the engine that runs them. */
import { Slots } from '../base/slots.ts'
import type { Images } from '../images/service.ts'
import { Acceptance } from '../ops/acceptance.ts'
import type { Auditor } from '../ops/audit.ts'
import { labs } from '../ops/lab-kind.ts'
import { Feeds } from '../ops/labs/feeds.ts'
import { Labs } from '../ops/labs/labs.ts'
import { Sources } from '../ops/labs/sources.ts'
import type { Trust } from '../ops/trust.ts'
import type { PolicyWatch } from '../ops/upkeep/policy.ts'
import { StreamReader } from '../store/streams.ts'
import type { Basics } from './basics.ts'
import type { Cluster } from './cluster.ts'
import { joinEngine } from './kinds.ts'
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
  const engine = joinLabEngine(basics, store, cluster, shared, { acceptance, room })
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

function joinLabEngine(
  basics: Basics,
  store: Store,
  { kube, view }: Cluster,
  { audit, trust, compare }: LabsShared,
  { acceptance, room }: { readonly acceptance: Acceptance; readonly room: Slots },
) {
  const { clock, config } = basics
  const times = {
    spawnMs: config.times.spawnTimeoutSeconds * 1000,
    deleteMs: config.times.deleteTimeoutSeconds * 1000,
    noRoomMs: config.times.noRoomGraceSeconds * 1000,
    registryMs: config.times.registryGraceSeconds * 1000,
    unknownMs: config.times.unknownGraceSeconds * 1000,
  }
  const { namespacePrefix } = config.lab
  const kind = labs({ kube, view, clock, times, trust, namespacePrefix, compare })
  const options = { kind, times: { createMs: times.spawnMs, deleteMs: times.deleteMs }, room }
  return joinEngine(basics, { ...store, operations: store.labStore }, options, { acceptance, audit })
}
