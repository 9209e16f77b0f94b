import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import type { LabEvent } from '../../base/domain.ts'
import type { Ring } from '../../store/bell.ts'
import type { EventsRead } from '../../store/labs.ts'
import { Feeds } from './feeds.ts'

const op = 7

/** A stream of one operation, and the bell that tells of it. */
class FakeStream {
  readonly clock = new ManualClock()
  readonly events: LabEvent[] = []
  ended = false
  answers = true
  readings = 0
  /** Readings answer with what there was when they began, once this resolves. */
  gate: Promise<void> = Promise.resolve()
  #listener: (ring: Ring) => void = () => {}
  readonly feeds: Feeds

  constructor() {
    const bell = { on: (listener: (ring: Ring) => void) => (this.#listener = listener) }
    const labs = {
      events: (_user: string, _op: number | undefined, after: number, limit: number) => this.#read(after, limit),
    }
    this.feeds = new Feeds(labs as never, bell as never, this.clock)
  }

  add(event: LabEvent['event']): void {
    this.events.push({ id: `${op}-${this.events.length + 1}`, event, data: event })
    this.ended = event === 'complete'
  }

  ring(what: 'events' | 'ended', user = 'ada'): void {
    this.#listener({ what, user, op })
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms)
    await settled()
  }

  async follow() {
    const feed = await this.feeds.open('ada', undefined)
    if (feed === null || feed === 'ended') throw new Error('no stream')
    return feed.read(new AbortController().signal)[Symbol.asyncIterator]()
  }

  async #read(after: number, limit: number): Promise<EventsRead> {
    this.readings += 1
    if (!this.answers) throw new Error('Redis does not answer')
    const events = this.events.slice(after, after + limit)
    const lastSeq = after + events.length
    const more = lastSeq < this.events.length
    const ended = this.ended && !more
    await this.gate
    return { found: true, op, ended, lastSeq, events, ...(more && { more }) }
  }
}

/** Lets everything happen that waits for no time. */
const settled = () => new Promise(resolve => setImmediate(resolve))

async function followed() {
  const stream = new FakeStream()
  stream.add('info')
  const batches = await stream.follow()
  expect((await batches.next()).value).toHaveLength(1)
  const next = batches.next()
  await settled()
  return { stream, batches, next }
}

describe('Feeds', () => {
  test('a long stream is read in parts, each when the one before it was taken', async () => {
    const stream = new FakeStream()
    for (let i = 0; i < 299; i++) stream.add('info')
    stream.add('complete')
    const batches = await stream.follow()
    const sizes = []
    for (let batch = await batches.next(); !batch.done; batch = await batches.next()) {
      sizes.push(batch.value.length)
      expect(stream.readings).toBe(sizes.length)
    }
    expect(sizes).toEqual([128, 128, 44])
  })

  test('what is told in the midst of an operation is read together', async () => {
    const { stream, next } = await followed()
    for (let i = 0; i < 5; i++) {
      stream.add('progress')
      stream.ring('events')
      await settled()
    }
    expect(stream.readings).toBe(1)
    await stream.pass(250)
    expect((await next).value).toHaveLength(5)
    expect(stream.readings).toBe(2)
  })

  test('the end is read at once, with what was not read before it', async () => {
    const { stream, next } = await followed()
    stream.add('progress')
    stream.ring('events')
    stream.add('complete')
    stream.ring('ended')
    expect((await next).value).toHaveLength(2)
  })

  test('what happened while nobody listened yet is found without a ring', async () => {
    const stream = new FakeStream()
    stream.add('info')
    const batches = await stream.follow()
    stream.add('complete')
    await batches.next()
    const next = batches.next()
    await settled()
    await stream.pass(250)
    expect((await next).value).toHaveLength(1)
  })

  test('what is rung while a reading is under way is read by the next one', async () => {
    const { stream, batches, next } = await followed()
    const gate = Promise.withResolvers<void>()
    stream.gate = gate.promise
    stream.add('progress')
    await stream.pass(250)
    stream.add('complete')
    stream.ring('events')
    gate.resolve()
    expect((await next).value).toHaveLength(1)
    const last = batches.next()
    await stream.pass(250)
    expect((await last).value).toHaveLength(1)
  })

  test('a ring for another user is no reason to read', async () => {
    const { stream } = await followed()
    await stream.pass(250)
    const { readings } = stream
    stream.ring('ended', 'grace')
    await settled()
    expect(stream.readings).toBe(readings)
  })

  test('while Redis does not answer it is asked every 2 s', async () => {
    const { stream, next } = await followed()
    stream.answers = false
    stream.add('complete')
    stream.ring('ended')
    await settled()
    stream.answers = true
    await stream.pass(2000)
    expect((await next).value).toHaveLength(1)
  })
})
