/** Makes the parts of a replica from its settings, and joins them. Nothing runs yet. */
import { Registry } from 'prom-client'
import packageJson from '../../package.json' with { type: 'json' }
import type { TlsParts } from '../api/connections/http-server.ts'
import { systemClock } from '../base/clock.ts'
import { failpoint } from '../base/failpoint.ts'
import { Slots } from '../base/slots.ts'
import type { SourceOptions } from '../identity/source.ts'
import { Digests } from '../images/catalogue/digests.ts'
import { isFresh, knownDigest } from '../images/catalogue/find.ts'
import { Refresher } from '../images/catalogue/refresher.ts'
import { StoredCatalogues } from '../images/catalogue/stored.ts'
import { catalogueScope } from '../images/catalogue/text.ts'
import type { Catalogue } from '../images/catalogue/types.ts'
import { Prepuller } from '../images/prepull/prepuller.ts'
import { PrepullWatches } from '../images/prepull/watches.ts'
import { createImageSource } from '../images/registry/create.ts'
import { pullSecretReader } from '../images/registry/pull-secret.ts'
import { Images } from '../images/service.ts'
import { KubeClient } from '../kube/client.ts'
import { Leases } from '../leases/leases.ts'
import { Acceptance } from '../ops/acceptance.ts'
import { type Auditor, AuditTrail, noAudit } from '../ops/audit.ts'
import { Engine } from '../ops/engine.ts'
import { Feeds } from '../ops/labs/feeds.ts'
import { Labs } from '../ops/labs/labs.ts'
import { Sources } from '../ops/labs/sources.ts'
import { Trust } from '../ops/trust.ts'
import { Comparer } from '../ops/upkeep/compare.ts'
import { Debris } from '../ops/upkeep/debris.ts'
import { Monitor } from '../ops/upkeep/monitor.ts'
import { PolicyWatch } from '../ops/upkeep/policy.ts'
import { clusterView } from '../ops/view.ts'
import { Watches } from '../ops/watches.ts'
import type { Settings } from '../settings/load.ts'
import { Bell } from '../store/bell.ts'
import { CompareStore } from '../store/compares.ts'
import { Connection } from '../store/connection.ts'
import { ImageStore } from '../store/images.ts'
import { Keys } from '../store/keys.ts'
import { LabStore } from '../store/labs.ts'
import { NoteStore } from '../store/notes.ts'
import { OwnerStore } from '../store/owners.ts'
import { PrepullStore } from '../store/prepulls.ts'
import { Sealer } from '../store/sealing.ts'
import { StreamReader } from '../store/streams.ts'
import { TaskStore } from '../store/tasks.ts'
import { AuditLog } from '../telemetry/audit.ts'
import { StreamSink, sinksOf } from '../telemetry/audit-sinks.ts'
import { createGauges } from '../telemetry/gauges.ts'
import { createLogger } from '../telemetry/log.ts'
import { beginAtZero, collectProcessMetrics, createMetrics } from '../telemetry/metrics.ts'
import type { OtelOptions } from '../telemetry/otel.ts'
import { noTracing, type Tracing } from '../telemetry/tracing.ts'
import { Certificates } from '../tls/certificates.ts'
import { createIdentity } from './identity.ts'

const { version } = packageJson

/** How long streams of ended operations are kept beside a newer one. */
const keepEventsMs = 1_800_000

/** TTLs after which the sealing key of replicas that are no more binds nobody. */
const forgetKeyAfter = 3

/** The longest request to Kubernetes that a former owner may still have in flight. */
const longestRequestMs = ({ kubernetes }: Settings['config']) => kubernetes.requestTimeoutSeconds * 1000

/** How long former owners may act on what a Redis just restarted was found to hold. */
const holdMs = (config: Settings['config']) => config.engine.leaseTtlMs + longestRequestMs(config)

export type Replica = ReturnType<typeof wire>

