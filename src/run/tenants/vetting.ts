/** Compares, hourly, what the cluster gives to users of tenants with what was vetted. */
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { jittered, Loop, type Rest } from '../../base/loop.ts'
import type { KubeClient } from '../../kube/client.ts'
import { Rarely } from '../../telemetry/rarely.ts'
import { compareStates, type Difference, neverAllowed } from '../../tenants/vetting/compare.ts'
import { stateOf, type VettedState } from '../../tenants/vetting/state.ts'
import { rbacVersion } from '../../tenants/words.ts'

/** One answer for all kinds, which every API server since 1.30 gives. */
const discovery = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/**
 * Four requests.
 * @throws {KubeError} when refused
 * @throws {RetryLater} when the API server does not answer
 */
export async function readState(
  kube: Pick<KubeClient, 'request' | 'list'>,
  signal?: AbortSignal,
): Promise<VettedState> {
  const read = (path: string, accept?: string) =>
    kube.request('GET', path, undefined, { signal, accept, agent: 'vetting' })
  const [version, core, others, clusterRoles] = await Promise.all([
    read('/version'),
    read('/api', discovery),
    read('/apis', discovery),
    kube.list(rbacVersion, 'ClusterRole', role => role, { signal, agent: 'vetting' }),
  ])
  return stateOf({ version, groups: [core, others], clusterRoles: clusterRoles as never })
}

export interface VettingOptions {
  readonly kube: Pick<KubeClient, 'request' | 'list'>
  /** The vetted state for a version, such as `1.36`; undefined: it was never vetted. */
  readonly vettedFor: (kubernetes: string) => VettedState | undefined
  /** Whether nothing is granted while there are differences. */
  readonly freezes: boolean
  readonly clock: Clock
  readonly log: Log
  readonly intervalMs: number
  /** Called when `frozen` may be another. */
  readonly onChange: () => void
}

/** The interval varies by this share, so that replicas do not ask in step. */
const jitter = 0.1
/** After a comparison that failed. */
const retryMs = 60_000
/** Lines of one comparison: the command `skylab vet` prints all. */
const maxLogged = 20

export class Vetting {
  readonly #options: VettingOptions
  readonly #loop: Loop
  readonly #silent: Rarely
  #differences: readonly Difference[] | undefined
  #told = ''

  constructor(options: VettingOptions) {
    this.#options = options
    this.#loop = new Loop({
      clock: options.clock,
      round: () => this.#round(),
      failed: error => {
        this.#silent.failed((error as Error).message)
        return { ms: jittered(Math.min(retryMs, options.intervalMs), jitter) }
      },
    })
    const words = {
      trouble: 'the rights of the cluster cannot be compared',
      over: 'the rights of the cluster can be compared again',
    }
    this.#silent = new Rarely({ clock: options.clock, log: options.log, ...words })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Undefined before the first comparison. */
  get differences(): number | undefined {
    return this.#differences?.length
  }

  /**
   * Whether nothing may be granted: for what is there and was not vetted, and not for what is gone. Not before the first
   * comparison: the last replica knew.
   */
  get frozen(): boolean {
    return this.#options.freezes && (this.#differences?.some(({ found }) => found !== undefined) ?? false)
  }

  async #round(): Promise<Rest> {
    const { kube, vettedFor, intervalMs, onChange } = this.#options
    const before = this.frozen
    this.#differences = await differencesOf(kube, vettedFor, this.#loop.signal)
    this.#silent.worked()
    this.#tell(this.#differences)
    if (this.frozen !== before) onChange()
    return { ms: jittered(intervalMs, jitter) }
  }

  #tell(differences: readonly Difference[]): void {
    const { log } = this.#options
    const text = JSON.stringify(differences)
    if (text === this.#told) return
    const isFirst = this.#told === ''
    this.#told = text
    if (differences.length > 0) {
      const facts = { differences: differences.slice(0, maxLogged), count: differences.length }
      log.warn(facts, 'the cluster gives other rights than were vetted: see `skylab vet`')
    } else if (!isFirst) log.info({}, 'the cluster gives the rights that were vetted')
  }
}

async function differencesOf(
  kube: VettingOptions['kube'],
  vettedFor: VettingOptions['vettedFor'],
  signal: AbortSignal,
): Promise<readonly Difference[]> {
  const found = await readState(kube, signal)
  const vetted = vettedFor(found.kubernetes)
  const unknown = { what: 'version', of: 'Kubernetes', found: found.kubernetes }
  return [...(vetted ? compareStates(vetted, found) : [unknown]), ...neverAllowed(found)]
}
