import { Registry } from 'prom-client'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Fenced } from '../base/errors.ts'
import { Listeners } from '../base/listeners.ts'
import { Slots } from '../base/slots.ts'
import type { Lease } from '../leases/leases.ts'
import type { Claim } from '../store/owners.ts'
import type { OperationFields, OperationRecord } from '../store/records.ts'
import type { Ring } from '../store/rings.ts'
import { silentLogger } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { Engine, type EngineOptions, type Run } from './engine.ts'
import { redisMs } from './testing/cluster.ts'
import { recordOf, settled } from './testing/run.ts'

const op = 7
const beyondMs = 1_000_000
const engines: Engine[] = []

afterEach(async () => {
  await Promise.all(engines.splice(0).map(engine => engine.drain()))
})

/** An engine whose operations end once the test answers their last script. `others`: users whose lease another has. */
function makeEngine({ kind = 'lab', places = 2, waiting = [] as string[], others = [] as string[] }) {
  const clock = new ManualClock()
  const bell = new Listeners<Ring>()
  const looks: number[] = []
  const claimed: string[] = []
  const ends = new Map<string, PromiseWithResolvers<void>>()
  const owners = {
    look: async (limit: number, all: boolean) => {
      looks.push(limit)
      const listed = waiting.slice(0, limit).map(name => ({ name, op }))
      return { nowMs: redisMs, all, waiting: listed, owned: [], overdue: [] }
    },
    claim: async (name: string) => {
      claimed.push(name)
      waiting.splice(waiting.indexOf(name), 1)
      ends.set(name, Promise.withResolvers())
      return { record: recordOf({ op }), remainingMs: 60_000, nowMs: redisMs, foundOp: 0 }
    },
  }
  const leases = {
    acquire: async (user: string) => (others.includes(user) ? null : { token: 't', sinceMs: 0 }),
    keep: (ownership: object) => ({ ...ownership, signal: new AbortController().signal, check: () => {} }),
    drop: () => {},
    superseded: () => {},
  }
  const room = new Slots(places)
  const announce = vi.fn()
  const createRun = (claim: Claim<OperationRecord>, { name }: Lease, taken: number): Run => ({
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
  })
  const engine = new Engine({
    ...{ kind, owners, leases, createRun, clock, room, ttlMs: 10_000, scanIntervalMs: beyondMs },
    ...{ bell: { on: bell.add.bind(bell) }, acceptance: { announce, pause: async () => {} } },
    ...{ log: silentLogger(), metrics: createMetrics(new Registry()) },
  } as unknown as EngineOptions<OperationRecord, OperationFields>)
  engines.push(engine)
  const start = async () => {
    engine.start()
    await settled()
  }
  const end = async (user: string, error?: Error) => {
    if (error) ends.get(user)!.reject(error)
    else ends.get(user)!.resolve()
    await settled()
  }
  const ring = async (what: 'accepted' | 'events' | 'released', name: string, ringOp = op, ofKind = kind) => {
    bell.notify({ what, subject: { kind: ofKind, name }, op: ringOp })
    await settled()
  }
  const pass = async (ms: number) => {
    clock.advance(ms)
    await settled()
  }
  return { start, end, ring, pass, looks, claimed, waiting, room, engine, announce }
}

