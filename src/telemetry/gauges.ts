/**
 * Metrics that are computed at each scrape: numbers of labs and operations, connections of a replica, and the use of
 * its limits. One scrape costs a call of Redis for each kind of subjects, and one more, however many labs and images there are.
 */
import { Gauge, type Registry } from 'prom-client'
import type { LabStatus } from '../base/domain.ts'
import { labKind } from '../base/subject.ts'

/** Numbers from Redis of one kind of subjects, for the whole installation: the same for every replica. */
export interface KindCensus {
  readonly subjects: Readonly<Record<LabStatus, number>>
  readonly waiting: number
  readonly owned: number
  readonly overdue: number
  /** Time since acceptance of the operation that has waited longest for an owner; 0 if none waits. */
  readonly longestWaitSeconds: number
}

/** By the name of the kind. */
export type Census = Readonly<Record<string, KindCensus>>

/** The use of one engine: operations that it owns, and its slots for acting ones, unless another one reports the same. */
export interface EngineUse {
  readonly owned: number
  readonly places?: number
  readonly free?: number
}

export interface GaugeSources {
  readonly version: string
  /** What the process serves, as `run` of the configuration has it. */
  readonly run: string
  /** Undefined if Redis does not answer, or its records are not trusted yet. */
  census(): Promise<Census | undefined>
  /** Time since any replica last read the registry; undefined if none did, or Redis does not answer. */
  catalogueAgeMs(): Promise<number | undefined>
  /** Whether commands can be sent to Redis. */
  redisConnected(): boolean
  /** For each watch, milliseconds since the API server last sent something. */
  watchSilenceMs(): Readonly<Record<string, number>>
  /** Requests to the API server. */
  kubernetesLoad(): { readonly inFlight: number; readonly waiting: number }
  /** Certificates of servers with TLS, by the server's name; empty without TLS. */
  certificates(): Readonly<
    Record<string, { readonly current: { readonly expiresMs: number }; readonly unusable: boolean }>
  >
  /** By the name of the kind. */
  engines(): Readonly<Record<string, EngineUse>>
}

/** Adds the gauges to a registry. A value that is unavailable at a scrape is left out of it. */
export function createGauges(registry: Registry, sources: GaugeSources): void {
  const registers = [registry]
  createProcessGauges(registry, sources)
  addInstallationGauges(registry, sources)
  new Gauge({
    name: 'skylab_image_catalogue_age_seconds',
    help: 'Seconds since a replica last read the whole registry; every replica reports the same value, and none before the first reading',
    registers,
    async collect() {
      const ageMs = await sources.catalogueAgeMs().catch(() => undefined)
      if (ageMs === undefined) this.remove()
      else this.set(ageMs / 1000)
    },
  })
  addCertificateGauges(registry, sources)
  new Gauge({
    name: 'skylab_replica_operations',
    help: 'Operations that this replica owns, including those that wait for the cluster, by kind of subject (subject_kind: lab)',
    labelNames: ['subject_kind'] as const,
    registers,
    collect() {
      for (const [kind, { owned }] of Object.entries(sources.engines())) this.set({ subject_kind: kind }, owned)
    },
  })
  new Gauge({
    name: 'skylab_replica_places',
    help: 'Places of this replica for operations that act (of labs: engine.room), by state (taken, free) and kind of subject (subject_kind: lab); places that kinds share are counted with one of them',
    labelNames: ['state', 'subject_kind'] as const,
    registers,
    collect() {
      for (const [kind, { places, free }] of Object.entries(sources.engines())) {
        if (places === undefined || free === undefined) continue
        this.set({ state: 'taken', subject_kind: kind }, places - free)
        this.set({ state: 'free', subject_kind: kind }, free)
      }
    },
  })
}

/** Sources of the gauges of every process. */
export type ProcessGaugeSources = Pick<
  GaugeSources,
  'version' | 'run' | 'redisConnected' | 'watchSilenceMs' | 'kubernetesLoad'
>

