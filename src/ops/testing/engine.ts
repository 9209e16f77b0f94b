/** For tests: an engine with fakes around it. */
import { Registry } from 'prom-client'
import { onTestFinished, vi } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { Listeners } from '../../base/listeners.ts'
import { Slots } from '../../base/slots.ts'
import type { Lease } from '../../leases/leases.ts'
import type { Claim } from '../../store/claims.ts'
import type { OperationFields, OperationRecord } from '../../store/records.ts'
import type { Ring } from '../../store/rings.ts'
import { createLogger } from '../../telemetry/log.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { Engine, type EngineOptions, type Run } from '../engine.ts'
import { redisMs } from './cluster.ts'
import { recordOf, settled } from './run.ts'

export const op = 7
export const beyondMs = 1_000_000

/**
 * An engine whose operations end once the test answers their last script. `others`: users whose lease another has;
 * `orphans`: operations whose owner has ended; `unclaimed`, `unmade`: the error of the claim, or of making the run, by user; `held`: when leases are answered for.
 */
export function makeEngine({
  kind = 'lab',
  places = 2,
  waiting = [] as string[],
  orphans = [] as string[],
  shares = false,
  others = [] as string[],
  room = new Slots(places),
  held = Promise.resolve(),
  unclaimed = {} as Record<string, Error>,
  unmade = {} as Record<string, Error>,
}) {
  const clock = new ManualClock()
  const bell = new Listeners<Ring>()
  const looks: number[] = []
  /** Subjects whose operation has an owner that extends its lease. */
  const alive: string[] = []
  const claimed: string[] = []
  /** Leases that were dropped or given back. */
  const calls: string[] = []
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const ends = new Map<string, PromiseWithResolvers<void>>()
  const owners = {
    look: async (limit: number, all: boolean) => {
      looks.push(limit)
      const listed = waiting.slice(0, limit).map(name => ({ name, op }))
      const ended = orphans.map(name => ({ name, beat: 0 }))
      const owned = all ? [...ended, ...alive.map(name => ({ name, beat: redisMs + 1 }))] : ended
      return { nowMs: redisMs, all, waiting: listed, owned, overdue: [] }
    },
    free: async () => {},
    claim: async (name: string) => {
      claimed.push(name)
      if (unclaimed[name]) throw unclaimed[name]
      for (const list of [waiting, orphans]) if (list.includes(name)) list.splice(list.indexOf(name), 1)
      ends.set(name, Promise.withResolvers())
      return { record: recordOf({ op }), remainingMs: 60_000, nowMs: redisMs, foundOp: 0 }
    },
  }
  const leases = {
    acquire: async (user: string) => {
      await held
      return others.includes(user) ? null : { token: 't', sinceMs: 0 }
    },
    keep: (ownership: object) => ({ ...ownership, signal: new AbortController().signal, check: () => {} }),
    drop: ({ name }: Lease) => void calls.push(`drop ${name}`),
    giveBack: async (name: string) => void calls.push(`give back ${name}`),
    superseded: () => {},
  }
  const announce = vi.fn()
  const createRun = (claim: Claim<OperationRecord>, { name }: Lease, taken: number): Run => {
    if (unmade[name]) throw unmade[name]
    return {
      op: claim.record.op,
      run: async () => {
        const isOver = await ends.get(name)!.promise.then(
          () => true,
          () => false,
        )
        room.leave(taken)
        return isOver
      },
      handOver: () => ends.get(name)!.reject(new Error('handed over')),
    }
  }
  const engine = new Engine({
    ...{ kind, owners, leases, createRun, clock, room, shares, ttlMs: 10_000, scanIntervalMs: beyondMs },
    ...{ bell: { on: bell.add.bind(bell) }, acceptance: { announce, pause: async () => {} } },
    ...{ log: createLogger({ level: 'info', replica: 'r', destination }), metrics: createMetrics(new Registry()) },
  } as unknown as EngineOptions<OperationRecord, OperationFields>)
  onTestFinished(() => engine.drain())
  const start = async () => {
    engine.start()
    await settled()
  }
  const end = async (user: string, error?: Error) => {
    if (error) ends.get(user)!.reject(error)
    else ends.get(user)!.resolve()
    await settled()
  }
  const ring = async (
    what: 'accepted' | 'events' | 'released' | 'activity',
    name: string,
    ringOp = op,
    ofKind = kind,
  ) => {
    bell.notify({ what, subject: { kind: ofKind, name }, op: ringOp })
    await settled()
  }
  const pass = async (ms: number) => {
    clock.advance(ms)
    await settled()
  }
  return {
    start,
    end,
    ring,
    pass,
    looks,
    claimed,
    waiting,
    orphans,
    owned: alive,
    room,
    engine,
    announce,
    calls,
    lines,
  }
}