/** @param createTracing where traces are to be sent */
export function wire(settings: Settings, createTracing?: (options: OtelOptions) => Tracing) {
  const roots = wireBase(settings, createTracing)
  const { config, clock } = roots
  const store = wireStore(roots)
  const trail = wireAudit(roots, store)
  const base: Base = { ...roots, audit: trail ?? noAudit }
  const cluster = wireCluster(base)
  const leases = new Leases({
    redis: store.connection.commands,
    owners: store.owners,
    tasks: store.tasks,
    keyOf: user => store.keys.lease(user),
    clock,
    ttlMs: config.engine.leaseTtlMs,
  })
  const engine = wireEngine(base, store, cluster, leases, () => comparer.wake(true))
  const { comparer, monitor, stopping } = wireCompare(base, store, cluster, leases)
  store.labs.onComparing = () => comparer.wake(false)
  store.labs.whyComparing = () => {
    const trouble = cluster.kube.trouble()
    return trouble && `Kubernetes does not answer: ${trouble.words}`
  }
  store.owners.onComparing = () => comparer.wake(false)
  const ofImages = wireImages(base, store, cluster, leases)
  const ofTls = wireTls(base)
  wireGauges(base, store, cluster, engine, ofImages, ofTls)
  const policy = new PolicyWatch({
    ...base,
    ...cluster,
    namespace: base.settings.namespace,
    required: config.kubernetes.requirePolicy,
    intervalMs: config.times.policyIntervalSeconds * 1000,
    // What could not be removed meanwhile is found by it.
    onRightsBack: () => comparer.wake(true),
  })
  cluster.heard.withoutRight = () => policy.wake()
  const parts = {
    leases,
    engine,
    comparer,
    compared: () => store.labs.compared(),
    trail,
    monitor,
    policy,
    stopping,
    labs: wireLabs(base, store, cluster, ofImages, engine, policy),
    identity: wireIdentity(base),
    tls: ofTls,
    ...ofImages,
  }
  return { ...base, ...store, ...cluster, ...parts }
}

type Roots = ReturnType<typeof wireBase>
type Base = Roots & { readonly audit: Auditor }
type Store = ReturnType<typeof wireStore>
type Cluster = ReturnType<typeof wireCluster>
type OfImages = ReturnType<typeof wireImages>

/** What all rooms have. */
function wireBase(settings: Settings, createTracing: ((options: OtelOptions) => Tracing) | undefined) {
  const { config, replica } = settings
  const clock = systemClock
  // Both kinds of lines by one stream: they follow each other, and never stand within each other.
  const stdout = new StreamSink('stdout', 1)
  const log = createLogger({ level: config.logLevel, replica, destination: stdout })
  const metrics = createMetrics(new Registry())
  collectProcessMetrics(metrics.registry)
  beginAtZero(metrics)
  const { installation, tracing: block } = config
  const told = { tracing: block, headers: settings.tracingHeaders, installation, version, replica, clock, log, metrics }
  const sealer = new Sealer(settings.sealingKeys)
  const { enabled, file } = config.audit
  const auditLog = () => {
    const sinks = sinksOf(file, stdout, new StreamSink('stderr', 2))
    return new AuditLog({ replica, installation, clock, sinks, metrics, log })
  }
  return {
    settings,
    config,
    clock,
    log,
    metrics,
    tracing: createTracing?.(told) ?? noTracing,
    auditLog: enabled ? auditLog() : undefined,
    sealer,
    trust: new Trust({ installation, namespacePrefix: config.lab.namespacePrefix, sealer }),
    acceptance: new Acceptance(clock),
    room: new Slots(config.engine.room),
  }
}

function wireAudit({ auditLog, config, clock, log }: Roots, { connection, keys }: Store) {
  if (!auditLog) return undefined
  const { namespacePrefix } = config.lab
  return new AuditTrail({ audit: auditLog, notes: new NoteStore(connection, keys), namespacePrefix, clock, log })
}

