/**
 * Follows LNamespaces where the cluster has their definition. Whether it has is asked anew, since tenants can be switched on
 * later; the watch begins then.
 */

import { hasNamespace, isServed, tenantWatch } from '../apps/members.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Loop, Rest } from '../base/loop.ts'
import { type KubeClient, KubeError } from '../kube/client.ts'
import type { Reflector } from '../kube/reflector.ts'
import type { Sight } from '../reconcile/sight.ts'
import type { Fact } from '../reconcile/types.ts'
import { toldLoop } from './told-loop.ts'

export interface TenantsInSight {
  readonly sight: Sight
  readonly reflector: Reflector<Fact>
}

export interface TenantFollowerOptions {
  readonly kube: Pick<KubeClient, 'request'>
  readonly clock: Clock
  readonly log: Log
  readonly join: () => TenantsInSight
  /** The watch has shown all of them for the first time. */
  readonly onFollowed: (sight: Sight) => void
  /** A namespace has become one of a tenant, or is none any more. */
  readonly onTenant: (name: string) => void
}

/** How often it is asked whether there are LNamespaces. */
export const discoveryMs = 300_000

export class TenantFollower {
  readonly #options: TenantFollowerOptions
  readonly #loop: Loop
  readonly #known = Promise.withResolvers<void>()
  #joined: TenantsInSight | undefined
  #isKnown = false

  constructor(options: TenantFollowerOptions) {
    const { clock, log } = options
    this.#options = options
    const words = { trouble: 'it is not known whether there are LNamespaces', over: 'LNamespaces are known again' }
    this.#loop = toldLoop({ clock, log, words, round: signal => this.#round(signal) })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async close(): Promise<void> {
    await this.#joined?.reflector.stop()
  }

  /** Resolves when it is known which there are. */
  whenKnown(): Promise<void> {
    return this.#known.promise
  }

  /** Whether it is known which there are. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  /** Those that have a namespace. */
  *values(): Generator<Fact> {
    for (const fact of this.#joined?.sight.values() ?? []) if (hasNamespace(fact)) yield fact
  }

  get(name: string): Fact | undefined {
    return this.#joined?.sight.get(name)
  }

  /** Whether this is a tenant, whose apps are those of a group of its name. */
  isServed(name: string): boolean {
    const fact = this.get(name)
    return fact !== undefined && isServed(fact)
  }

  /** Milliseconds since the watch has heard something; undefined without one. */
  silenceMs(): number | undefined {
    return this.#joined?.reflector.lastWordAgeMs()
  }

  async #round(signal: AbortSignal): Promise<Rest> {
    if (this.#joined) return { ms: discoveryMs }
    const isDefined = await this.#isDefined(signal)
    if (isDefined) await this.#follow(signal)
    this.#isKnown = true
    this.#known.resolve()
    return { ms: discoveryMs }
  }

  async #isDefined(signal: AbortSignal): Promise<boolean> {
    const { apiVersion, kind } = tenantWatch
    try {
      const body = (await this.#options.kube.request('GET', `/apis/${apiVersion}`, undefined, { signal })) as {
        readonly resources?: readonly { readonly kind?: string }[]
      }
      return body.resources?.some(each => each.kind === kind) ?? false
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return false
      throw error
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { join, onFollowed, onTenant, log } = this.#options
    const joined = join()
    joined.sight.on(({ name }) => onTenant(name))
    joined.reflector.start()
    try {
      await joined.reflector.whenSynced(signal)
    } catch (error) {
      await joined.reflector.stop()
      throw error
    }
    this.#joined = joined
    log.info({}, 'LNamespaces are groups of apps')
    for (const { ref } of this.values()) onTenant(ref.name)
    onFollowed(joined.sight)
  }
}
