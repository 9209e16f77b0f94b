import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { setFailpoint } from '../../../src/base/failpoint.ts'
import { Slots } from '../../../src/base/slots.ts'
import type { Lease } from '../../../src/leases/leases.ts'
import { noAudit } from '../../../src/ops/audit.ts'
import { Owned, type RunOptions } from '../../../src/ops/owned.ts'
import { OperationRun } from '../../../src/ops/run.ts'
import type { Claim } from '../../../src/store/claims.ts'
import type { NewEvent } from '../../../src/store/records.ts'
import { Sealer } from '../../../src/store/sealing.ts'
import { silentLogger } from '../../../src/telemetry/log.ts'
import { createMetrics } from '../../../src/telemetry/metrics.ts'
import { noTracing } from '../../../src/telemetry/tracing.ts'
import { clientOf } from './client.ts'
import { type ToyFields, type ToyPlan, type ToyRecord, type ToyShape, toyLimits } from './context.ts'
import { createSteps, removalSteps, toyKind } from './kind.ts'
import { ToyWorld } from './world.ts'

const name = 't1'
const op = 7
const sealer = new Sealer([Buffer.alloc(32, 1)])
let world: ToyWorld

beforeEach(async () => {
  world = await ToyWorld.start({ readyMs: 10, goneMs: 10 })
})
afterEach(async () => {
  setFailpoint(undefined)
  await world.stop()
})

/** The owner of the toy stops there for ever, as if it were killed. */
class Killed extends Error {}

const recordOf = (kind: 'create' | 'delete', plan: ToyPlan, number: number): ToyRecord => ({
  op: number,
  kind,
  status: kind === 'create' ? 'pending' : 'terminating',
  active: true,
  nonce: 'n',
  token: '',
  claims: 0,
  attempts: 0,
  acting: true,
  step: '',
  seq: 1,
  progress: 0,
  acceptedAtMs: 0,
  failedAtMs: 0,
  sealedPlan: sealer.seal(JSON.stringify(plan), `toy:${name}`, 'n'),
  failing: undefined,
  requestId: undefined,
  traceparent: undefined,
  homeUid: undefined,
  thingUid: undefined,
})

/** One operation on the toy, with the record that Redis would keep. `kill`: the owner dies at this failpoint, once. */
function operation(kind: 'create' | 'delete', plan: ToyPlan = { color: 'red' }, number = op) {
  let record = recordOf(kind, plan, number)
  const events: NewEvent[] = [['info', 'wished']]
  let outcome: string | undefined
  const write = async (_: unknown, __: number, news: readonly NewEvent[], fields: ToyFields) => {
    events.push(...news)
    record = { ...record, ...fields, seq: events.length } as ToyRecord
  }
  const owners = {
    commit: write,
    finish: async (by: unknown, seq: number, news: readonly NewEvent[], how: string, fields: ToyFields) => {
      await write(by, seq, news, fields)
      outcome = how
    },
    release: async () => {},
  }
  const options = {
    kind: toyKind(clientOf(world.url, 'r'), { ...toyLimits, longestRequestMs: 1_000 }),
    owners,
    streams: { events: async () => ({ found: true, events: events.map(([event, data]) => ({ event, data })) }) },
    sealer,
    clock: systemClock,
    room: new Slots(4),
    log: silentLogger(),
    metrics: createMetrics(new Registry()),
    tracing: noTracing,
    audit: noAudit,
  } as unknown as RunOptions<ToyShape>
  /** Claims it and runs it, to its end or to the death of its owner. */
  const run = async (kill?: string, remainingMs = 5_000) => {
    record = { ...record, claims: record.claims + 1, attempts: record.attempts + (record.acting ? 1 : 0) }
    const claim: Claim<ToyRecord> = {
      record,
      remainingMs,
      nowMs: 0,
      foundOp: 0,
      epoch: 10 * number + record.claims,
    }
    const { signal } = new AbortController()
    const lease: Lease = { name, op: number, token: 't', signal, check: () => {} }
    let dead = false
    setFailpoint(point => {
      if (point !== kill) return
      dead = true
      throw new Killed(point)
    })
    const isOver = await new OperationRun(new Owned(options, claim, lease, 0)).run()
    setFailpoint(undefined)
    expect([dead, isOver]).toEqual([kill !== undefined, kill === undefined])
    return { outcome, events, record }
  }
  return { run }
}

const made = (what: 'home' | 'thing') =>
  world.journal.filter(({ method, code, ...of }) => of.what === what && method === 'POST' && code === 201)