describe('Engine', () => {
  it('takes all operations for which there are slots after one look', async () => {
    const { start, looks, claimed, end } = makeEngine({ waiting: ['ada', 'bob'] })
    await start()
    expect(claimed).toEqual(['ada', 'bob'])
    expect(looks).toHaveLength(1)
    await end('ada')
    await end('bob')
  })

  it('announces what other replicas have accepted', async () => {
    const { start, ring, announce } = makeEngine({})
    await start()
    await ring('accepted', 'ada')
    await ring('events', 'ada')
    expect(announce).toHaveBeenCalledTimes(1)
  })

  it('does not look again when an operation has ended and the last look left nothing over', async () => {
    const { start, looks, end, engine } = makeEngine({ waiting: ['ada'] })
    await start()
    await end('ada')
    expect(engine.size).toBe(0)
    expect(looks).toHaveLength(1)
  })

  it('looks again when it has lost an operation', async () => {
    const { start, looks, end } = makeEngine({ waiting: ['ada'] })
    await start()
    await end('ada', new Fenced('moved on'))
    expect(looks).toHaveLength(2)
  })

  it('looks again when a slot comes free and the last look left operations over', async () => {
    const { start, claimed, end } = makeEngine({ places: 1, waiting: ['ada', 'bob'] })
    await start()
    expect(claimed).toEqual(['ada'])
    await end('ada')
    expect(claimed).toEqual(['ada', 'bob'])
    await end('bob')
  })

  it('looks at the end of an operation whose successor was accepted meanwhile, and not before', async () => {
    const { start, ring, pass, looks, claimed, waiting, end } = makeEngine({ waiting: ['ada'] })
    await start()
    waiting.push('ada')
    await ring('accepted', 'ada', op + 1)
    await pass(100)
    expect(looks).toHaveLength(1)
    await end('ada')
    expect(claimed).toEqual(['ada', 'ada'])
    await end('ada')
    expect(looks).toHaveLength(2)
  })

  it('does not look for a ring of the operation that it runs', async () => {
    const { start, ring, pass, looks, end } = makeEngine({ waiting: ['ada'] })
    await start()
    await ring('accepted', 'ada')
    await pass(130)
    await end('ada')
    expect(looks).toHaveLength(1)
  })

  it('looks once for an operation that it takes after its ring', async () => {
    const { start, ring, pass, looks, claimed, waiting, end, engine } = makeEngine({})
    await start()
    waiting.push('bob')
    await ring('accepted', 'bob')
    engine.wake()
    await settled()
    expect(claimed).toEqual(['bob'])
    await pass(130)
    expect(looks).toHaveLength(2)
    await end('bob')
  })

  it.each([
    ['accepted', 100, 130],
    ['released', 0, 15],
  ] as const)('looks for an operation that was %s after %d to %d ms', async (what, leastMs, mostMs) => {
    const { start, ring, pass, claimed, waiting, end } = makeEngine({})
    await start()
    waiting.push('bob')
    await ring(what, 'bob')
    await pass(leastMs - 1)
    expect(claimed).toEqual([])
    await pass(mostMs - leastMs + 1)
    expect(claimed).toEqual(['bob'])
    await end('bob')
  })

  it('does not look for an accepted operation whose owner was heard', async () => {
    const { start, ring, pass, looks } = makeEngine({})
    await start()
    await ring('accepted', 'bob')
    await ring('events', 'bob')
    await pass(130)
    expect(looks).toHaveLength(1)
  })

  it('looks when one of several accepted operations has no owner', async () => {
    const { start, ring, pass, claimed, waiting, end } = makeEngine({})
    await start()
    waiting.push('ada')
    await ring('accepted', 'bob')
    await pass(99)
    await ring('events', 'bob')
    await ring('accepted', 'ada')
    await pass(31)
    expect(claimed).toEqual(['ada'])
    await end('ada')
  })

  it('hears no ring of another kind, even about a subject of the same name', async () => {
    const { start, ring, pass, looks, end } = makeEngine({ kind: 'toy', waiting: ['ada'] })
    await start()
    await ring('accepted', 'ada', op + 1, 'lab')
    await ring('released', 'bob', op, 'lab')
    await pass(60)
    await end('ada')
    expect(looks).toHaveLength(1)
    await ring('released', 'bob')
    await pass(15)
    expect(looks).toHaveLength(2)
  })

  it('asks for more at once when others have all that were listed', async () => {
    const others = Array.from({ length: 20 }, (_, i) => `other-${i}`)
    const { start, claimed, looks, end } = makeEngine({ places: 1, waiting: [...others, 'ada'], others })
    await start()
    expect(claimed).toEqual(['ada'])
    expect(looks).toEqual([9, 18, 27])
    await end('ada')
  })
})