export function createProcessGauges(registry: Registry, sources: ProcessGaugeSources): void {
  const registers = [registry]
  new Gauge({
    name: 'skylab_build_info',
    help: 'Always 1; the labels have the versions, and what the process serves (run: labs, tenants, notebooks, apps, gateway, dispatch)',
    labelNames: ['version', 'node', 'run'] as const,
    registers,
  }).set({ version: sources.version, node: process.version, run: sources.run }, 1)
  new Gauge({
    name: 'skylab_redis_connected',
    help: 'Whether this replica is connected to Redis (1), or not (0)',
    registers,
    collect() {
      this.set(sources.redisConnected() ? 1 : 0)
    },
  })
  new Gauge({
    name: 'skylab_kubernetes_watch_silence_seconds',
    help: 'Time since the last message of the API server, by watch (namespaces, pods, podEvents, nodes, daemonSets, prepullPods; of tenants: lnamespaces, namespaces, quotas, limitRanges, networkPolicies, clusterRoles, roleBindings, clusterRoleBindings; of notebooks: notebooks, statefulSets, pods, services); above 120 the watch is broken',
    labelNames: ['watch'] as const,
    registers,
    collect() {
      for (const [watch, ms] of Object.entries(sources.watchSilenceMs())) {
        if (Number.isFinite(ms)) this.set({ watch }, ms / 1000)
      }
    },
  })
  new Gauge({
    name: 'skylab_kubernetes_requests',
    help: 'Requests to the Kubernetes API now, by state: in_flight, waiting (for kubernetes.maxInFlight)',
    labelNames: ['state'] as const,
    registers,
    collect() {
      const { inFlight, waiting } = sources.kubernetesLoad()
      this.set({ state: 'in_flight' }, inFlight)
      this.set({ state: 'waiting' }, waiting)
    },
  })
}

function addCertificateGauges(registry: Registry, { certificates }: GaugeSources): void {
  const registers = [registry]
  new Gauge({
    name: 'skylab_tls_certificate_expires_timestamp_seconds',
    help: 'Expiry of the certificate of a server, by server (api); missing without TLS',
    labelNames: ['server'] as const,
    registers,
    collect() {
      for (const [server, { current }] of Object.entries(certificates())) this.set({ server }, current.expiresMs / 1000)
    },
  })
  new Gauge({
    name: 'skylab_tls_certificate_files_unusable',
    help: 'Whether the files of a certificate are unusable (1), so that the former one stays in use, by server (api)',
    labelNames: ['server'] as const,
    registers,
    collect() {
      for (const [server, { unusable }] of Object.entries(certificates())) this.set({ server }, unusable ? 1 : 0)
    },
  })
}

/** One census for all gauges that read it: they are collected together. */
function addInstallationGauges(registry: Registry, { census }: GaugeSources): void {
  const registers = [registry]
  let asked: Promise<Census | undefined> | undefined
  const ask = () => {
    asked ??= census()
      .catch(() => undefined)
      .finally(() => {
        asked = undefined
      })
    return asked
  }
  new Gauge({
    name: 'skylab_labs',
    help: 'Labs of the installation by status; every replica reports the same values, and none while Redis is away',
    labelNames: ['status'] as const,
    registers,
    async collect() {
      const answer = await ask()
      this.reset()
      for (const [status, count] of Object.entries(answer?.[labKind]?.subjects ?? {})) this.set({ status }, count)
    },
  })
  new Gauge({
    name: 'skylab_operations',
    help: 'Operations of the installation in progress, by state (waiting: for an owner; owned) and kind of subject (subject_kind: lab); every replica reports the same values',
    labelNames: ['state', 'subject_kind'] as const,
    registers,
    async collect() {
      const answer = await ask()
      this.reset()
      for (const [kind, { waiting, owned }] of Object.entries(answer ?? {})) {
        this.set({ state: 'waiting', subject_kind: kind }, waiting)
        this.set({ state: 'owned', subject_kind: kind }, owned)
      }
    },
  })
  byKind(
    'skylab_operations_overdue',
    'Operations of the installation past their deadline, by kind of subject (subject_kind: lab)',
    census => census.overdue,
  )
  byKind(
    'skylab_operations_longest_wait_seconds',
    'Longest time since acceptance of an operation without an owner, by kind of subject (subject_kind: lab); 0 if none waits',
    census => census.longestWaitSeconds,
  )

  function byKind(name: string, help: string, read: (census: KindCensus) => number): void {
    new Gauge({
      name,
      help,
      labelNames: ['subject_kind'] as const,
      registers,
      async collect() {
        const answer = await ask()
        this.reset()
        for (const [kind, census] of Object.entries(answer ?? {})) this.set({ subject_kind: kind }, read(census))
      },
    })
  }
}
