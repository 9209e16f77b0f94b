/** Limits how often one user may use this replica: creates, other changes and reads, each by its own bucket. */
import { createMiddleware } from 'hono/factory'
import { Buckets } from '../../base/buckets.ts'
import type { Clock } from '../../base/clock.ts'
import type { Identity } from '../../base/domain.ts'
import { ApiError } from '../../base/errors.ts'
import type { Limits, Rates as RateConfig } from '../../config/limits.ts'
import type { LabService } from '../../ops/labs/service.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { ApiEnv } from '../request/env.ts'
import { declaredBytes } from './body.ts'

export type UserRate = 'create' | 'change' | 'read'
type RateKind = UserRate | 'document'

export interface RatesParts {
  readonly rates: RateConfig
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly metrics: Pick<Metrics, 'requestsRefused'>
}

const words: Record<RateKind, string> = { create: 'creates', change: 'changes', read: 'reads', document: 'documents' }

/** One instance serves a whole process. */
export class Rates {
  readonly #parts: RatesParts
  readonly #ordinary: Record<UserRate, Buckets>
  readonly #privileged: Record<UserRate, Buckets>
  readonly #privilegedUsers: ReadonlySet<string>

  constructor(parts: RatesParts) {
    this.#parts = parts
    this.#ordinary = bucketsOf(parts, 1)
    this.#privileged = bucketsOf(parts, parts.rates.privilegedFactor)
    this.#privilegedUsers = new Set(parts.rates.privilegedUsers)
  }

  /**
   * Charges a request of a caller, or as many as it is worth.
   * @throws {ApiError} 429 with the time after which it is permitted
   */
  take(kind: UserRate, caller: Identity, amount = 1): void {
    const waitMs = this.#bucketsOf(caller)[kind].take(caller.username, amount)
    if (waitMs > 0) throw refused(kind, waitMs, this.#parts.metrics)
  }

  /** Refunds a request that was free. */
  giveBack(kind: UserRate, caller: Identity): void {
    this.#bucketsOf(caller)[kind].giveBack(caller.username)
  }

  /** Number of buckets. */
  get size(): number {
    const all = [this.#ordinary, this.#privileged].flatMap(kinds => Object.values(kinds))
    return all.reduce((sum, { size }) => sum + size, 0)
  }

  /** Whether a caller acts for many users, as a Hub does. */
  isPrivileged({ username, scopes }: Identity): boolean {
    return scopes.includes('admin:jupyterlab') || this.#privilegedUsers.has(username)
  }

  /** Separate for privileged callers: a provider may vouch for a scope on some routes only. */
  #bucketsOf(caller: Identity): Record<UserRate, Buckets> {
    return this.isPrivileged(caller) ? this.#privileged : this.#ordinary
  }
}

function bucketsOf({ rates, clock }: RatesParts, factor: number): Record<UserRate, Buckets> {
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
  readonly limits: Pick<Limits, 'maxIdempotencyKeyLength' | 'maxBodyBytes'>
}

/** A repeated body counts as one more read for each part of this size. */
const bytesPerRead = 8192

/**
 * Charges a create before its body is read. A repeat under the same Idempotency-Key is free: its token is returned, and
 * without a token the key is looked up first. Its body is read all the same, so it is charged as reads by its size.
 */
export function limitCreates({ rates, labs, limits }: CreateRateParts) {
  return createMiddleware<ApiEnv>(async function limitCreates(c, next) {
    const caller = c.get('caller')
    const key = c.req.header('idempotency-key') ?? ''
    const hasKey = key !== '' && key.length <= limits.maxIdempotencyKeyLength
    const bytes = Math.min(limits.maxBodyBytes, declaredBytes(c) ?? limits.maxBodyBytes)
    if (hasKey) rates.take('read', caller, Math.floor(bytes / bytesPerRead))
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

export type DocumentRate = ReturnType<typeof limitDocuments>

/** Charges requests without a token, all clients together, since they have no names. */
export function limitDocuments({ rates, clock, metrics }: RatesParts) {
  const perSecond = rates.documentsPerSecond
  const bucket = new Buckets({ perSecond, burst: perSecond * rates.burst }, clock)
  return createMiddleware<ApiEnv>(async function limitDocuments(_, next) {
    const waitMs = bucket.take('')
    if (waitMs > 0) throw refused('document', waitMs, metrics)
    await next()
  })
}

function refused(kind: RateKind, waitMs: number, { requestsRefused }: RatesParts['metrics']): ApiError {
  requestsRefused.inc({ kind })
  const msg = `too many ${words[kind]} in a short time`
  return new ApiError(429, { msg, type: 'too_often' }, { 'Retry-After': String(Math.ceil(waitMs / 1000)) })
}
