/** How often one user may ask this replica: creates, other changes and reads, each by a bucket of its own. */
import { createMiddleware } from 'hono/factory'
import { Buckets } from '../buckets.ts'
import type { Clock } from '../clock.ts'
import type { Rates as RateConfig } from '../config/limits.ts'
import type { Identity } from '../domain.ts'
import { ApiError } from '../errors.ts'
import type { LabService } from '../ops/service.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { ApiEnv } from './env.ts'

export type RateKind = 'create' | 'change' | 'read'

export interface RatesParts {
  readonly rates: RateConfig
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly metrics: Pick<Metrics, 'requestsRefused'>
}

const words: Record<RateKind, string> = { create: 'creates', change: 'changes', read: 'reads' }

/** One of them serves a whole process. */
export class Rates {
  readonly #parts: RatesParts
  readonly #ordinary: Record<RateKind, Buckets>
  readonly #privileged: Record<RateKind, Buckets>
  readonly #privilegedUsers: ReadonlySet<string>

  constructor(parts: RatesParts) {
    this.#parts = parts
    this.#ordinary = bucketsOf(parts, 1)
    this.#privileged = bucketsOf(parts, parts.rates.privilegedFactor)
    this.#privilegedUsers = new Set(parts.rates.privilegedUsers)
  }

  /**
   * Counts one request of a caller.
   * @throws {ApiError} 429 with the time after which there is room for one again
   */
  take(kind: RateKind, caller: Identity): void {
    const waitMs = this.#bucketsOf(caller)[kind].take(caller.username)
    if (waitMs === 0) return
    this.#parts.metrics.requestsRefused.inc({ kind })
    const msg = `too many ${words[kind]} in a short time`
    throw new ApiError(429, { msg, type: 'too_often' }, { 'Retry-After': String(Math.ceil(waitMs / 1000)) })
  }

  /** A request turned out to cost nothing. */
  giveBack(kind: RateKind, caller: Identity): void {
    this.#bucketsOf(caller)[kind].giveBack(caller.username)
  }

  /** How many buckets are kept. */
  get size(): number {
    const all = [this.#ordinary, this.#privileged].flatMap(kinds => Object.values(kinds))
    return all.reduce((sum, { size }) => sum + size, 0)
  }

  /** Apart from each other: a provider may vouch for a scope on some routes only. */
  #bucketsOf({ username, scopes }: Identity): Record<RateKind, Buckets> {
    const isPrivileged = scopes.includes('admin:jupyterlab') || this.#privilegedUsers.has(username)
    return isPrivileged ? this.#privileged : this.#ordinary
  }
}

function bucketsOf({ rates, clock }: RatesParts, factor: number): Record<RateKind, Buckets> {
  const of = (count: number, seconds: number) => {
    return new Buckets({ perSecond: (count * factor) / seconds, burst: count * factor * rates.burst }, clock)
  }
  return {
    create: of(rates.createsPerMinute, 60),
    change: of(rates.changesPerMinute, 60),
    read: of(rates.readsPerSecond, 1),
  }
}

interface CreateRateParts {
  readonly rates: Rates
  readonly labs: Pick<LabService, 'remembers'>
  readonly maxKeyLength: number
}

/**
 * Counts a create before its body is read. A repeat under the same Idempotency-Key is free: its token is given back, and
 * without a token the key is looked up first. That look-up counts as a read.
 */
export function limitCreates({ rates, labs, maxKeyLength }: CreateRateParts) {
  return createMiddleware<ApiEnv>(async function limitCreates(c, next) {
    const caller = c.get('caller')
    const key = c.req.header('idempotency-key') ?? ''
    const hasKey = key !== '' && key.length <= maxKeyLength
    if (hasKey) rates.take('read', caller)
    try {
      rates.take('create', caller)
    } catch (error) {
      if (!hasKey || !(await labs.remembers(caller.username, key))) throw error
      return next()
    }
    c.set('onRepeated', () => rates.giveBack('create', caller))
    return next()
  })
}
