/** Joins the parts for labs: those that every kind has, and the service that accepts and reads operations. */
import { Slots } from '../base/slots.ts'
import type { Images } from '../images/service.ts'
import type { Auditor } from '../ops/audit.ts'
import type { Kind } from '../ops/kind.ts'
import type { LabShape } from '../ops/lab-context.ts'
import { labs } from '../ops/lab-kind.ts'
import { Feeds } from '../ops/labs/feeds.ts'
import { Labs } from '../ops/labs/labs.ts'
import { Sources } from '../ops/labs/sources.ts'
import type { Trust } from '../ops/trust.ts'
import type { PolicyWatch } from '../ops/upkeep/policy.ts'
import type { Basics } from './basics.ts'
import type { Cluster } from './cluster.ts'
import { joinKind } from './kind.ts'
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
  const kind = joinKind(basics, store, {
    kind: labsOf(basics, store, cluster, shared),
    access: store.labs,
    room: new Slots(config.engine.room),
    audit,
  })
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
    store: store.labs.operations,
    feeds: new Feeds(store.labs.operations, store.streams),
    sealer: store.sealer,
    images,
    sources,
    policy,
    log,
    metrics,
    tracing,
    acceptance: kind.acceptance,
    audit,
    ...(config.idle.enabled && { idle: { namespace: settings.namespace } }),
    onAccepted: () => kind.engine.wake(),
  })
  return { service, kind }
}

function labsOf(
  { clock, config }: Basics,
  { sealer }: Store,
  { kube, view }: Cluster,
  { trust, compare }: LabsShared,
): Kind<LabShape> {
  const times = {
    spawnMs: config.times.spawnTimeoutSeconds * 1000,
    deleteMs: config.times.deleteTimeoutSeconds * 1000,
    noRoomMs: config.times.noRoomGraceSeconds * 1000,
    registryMs: config.times.registryGraceSeconds * 1000,
    unknownMs: config.times.unknownGraceSeconds * 1000,
  }
  const { maxAttempts } = config.engine
  const { namespacePrefix } = config.lab
  const { enabled, credentialVariables } = config.idle
  const idle = enabled ? { sealer, credentialVariables } : undefined
  const limits = { maxAttempts, longestRequestMs: longestRequestMs(config) }
  return labs({ kube, view, clock, times, ...limits, trust, namespacePrefix, compare, idle })
}
