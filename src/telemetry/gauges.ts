/**
 * Metrics that are looked up when they are asked for: how many labs and operations there are, what a replica is connected
 * to, and how much of its bounds is in use. One scrape costs two calls of Redis, however many labs and images there are.
 */
import { Gauge, type Registry } from 'prom-client'
import type { LabStatus } from '../base/domain.ts'

/** What Redis holds, for the whole installation: every replica says the same. */
export interface Census {
  readonly labs: Readonly<Record<LabStatus, number>>
  readonly waiting: number
  readonly owned: number
  readonly overdue: number
  /** Since the acceptance of the operation that has waited longest for an owner; 0 where none waits. */
  readonly longestWaitSeconds: number
}

export interface GaugeSources {
  readonly version: string
  /** Undefined where Redis does not answer, or what it holds is not to be believed yet. */
  census(): Promise<Census | undefined>
  /** Since the registry was last read, by any replica; undefined where it never was, or Redis does not answer. */
  catalogueAgeMs(): Promise<number | undefined>
  /** Whether commands can be sent to Redis. */
  redisConnected(): boolean
  /** Milliseconds since the API server last spoke, for each watch. */
  watchSilenceMs(): Readonly<Record<string, number>>
  /** Requests to the API server. */
  kubernetesLoad(): { readonly inFlight: number; readonly waiting: number }
  /** What each server by TLS shows, by the server's name; none where nothing is by TLS. */
  certificates(): Readonly<
    Record<string, { readonly current: { readonly expiresMs: number }; readonly unusable: boolean }>
  >
  /** Operations that this replica owns, and the places of those that act. */
  engine(): { readonly owned: number; readonly places: number; readonly free: number }
}

/** Makes them in a registry. What cannot be had at a scrape is left out of it. */
export function createGauges(registry: Registry, sources: GaugeSources): void {
  const registers = [registry]
  addInstallationGauges(registry, sources)
  new Gauge({
    name: 'skylab_build_info',
    help: 'Always 1; the labels have the versions',
    labelNames: ['version', 'node'] as const,
    registers,
  }).set({ version: sources.version, node: process.version }, 1)
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
    help: 'Time since the last message of the API server, by watch (namespaces, pods, podEvents, nodes, daemonSets, prepullPods); above 120 the watch is broken',
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
  addCertificateGauges(registry, sources)
  new Gauge({
    name: 'skylab_replica_operations',
    help: 'Operations that this replica owns, including those that wait for the cluster',
    registers,
    collect() {
      this.set(sources.engine().owned)
    },
  })
  new Gauge({
    name: 'skylab_replica_places',
    help: 'Places of this replica for operations that act (engine.room), by state: taken, free',
    labelNames: ['state'] as const,
    registers,
    collect() {
      const { places, free } = sources.engine()
      this.set({ state: 'taken' }, places - free)
      this.set({ state: 'free' }, free)
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

/** One census for all that is read from it: they are collected at once. */
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
      for (const [status, count] of Object.entries(answer?.labs ?? {})) this.set({ status }, count)
    },
  })
  new Gauge({
    name: 'skylab_operations',
    help: 'Operations of the installation in progress, by state: waiting (for an owner), owned; every replica reports the same values',
    labelNames: ['state'] as const,
    registers,
    async collect() {
      const answer = await ask()
      this.reset()
      if (!answer) return
      this.set({ state: 'waiting' }, answer.waiting)
      this.set({ state: 'owned' }, answer.owned)
    },
  })
  single('skylab_operations_overdue', 'Operations of the installation past their deadline', answer => answer.overdue)
  single(
    'skylab_operations_longest_wait_seconds',
    'Longest time since acceptance of an operation without an owner; 0 if none waits',
    answer => answer.longestWaitSeconds,
  )

  function single(name: string, help: string, read: (census: Census) => number): void {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const answer = await ask()
        // One without labels says 0 when it is reset, which nobody knows to be so.
        if (answer) this.set(read(answer))
        else this.remove()
      },
    })
  }
}
