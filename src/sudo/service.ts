/** REST of tenants: it shows them as the watches do, and asks for sudo with an end. */
import type { Clock } from '../base/clock.ts'
import type { Identity } from '../base/domain.ts'
import { unavailable } from '../base/errors.ts'
import type { RestConfig } from '../config/tenants.ts'
import type { Feed } from '../store/streams.ts'
import type { TenantWorld } from '../tenants/world.ts'
import type { TenantEvent } from './events.ts'
import { somebodyOf } from './people.ts'
import type { Sudo, SudoWish } from './sudo.ts'
import { detailOf, type GrantView, grantView, summaryOf, type TenantDetail, type TenantSummary } from './view.ts'

/** The service that the routes use. */
export interface Tenants {
  /** All of them, by name. @throws {ApiError} 503 until the watches show the cluster */
  list(caller: Identity): readonly TenantSummary[]
  /** Undefined without one. Throws as `list`. */
  find(name: string, caller: Identity): TenantDetail | undefined
  /** As `Sudo.grant`. */
  grant(name: string, caller: Identity, wish: SudoWish): Promise<GrantView>
  /** As `Sudo.end`. */
  end(name: string, caller: Identity): Promise<boolean>
  /**
   * The events of an LNamespace after one of them, else of its current generation; they go on until it is gone.
   * @returns null without it; 'ended' if it is gone and the client named an event
   */
  events(
    name: string,
    lastEventId: string | undefined,
    signal: AbortSignal,
  ): Promise<Feed<TenantEvent> | 'ended' | null>
}

export interface TenantServiceOptions {
  readonly world: TenantWorld
  readonly rest: RestConfig
  readonly sudo: Sudo
  readonly clock: Pick<Clock, 'wallMs'>
  /** Whether the watches show the cluster. */
  readonly isSynced: () => boolean
  readonly openEvents: Tenants['events']
}

export class TenantService implements Tenants {
  readonly #options: TenantServiceOptions

  constructor(options: TenantServiceOptions) {
    this.#options = options
  }

  list(caller: Identity): readonly TenantSummary[] {
    this.#requireSync()
    const { world, clock } = this.#options
    const nowMs = clock.wallMs()
    const somebody = this.#somebody(caller)
    const facts = [...world.sights.lnamespaces.values()].sort((a, b) => (a.ref.name < b.ref.name ? -1 : 1))
    return facts.map(fact => summaryOf(fact, somebody, world, nowMs))
  }

  find(name: string, caller: Identity): TenantDetail | undefined {
    this.#requireSync()
    const { world, clock } = this.#options
    const fact = world.sights.lnamespaces.get(name)
    return fact && detailOf(fact, this.#somebody(caller), world, clock.wallMs())
  }

  async grant(name: string, caller: Identity, wish: SudoWish): Promise<GrantView> {
    this.#requireSync()
    const { world, sudo } = this.#options
    const { grant, of } = await sudo.grant(name, caller, wish)
    return grantView(grant, of, world)
  }

  async end(name: string, caller: Identity): Promise<boolean> {
    this.#requireSync()
    return this.#options.sudo.end(name, caller)
  }

  events(name: string, lastEventId: string | undefined, signal: AbortSignal) {
    this.#requireSync()
    return this.#options.openEvents(name, lastEventId, signal)
  }

  #somebody(caller: Identity) {
    return somebodyOf(caller, this.#options.rest)
  }

  #requireSync(): void {
    if (!this.#options.isSynced()) throw unavailable('the watches do not show the cluster yet')
  }
}
