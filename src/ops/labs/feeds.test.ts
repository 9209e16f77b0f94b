/** Tests of the reader of streams, and of labs' events. */
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import type { Entry } from '../../store/connection.ts'
import type { Ring } from '../../store/rings.ts'
import { type EventStream, type StreamRead, StreamReader } from '../../store/streams.ts'
import { Feeds } from './feeds.ts'

const series = 7
const subject = { kind: 'lab', name: 'ada' } as const

/** A stream of one series, and its bell. */
class FakeStream implements EventStream {
  readonly subject = subject
  readonly clock = new ManualClock()
  readonly entries: Entry[] = []
  ended = false
  answers = true
  found = true
  readings = 0
  /** Readings return the entries of their beginning once this resolves. */
  gate: Promise<void> = Promise.resolve()
  #listener: (ring: Ring) => void = () => {}
  readonly reader: StreamReader

  constructor() {
    const on = (listener: (ring: Ring) => void) => {
      this.#listener = listener
      return () => {}
    }
    this.reader = new StreamReader({ on }, this.clock)
  }

  add(text: string): void {
    this.entries.push([`${series}-${this.entries.length + 1}`, ['text', text]])
    this.ended = text === 'end'
  }

  ring(ring: Ring): void {
    this.#listener(ring)
  }

  ringLab(what: 'accepted' | 'events' | 'ended' | 'released', name = 'ada'): void {
    this.ring({ what, subject: { kind: 'lab', name } })
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms)
    await settled()
  }

  /** Each event is its text: the reader does not interpret entries. */
  open(lastEventId?: string, signal?: AbortSignal) {
    return this.reader.open({ stream: this, lastEventId, parse: ([, [, text]]) => text!, lost: 'lost', signal })
  }

  async follow(signal = new AbortController().signal) {
    const feed = await this.open()
    if (feed === null || feed === 'ended') throw new Error('no stream')
    return feed.read(signal)[Symbol.asyncIterator]()
  }

  async read(of: number | undefined, after: number, limit = 1000): Promise<StreamRead> {
    this.readings += 1
    if (!this.answers) throw new RetryLater('Redis does not answer')
    if (!this.found || (of !== undefined && of !== series)) return { found: false }
    const entries = this.entries.slice(after, after + limit)
    const lastSeq = after + entries.length
    const more = lastSeq < this.entries.length
    const ended = this.ended && !more
    await this.gate
    return { found: true, series, ended, lastSeq, entries, ...(more && { more }) }
  }
}

/** Runs all pending work that waits for no timer. */
const settled = () => new Promise(resolve => setImmediate(resolve))

async function followed() {
  const stream = new FakeStream()
  stream.add('begun')
  const batches = await stream.follow()
  expect((await batches.next()).value).toEqual(['begun'])
  const next = batches.next()
  await settled()
  return { stream, batches, next }
}