function wireStore({ settings, config, clock, log, metrics, sealer }: Roots) {
  const connection = new Connection({
    config: config.redis,
    login: settings.redisLogin,
    clock,
    log,
    onCall: (command, seconds, answered) =>
      metrics.redisCallDuration.observe({ command, result: answered ? 'ok' : 'error' }, seconds),
  })
  const keys = new Keys(config.redis.keyPrefix)
  const { leaseTtlMs, scanIntervalMs } = config.engine
  // A replica may look as rarely as once in a TTL.
  const sealing = { ids: sealer.ids, keepMs: forgetKeyAfter * leaseTtlMs, idleMs: leaseTtlMs + scanIntervalMs }
  const retention = {
    tombstoneMs: config.times.tombstoneSeconds * 1000,
    idempotencyMs: config.times.idempotencySeconds * 1000,
    eventsMs: keepEventsMs,
  }
  return {
    connection,
    keys,
    labs: new LabStore(connection, keys, retention, sealing),
    owners: new OwnerStore({
      connection,
      keys,
      clock,
      sealing,
      tombstoneMs: retention.tombstoneMs,
      holdMs: holdMs(config),
    }),
    tasks: new TaskStore(connection),
    compares: new CompareStore(connection, keys),
    imageStore: new ImageStore({
      connection,
      keys,
      scope: catalogueScope(config.images),
      intervalMs: config.images.refreshIntervalSeconds * 1000,
    }),
    prepullStore: new PrepullStore(connection, keys),
    bell: new Bell(connection, keys.bell, clock, err => log.error({ err }, 'a listener of the bell failed')),
  }
}

function wireCluster({ settings, config, clock, log, metrics }: Base) {
  const heard = { withoutRight: () => {} }
  const kube = new KubeClient({
    kubernetes: config.kubernetes,
    version,
    replica: settings.replica,
    clock,
    log,
    onRequest: (verb, code, seconds) => metrics.kubernetesRequestDuration.observe({ verb, code }, seconds),
    onRefusal: (verb, reason) => {
      metrics.kubernetesRefusals.inc({ verb, reason })
      if (reason === 'rights') heard.withoutRight()
    },
  })
  const { installation } = config
  const { namespacePrefix } = config.lab
  const watches = new Watches({ client: kube, installation, namespacePrefix, clock, log })
  const { namespace } = settings
  const sources = new Sources({ lab: config.lab, namespace, kube, clock, log, timeoutMs: longestRequestMs(config) })
  return { kube, heard, watches, view: clusterView(watches), sources, installation, namespacePrefix }
}

function wireEngine(base: Base, store: Store, cluster: Cluster, leases: Leases, compare: () => void): Engine {
  const { config } = base
  const { times, engine } = config
  return new Engine({
    ...base,
    ...cluster,
    leases,
    owners: store.owners,
    labs: store.labs,
    bell: store.bell,
    times: {
      spawnMs: times.spawnTimeoutSeconds * 1000,
      deleteMs: times.deleteTimeoutSeconds * 1000,
      noRoomMs: times.noRoomGraceSeconds * 1000,
      registryMs: times.registryGraceSeconds * 1000,
      unknownMs: times.unknownGraceSeconds * 1000,
    },
    maxAttempts: engine.maxAttempts,
    longestRequestMs: longestRequestMs(config),
    ttlMs: engine.leaseTtlMs,
    scanIntervalMs: engine.scanIntervalMs,
    compare,
  })
}

function wireLabs(
  base: Base,
  store: Store,
  { sources }: Cluster,
  { images }: OfImages,
  engine: Engine,
  policy: PolicyWatch,
): Labs {
  return new Labs({
    ...base,
    store: store.labs,
    feeds: new Feeds(store.labs, new StreamReader(store.bell, base.clock)),
    images,
    sources,
    policy,
    onAccepted: () => engine.wake(),
  })
}

function wireIdentity({ settings, clock, log, metrics }: Base) {
  const onRequest: SourceOptions['onRequest'] = (result, seconds) =>
    metrics.identityRequestDuration.observe({ result }, seconds)
  return createIdentity(settings, { clock, log, onRequest })
}

/** Undefined where the API is in the clear. */
function wireTls({ settings, config, clock, log }: Base): TlsParts | undefined {
  const { apiTls } = settings
  if (apiTls === undefined) return undefined
  const { requireClientCertificate = false } = config.api.tls ?? {}
  return { certificates: new Certificates({ ...apiTls, clock, log }), requireClientCertificate }
}

