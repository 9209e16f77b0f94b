/** The client's side of toys: accepts operations and reads their events, by the scripts that accept those of labs. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/base/clock.ts'
import type { LabEvent } from '../../../src/base/domain.ts'
import { RetryLater } from '../../../src/base/errors.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { Bell } from '../../../src/store/bell.ts'
import { Connection } from '../../../src/store/connection.ts'
import type { Family } from '../../../src/store/family.ts'
import { Keys } from '../../../src/store/keys.ts'
import { OperationStore } from '../../../src/store/operations.ts'
import { Sealer } from '../../../src/store/sealing.ts'
import { StreamReader } from '../../../src/store/streams.ts'
import type { LogLine } from '../evidence/evidence.ts'
import { type RecordedCall, Recorder } from '../evidence/recorder.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { acceptRemoval, acceptToy } from './accept.ts'
import { type ToyPlan, toy, toyForm } from './context.ts'

const mostTries = 5
/** The name of this client in logs and histories. Its requests are recorded as those of labs, for the judge of labs. */
const clientName = 'test'

/** The end of an operation, as a client saw it. */
export interface Ended {
  readonly op: number
  readonly outcome: string
  readonly events: readonly LabEvent[]
}

export class Toys {
  readonly family: Family
  readonly recorder: Recorder
  /** The acceptances, as a replica would log them. */
  readonly lines: LogLine[] = []
  readonly #connection: Connection
  readonly #bell: Bell
  readonly #reader: StreamReader
  readonly #store: OperationStore
  readonly #sealer: Sealer
  #count = 0

  constructor(fleet: Fleet) {
    const { redis, keyPrefix: prefix, stateDir, terms } = fleet
    const config = configSchema.shape.redis.parse({ url: redis.programUrl, keyPrefix: prefix })
    this.#connection = new Connection({ config, clock: systemClock })
    this.#connection.open()
    const keys = new Keys(prefix)
    this.family = keys.family(toy)
    this.#sealer = new Sealer([Buffer.from(readFileSync(join(stateDir, 'sealing.key'), 'utf8'), 'base64')])
    this.#store = new OperationStore({
      connection: this.#connection,
      keys,
      family: this.family,
      form: toyForm,
      retention: { tombstoneMs: 600_000, idempotencyMs: 600_000, eventsMs: 1_800_000 },
      sealing: { ids: this.#sealer.ids, keepMs: 3 * terms.ttlMs, idleMs: terms.ttlMs + terms.scanMs },
    })
    this.#bell = new Bell(this.#connection, keys.bell, systemClock)
    void this.#bell.listen()
    this.#reader = new StreamReader(this.#bell, systemClock)
    this.recorder = new Recorder(join(stateDir, 'log', 'toys'))
  }

  /** A name that no toy has yet. */
  name(): string {
    this.#count += 1
    return `t${this.#count}`
  }

  close(): void {
    this.#bell.close()
    this.#connection.close()
  }

  async create(name: string, plan: ToyPlan): Promise<number> {
    const nonce = randomUUID()
    const call = this.recorder.call({ by: clientName, method: 'POST', path: `labs/${name}/create`, url: clientName })
    const accepted = await answered(call, 303, () =>
      acceptToy({ operations: this.#store, sealer: this.#sealer }, name, plan, nonce),
    )
    if (accepted.answer !== 'accepted') throw new Error(`the toy ${name} was not accepted: ${accepted.answer}`)
    return this.#accepted(name, 'create', accepted.op)
  }

  /** @returns the op; undefined if there is no such toy */
  async delete(name: string): Promise<number | undefined> {
    const call = this.recorder.call({ by: clientName, method: 'DELETE', path: `labs/${name}`, url: clientName })
    const nonce = randomUUID()
    const accepted = await answered(call, 202, () =>
      acceptRemoval({ operations: this.#store, sealer: this.#sealer }, name, nonce),
    )
    if (!accepted || accepted.answer === 'joined') return accepted?.op
    return this.#accepted(name, 'delete', accepted.op)
  }

  /** Follows the current operation of a toy to its end. */
  async follow(name: string, limitMs = 120_000): Promise<Ended> {
    const signal = AbortSignal.timeout(limitMs)
    const lost: LabEvent = { event: 'failed', data: 'The record of this operation was lost' }
    const stream = this.#store.stream(name)
    const feed = await patiently(() => this.#reader.open({ stream, lastEventId: undefined, lost }))
    if (feed === null || feed === 'ended') throw new Error(`no stream of ${name}`)
    const record = this.recorder.stream({ user: name, url: clientName, status: 200 })
    const events: LabEvent[] = []
    for await (const batch of feed.read(signal)) {
      for (const event of batch) record.event(event)
      events.push(...batch)
    }
    record.ended('closed')
    const last = events.at(-1)!
    if (signal.aborted) throw new Error(`${name} has not ended after ${limitMs} ms: ${last.data}`)
    return { op: Number(last.id?.split('-')[0] ?? 0), outcome: last.event, events }
  }

  #accepted(name: string, kind: 'create' | 'delete', op: number): number {
    this.lines.push({ msg: 'operation accepted', replica: clientName, atMs: Date.now(), user: name, op, kind })
    return op
  }
}

/** Redis may be slow to answer on a busy machine: the same command is sent again, with its nonce, so it counts once. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof RetryLater) || tries === mostTries) throw error
    }
  }
}

async function answered<T>(call: RecordedCall, status: number, ask: () => Promise<T>): Promise<T> {
  try {
    const answer = await patiently(ask)
    call.answered(answer === null ? 404 : status, undefined)
    return answer
  } catch (error) {
    call.broke()
    throw error
  }
}