describe('StreamReader', () => {
  test('reads a long stream in parts, each after the previous one was consumed', async () => {
    const stream = new FakeStream()
    for (let i = 0; i < 69; i++) stream.add('more')
    stream.add('end')
    const batches = await stream.follow()
    const sizes = []
    for (let batch = await batches.next(); !batch.done; batch = await batches.next()) {
      sizes.push(batch.value.length)
      expect(stream.readings).toBe(sizes.length)
    }
    expect(sizes).toEqual([32, 32, 6])
  })

  test('makes four readings at once for clients that catch up, and others beside them', async () => {
    const { stream, next } = await followed()
    const { readings } = stream
    const gate = Promise.withResolvers<void>()
    stream.gate = gate.promise
    const opened = Array.from({ length: 10 }, () => stream.open())
    await settled()
    expect(stream.readings - readings).toBe(4)
    stream.add('end')
    stream.ringLab('ended')
    await settled()
    expect(stream.readings - readings).toBe(5)
    gate.resolve()
    expect(await Promise.all(opened)).not.toContain(null)
    expect((await next).value).toEqual(['end'])
    expect(stream.readings - readings).toBe(11)
  })

  test('counts each part of a long stream as a client that catches up', async () => {
    const stream = new FakeStream()
    for (let i = 0; i < 40; i++) stream.add('more')
    const clients = await Promise.all(Array.from({ length: 10 }, () => stream.follow()))
    for (const batches of clients) await batches.next()
    stream.gate = new Promise(() => {})
    const { readings } = stream
    for (const batches of clients) void batches.next()
    await settled()
    expect(stream.readings - readings).toBe(4)
  })

  test('makes thirty-two readings at once when the bell rings for all', async () => {
    const stream = new FakeStream()
    stream.add('begun')
    for (let i = 0; i < 50; i++) {
      const batches = await stream.follow()
      await batches.next()
      void batches.next()
    }
    await settled()
    stream.gate = new Promise(() => {})
    const { readings } = stream
    stream.ring({ what: 'missed' })
    await settled()
    expect(stream.readings - readings).toBe(32)
  })

  test('fails all clients that wait when Redis does not answer', async () => {
    const stream = new FakeStream()
    stream.add('begun')
    stream.answers = false
    const opened = await Promise.allSettled(Array.from({ length: 10 }, () => stream.open()))
    expect(opened.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 'rejected'))
    expect(stream.readings).toBe(4)
    stream.answers = true
    expect(await stream.open()).not.toBeNull()
  })

  test('reads nothing for a client that leaves while four others open their streams', async () => {
    const stream = new FakeStream()
    stream.add('begun')
    const gate = Promise.withResolvers<void>()
    stream.gate = gate.promise
    const others = Array.from({ length: 4 }, () => stream.open())
    const client = new AbortController()
    const opened = stream.open(undefined, client.signal)
    const reason = new Error('left')
    client.abort(reason)
    await expect(opened).rejects.toBe(reason)
    gate.resolve()
    await Promise.all(others)
    expect(stream.readings).toBe(4)
  })

  test('reads several events in the middle of a series at once', async () => {
    const { stream, next } = await followed()
    for (let i = 0; i < 5; i++) {
      stream.add('more')
      stream.ringLab('events')
      await settled()
    }
    expect(stream.readings).toBe(1)
    await stream.pass(400)
    expect((await next).value).toHaveLength(5)
    expect(stream.readings).toBe(2)
  })

  test('reads the end at once, with all unread events before it', async () => {
    const { stream, next } = await followed()
    stream.add('more')
    stream.ringLab('events')
    stream.add('end')
    stream.ringLab('ended')
    expect((await next).value).toEqual(['more', 'end'])
  })

  test('reads at once when a ring came between its first reading and its start', async () => {
    const stream = new FakeStream()
    stream.add('begun')
    const batches = await stream.follow()
    stream.add('end')
    stream.ringLab('ended')
    await batches.next()
    expect((await batches.next()).value).toEqual(['end'])
  })

  test.each(['accepted', 'released'] as const)('reads nothing for a ring without events: %s', async what => {
    const { stream } = await followed()
    stream.ringLab(what)
    await stream.pass(400)
    expect(stream.readings).toBe(1)
  })

  test('reads once more when a ring comes during a reading', async () => {
    const { stream, batches, next } = await followed()
    const gate = Promise.withResolvers<void>()
    stream.gate = gate.promise
    stream.add('more')
    stream.ringLab('events')
    await stream.pass(400)
    stream.add('end')
    stream.ringLab('events')
    gate.resolve()
    expect((await next).value).toHaveLength(1)
    const last = batches.next()
    await stream.pass(400)
    expect((await last).value).toHaveLength(1)
  })

  test('reads nothing for a ring about another subject', async () => {
    const { stream } = await followed()
    stream.ringLab('ended', 'grace')
    await stream.pass(400)
    expect(stream.readings).toBe(1)
  })

  test.each(['compared', 'missed'] as const)('reads at once when the bell rings for all: %s', async what => {
    const { stream, next } = await followed()
    stream.add('end')
    stream.ring({ what })
    expect((await next).value).toEqual(['end'])
  })

  test('asks every 2 s while Redis does not answer', async () => {
    const { stream, next } = await followed()
    stream.answers = false
    stream.add('end')
    stream.ringLab('ended')
    await settled()
    stream.answers = true
    await stream.pass(2000)
    expect((await next).value).toHaveLength(1)
  })

  test('continues after the event that a client names', async () => {
    const stream = new FakeStream()
    for (const text of ['begun', 'more', 'end']) stream.add(text)
    const feed = await stream.open(`${series}-1`)
    if (feed === null || feed === 'ended') throw new Error('no stream')
    const batches = feed.read(new AbortController().signal)[Symbol.asyncIterator]()
    expect((await batches.next()).value).toEqual(['more', 'end'])
    expect((await batches.next()).done).toBe(true)
  })

  test('has nothing for a client that has all events, and rejects a malformed id', async () => {
    const stream = new FakeStream()
    stream.add('end')
    expect(await stream.open(`${series}-1`)).toBe('ended')
    expect(await stream.open(`${series + 1}-1`)).toBe('ended')
    await expect(stream.open('1')).rejects.toMatchObject({ status: 400 })
    stream.found = false
    expect(await stream.open()).toBeNull()
  })

  test('ends with the event for lost streams when the stream is lost', async () => {
    const { stream, batches, next } = await followed()
    stream.found = false
    stream.ring({ what: 'missed' })
    expect((await next).value).toEqual(['lost'])
    expect((await batches.next()).done).toBe(true)
  })

  test('ends when the signal is aborted', async () => {
    const stream = new FakeStream()
    stream.add('begun')
    const done = new AbortController()
    const batches = await stream.follow(done.signal)
    await batches.next()
    const next = batches.next()
    await settled()
    done.abort()
    expect((await next).done).toBe(true)
  })
})

describe('Feeds', () => {
  test('returns the events of a lab, and an event without id when the stream was lost', async () => {
    const stream = new FakeStream()
    stream.entries.push([`${series}-1`, ['event', 'info', 'data', 'begun']])
    const asked: string[] = []
    const labs = {
      stream: (user: string) => {
        asked.push(user)
        return stream
      },
    }
    const feed = await new Feeds(labs, stream.reader).open('ada', undefined)
    if (feed === null || feed === 'ended') throw new Error('no stream')
    const batches = feed.read(new AbortController().signal)[Symbol.asyncIterator]()
    expect((await batches.next()).value).toEqual([{ id: '7-1', event: 'info', data: 'begun' }])
    const next = batches.next()
    await settled()
    stream.found = false
    stream.ringLab('ended')
    expect((await next).value).toEqual([{ event: 'failed', data: 'The record of this operation was lost' }])
    expect(asked).toEqual(['ada'])
  })
})