function wireGauges(
  base: Base,
  store: Store,
  cluster: Cluster,
  engine: Engine,
  ofImages: OfImages,
  tls: TlsParts | undefined,
): void {
  const { metrics, room } = base
  const { catalogues, prepullWatches } = ofImages
  createGauges(metrics.registry, {
    version,
    census: () => store.labs.census(),
    catalogueAgeMs: async () => (await catalogues.look()).ageMs,
    redisConnected: () => store.connection.connected(),
    watchSilenceMs: () => ({ ...cluster.watches.lastWordAgeMs(), ...prepullWatches.lastWordAgeMs() }),
    kubernetesLoad: () => cluster.kube.load(),
    certificates: () => (tls ? { api: tls.certificates } : {}),
    engine: () => ({ owned: engine.size, places: room.places, free: room.free }),
  })
}

function wireImages(base: Base, store: Store, cluster: Cluster, leases: Leases) {
  const { settings, config, clock, log } = base
  const { images } = config
  const { namespace, registryAuthorities: authorities, registryCredentials } = settings
  const pullSecret = pullSecretReader({ secrets: config.lab.secrets, namespace, kube: cluster.kube })
  // A pull secret says nothing to Google, whose libraries find what they need by themselves.
  const credentials = async () => registryCredentials ?? (images.gar ? undefined : pullSecret())
  const imageSource = createImageSource({ images, clock, authorities, credentials })
  const catalogues = new StoredCatalogues(store.imageStore)
  const refresher = new Refresher({
    ...base,
    ...{ images, source: imageSource, store: store.imageStore, catalogues, leases, failpoint },
  })
  catalogues.onMissing = () => refresher.wake()
  store.bell.on(({ what }) => {
    // Of a Redis that was emptied: it has no catalogue either.
    if (what === 'compared' || what === 'missed') refresher.wake()
  })
  const digests = new Digests({
    ...{ source: imageSource, memory: store.imageStore, clock, log, timeoutMs: images.timeoutSeconds * 1000 },
    missingMs: images.missingTagSeconds * 1000,
    catalogued: reference => catalogues.known && knownDigest(catalogues.known, images, reference),
    isFresh: () => catalogues.known !== null && isFresh(catalogues.known, images, clock.wallMs()),
  })
  const prepullWatches = new PrepullWatches({ ...base, ...cluster, client: cluster.kube, namespace })
  const prepuller = new Prepuller({
    ...base,
    ...{ namespace, view: prepullWatches, kube: cluster.kube, store: store.prepullStore, leases, failpoint },
    catalogue: () => catalogues.agreed(),
  })
  catalogues.onChange = () => prepuller.wake()
  const prepulls = (catalogue: Catalogue) => prepuller.status(catalogue)
  const service = new Images({ images, catalogues, digests, prepulls, trouble: () => refresher.trouble()?.words })
  return { images: service, catalogues, refresher, imageSource, prepuller, prepullWatches }
}

function wireCompare(base: Base, store: Store, cluster: Cluster, leases: Leases) {
  const { times } = base.config
  const deleteTimeoutMs = times.deleteTimeoutSeconds * 1000
  const stopping = new AbortController()
  const common = { ...base, ...cluster, store: store.compares, bell: store.bell, labs: store.labs, deleteTimeoutMs }
  const debris: Debris = new Debris({ ...common, signal: stopping.signal, compare: () => comparer.wake(true) })
  const monitor = new Monitor({
    ...common,
    debris,
    crashLoopGraceMs: times.crashLoopGraceSeconds * 1000,
    unknownGraceMs: times.unknownGraceSeconds * 1000,
  })
  const comparer: Comparer = new Comparer({
    ...common,
    debris,
    monitor,
    leases,
    intervalMs: times.compareIntervalSeconds * 1000,
    holdMs: holdMs(base.config),
    listMs: longestRequestMs(base.config),
    failedLabMs: times.failedLabHours * 3_600_000,
    failpoint,
  })
  return { comparer, monitor, stopping }
}
