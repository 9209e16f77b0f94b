/** Makes the parts of a replica from its settings, and joins them. Nothing runs yet. */
import { Listeners } from '../base/listeners.ts'
import { Trust } from '../ops/trust.ts'
import type { Settings } from '../settings/load.ts'
import { createGauges } from '../telemetry/gauges.ts'
import { type Api, joinApi } from './api.ts'
import { type Audit, joinAudit } from './audit.ts'
import { type Basics, type CreateTracing, makeBasics, version } from './basics.ts'
import { type Cluster, joinCluster } from './cluster.ts'
import type { Idle, joinIdle } from './idle.ts'
import { type ImageParts, joinImages } from './images.ts'
import type { KindParts } from './kind.ts'
import { censusOf, joinKinds, usesOf } from './kinds.ts'
import { joinLabs, type LabParts } from './labs.ts'
import type { Stage } from './part.ts'
import { joinStore, type Store } from './store.ts'
import { joinUpkeep, type Upkeep } from './upkeep.ts'

export interface Replica {
  readonly basics: Basics
  readonly store: Store
  readonly cluster: Cluster
  readonly audit: Audit
  readonly images: ImageParts
  readonly upkeep: Upkeep
  readonly labs: LabParts
  /** Kinds of subjects beside labs. */
  readonly kinds: readonly KindParts[]
  readonly api: Api
  /** undefined where nothing is stopped for being idle. */
  readonly idle: Idle | undefined
  /** All running parts. */
  readonly stages: readonly Stage[]
}

/** What is loaded only if the configuration wants it. */
export interface Extras {
  /** If traces are sent. */
  readonly createTracing?: CreateTracing | undefined
  /** If labs are stopped that nobody uses. */
  readonly joinIdle?: typeof joinIdle | undefined
}

export function makeReplica(settings: Settings, { createTracing, joinIdle }: Extras = {}): Replica {
  const basics = makeBasics(settings, createTracing)
  const { installation, lab } = basics.config
  const compareWanted = new Listeners<boolean>()
  const cluster = joinCluster(basics)
  const store = joinStore(basics, {
    onComparing: () => compareWanted.notify(false),
    whyComparing: () => {
      const trouble = cluster.kube.trouble()
      return trouble && `Kubernetes does not answer: ${trouble.words}`
    },
  })
  const trust = new Trust({ installation, namespacePrefix: lab.namespacePrefix, sealer: store.sealer })
  const audit = joinAudit(basics, store)
  const { auditor } = audit
  const upkeep = joinUpkeep(basics, store, cluster, { audit: auditor, trust, compareWanted })
  const images = joinImages(basics, store, cluster)
  const labs = joinLabs(basics, store, cluster, {
    audit: auditor,
    trust,
    images: images.service,
    policy: upkeep.policy,
    compare: () => compareWanted.notify(true),
  })
  const kinds = joinKinds(basics, { store, labRoom: labs.kind.room })
  const wake = () => labs.kind.engine.wake()
  const idle = joinIdle?.(basics, store, cluster, { audit: auditor, wake })
  const activity = idle && { more: [idle.feature], notices: idle.notices }
  const api = joinApi(basics, { labs: labs.service, images: images.service, audit: auditor, ...activity })
  const parts = { basics, store, cluster, audit, images, upkeep, labs, kinds, api, idle }
  addGauges(parts)
  return { ...parts, stages: stagesOf(parts) }
}

type Parts = Omit<Replica, 'stages'>

/** All parts, in the order in which they start and stop; they close in the reverse order. */
export function stagesOf({
  basics,
  store,
  cluster,
  audit,
  images,
  upkeep,
  labs,
  kinds,
  api,
  idle,
}: Parts): readonly Stage[] {
  const { connection, bell } = store
  const allKinds = [labs.kind, ...kinds]
  const { trail } = audit
  const { tls } = api
  return [
    { when: 'first', parts: [{ start: () => connection.open(), close: () => connection.close() }] },
    {
      when: 'first',
      parts: [
        // Started before the port that it protects.
        { close: () => tls?.certificates.close() },
        { start: () => cluster.watches.start(), close: () => cluster.watches.stop() },
        { start: () => images.watches.start(), close: () => images.watches.stop() },
        { close: () => cluster.kube.close() },
        { close: () => basics.tracing.close() },
        { close: () => images.source.close() },
      ],
    },
    // The port is open already. Readers of events need the bell, and nothing of the cluster.
    { when: 'connected', parts: [{ start: () => void bell.listen(), close: () => bell.close() }] },
    { when: 'connected', parts: idle ? [idle.feed] : [] },
    {
      when: 'reached',
      parts: [
        upkeep.monitor,
        { stop: () => upkeep.draining.abort() },
        upkeep.comparer,
        upkeep.policy,
        images.refresher,
      ],
    },
    ...kinds.flatMap(({ stages = [] }) => stages),
    {
      when: 'permitted',
      parts: [
        images.prepuller,
        ...(idle?.parts ?? []),
        ...allKinds.map(({ engine }) => ({ start: () => engine.start(), stop: () => engine.drain() })),
        // It removes its last notes while Redis can still be reached.
        { start: () => trail?.start(), close: () => trail?.stop() },
      ],
    },
    { when: 'permitted', parts: allKinds.map(({ leases }) => ({ close: () => leases.close() })) },
  ]
}

function addGauges({ basics, store, cluster, images, labs, kinds, api }: Parts): void {
  const { tls } = api
  const allKinds = [labs.kind, ...kinds]
  createGauges(basics.metrics.registry, {
    version,
    run: basics.config.run.join(),
    census: () => censusOf(allKinds),
    catalogueAgeMs: async () => (await images.catalogues.look()).ageMs,
    redisConnected: () => store.connection.connected(),
    watchSilenceMs: () => ({ ...cluster.watches.lastWordAgeMs(), ...images.watches.lastWordAgeMs() }),
    kubernetesLoad: () => cluster.kube.load(),
    certificates: () => (tls ? { api: tls.certificates } : {}),
    engines: () => usesOf(allKinds),
  })
}