/** The failpoints of a list of steps, as a step passes them around its write, and around its script. */
const placesOf = (kind: string, names: readonly string[]) =>
  names.flatMap(step =>
    ['before-act', 'before-send', 'after-send', 'after-act', 'before-commit', 'after-commit'].map(
      place => `toy.${kind}.${step}.${place}`,
    ),
  )

/** The last one comes after the script, when there is nothing to repeat. */
const ends = (kind: string) => ['before-act', 'before-commit', 'after-act'].map(place => `toy.${kind}.finish.${place}`)

describe('the toy kind', () => {
  it('is made, and ends complete, when nothing fails', async () => {
    const { outcome, events, record } = await operation('create').run()
    expect(outcome).toBe('running')
    expect(events.at(-1)).toEqual(['complete', 'The toy t1 is as wished'])
    expect(world.home(name)).toMatchObject({
      uid: record.homeUid,
      op,
      thing: { uid: record.thingUid, op, state: 'ready' },
    })
  })

  it.each([...placesOf('create', ['home', 'thing']), ...ends('create').slice(0, 2), 'toy.create.owned'])(
    'is made once when its owner dies at %s',
    async point => {
      const { run } = operation('create')
      await run(point)
      const { outcome, events } = await run()
      expect(outcome).toBe('running')
      expect([made('home').length, made('thing').length]).toEqual([1, 1])
      expect(events.map(([, data]) => data)).toEqual([...new Set(events.map(([, data]) => data))])
    },
  )

  it.each([...placesOf('create', ['clean.home']), 'toy.create.fail.before-commit', ...ends('create').slice(0, 2)])(
    'is cleaned up after a failure when its owner dies at %s',
    async point => {
      const { run } = operation('create', { color: 'red', broken: true })
      await run(point)
      const { outcome, record } = await run()
      expect(outcome).toBe('failed')
      expect(record.failing).toBe('The toy is broken')
      expect(world.names).toEqual([])
    },
  )

  it.each([...placesOf('delete', ['home']), ...ends('delete').slice(0, 2), 'toy.delete.owned'])(
    'is removed when its owner dies at %s',
    async point => {
      await operation('create').run()
      const { run } = operation('delete', { color: 'red' }, op + 1)
      await run(point)
      expect((await run()).outcome).toBe('gone')
      expect(world.names).toEqual([])
    },
  )

  it('makes way for a newer operation, and lets no older owner write', async () => {
    await operation('create').run()
    await operation('create', { color: 'blue' }, op + 1).run()
    expect(world.home(name)).toMatchObject({ op: op + 1, thing: { op: op + 1 } })
    await operation('delete', { color: 'red' }, op - 1).run()
    expect(world.home(name)).toMatchObject({ op: op + 1, terminating: false })
  })

  it('ends failed, and says nothing of what remains, when the world does not answer any more', async () => {
    const { run } = operation('create')
    await world.stop()
    const { outcome, record, events } = await run(undefined, 300)
    expect(outcome).toBe('failed')
    expect(record).not.toHaveProperty('remains', op)
    expect(events.map(([event]) => event)).toEqual(['info', 'error', 'failed'])
    world = await ToyWorld.start()
  })

  it('has steps of these names, at which the attacks strike', () => {
    expect(createSteps.map(step => step.name)).toEqual(['clear', 'home', 'thing', 'ready'])
    expect(removalSteps('', 5, 90).map(step => step.name)).toEqual(['home', 'home-gone'])
  })
})

describe('the world of toys', () => {
  const ask = (epoch: number, method = 'POST') =>
    clientOf(world.url, 'r').ask(method, `homes/${name}`, {
      ...(method === 'POST' && { body: { op, name, color: 'red' } }),
      ...{ agent: `op=${op} claim=1`, epoch, signal: new AbortController().signal },
    })

  it('refuses a write when it has heard a higher epoch, and writes down both', async () => {
    expect((await ask(7)).code).toBe(201)
    expect((await ask(6)).code).toBe(412)
    expect((await ask(6, 'GET')).code).toBe(200)
    expect((await ask(7)).code).toBe(409)
    expect(world.journal.map(({ code, epoch }) => [code, epoch])).toEqual([
      [201, 7],
      [412, 6],
      [409, 7],
    ])
  })
})

describe('ToyWork', () => {
  it('tries again when the world refuses its epoch while its lease is valid', async () => {
    await clientOf(world.url, 'r').ask('DELETE', `homes/${name}`, {
      ...{ agent: `op=${op} claim=1`, epoch: Number.MAX_SAFE_INTEGER, signal: new AbortController().signal },
    })
    const { outcome } = await operation('create').run(undefined, 1_000)
    expect(outcome).toBe('failed')
    expect(world.journal.filter(({ code }) => code === 412).length).toBeLessThan(10)
  })
})
