/** Tests of the reader of streams, and of labs' events. */
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import type { LabEvent } from '../../base/domain.ts'
import { RetryLater } from '../../base/errors.ts'
import { labOf } from '../../base/subject.ts'
import type { Ring } from '../../store/rings.ts'
import { type EventStream, type StreamRead, StreamReader } from '../../store/streams.ts'
import { Feeds } from './feeds.ts'

const series = 7

/** A stream of one series, and its bell. Each event is its text: the reader does not interpret events. */
class FakeStream<Event = string> implements EventStream<Event> {
  readonly subject = labOf('ada')
  readonly clock = new ManualClock()
  readonly events: Event[] = []
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

  add(event: Event): void {
    this.events.push(event)
    this.ended = event === 'end'
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

  open(lastEventId?: string, signal?: AbortSignal) {
    return this.reader.open({ stream: this, lastEventId, lost: 'lost' as Event, signal })
  }

  /** Opens another lab's stream with the same events. */
  openOf(name: string) {
    const stream = { subject: labOf(name), read: this.read.bind(this) }
    return this.reader.open({ stream, lastEventId: undefined, lost: 'lost' as Event })
  }

  async follow(signal = new AbortController().signal, name = 'ada') {
    const feed = await this.openOf(name)
    if (feed === null || feed === 'ended') throw new Error('no stream')
    return feed.read(signal)[Symbol.asyncIterator]()
  }

  async read(of: number | undefined, after: number, limit = 1000): Promise<StreamRead<Event>> {
    this.readings += 1
    if (!this.answers) throw new RetryLater('Redis does not answer')
    if (!this.found || (of !== undefined && of !== series)) return { found: false }
    const events = this.events.slice(after, after + limit)
    const lastSeq = after + events.length
    const more = lastSeq < this.events.length
    const ended = this.ended && !more
    await this.gate
    return { found: true, series, ended, lastSeq, events, ...(more && { more }) }
  }
}

/** Runs all pending work that waits for no timer: a reading begins a turn of the event loop after it was asked for. */
const settled = async () => {
  for (let turn = 0; turn < 3; turn++) await new Promise(resolve => setImmediate(resolve))
}

/** Names of labs. */
const labs = (count: number) => Array.from({ length: count }, (_, i) => `lab-${i}`)

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

  test('makes one reading at once for clients that catch up, and others beside it', async () => {
    const { stream, next } = await followed()
    const { readings } = stream
    const gate = Promise.withResolvers<void>()
    stream.gate = gate.promise
    const opened = labs(10).map(name => stream.openOf(name))
    await settled()
    expect(stream.readings - readings).toBe(1)
    stream.add('end')
    stream.ringLab('ended')
    await settled()
    expect(stream.readings - readings).toBe(2)
    gate.resolve()
    expect(await Promise.all(opened)).not.toContain(null)
    expect((await next).value).toEqual(['end'])
    expect(stream.readings - readings).toBe(11)
  })

  test('counts each part of a long stream as a client that catches up', async () => {
    const stream = new FakeStream()
    for (let i = 0; i < 40; i++) stream.add('more')
    const clients = await Promise.all(labs(10).map(name => stream.follow(undefined, name)))
    for (const batches of clients) await batches.next()
    stream.gate = new Promise(() => {})
    const { readings } = stream
    for (const batches of clients) void batches.next()
    await settled()
    expect(stream.readings - readings).toBe(1)
  })

  test('makes thirty-two readings at once when the bell rings for all', async () => {
    const stream = new FakeStream()
    stream.add('begun')
    for (const name of labs(50)) {
      const batches = await stream.follow(undefined, name)
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
    const opened = await Promise.allSettled(labs(10).map(name => stream.openOf(name)))
    expect(opened.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 'rejected'))
    expect(stream.readings).toBe(1)
    stream.answers = true
    expect(await Promise.all(labs(10).map(name => stream.openOf(name)))).not.toContain(null)
  })

  test('reads nothing for a client that leaves while another opens its stream', async () => {
    const stream = new FakeStream()
    stream.add('begun')
    const gate = Promise.withResolvers<void>()
    stream.gate = gate.promise
    const other = stream.openOf('other')
    const client = new AbortController()
    const opened = stream.open(undefined, client.signal)
    await settled()
    const reason = new Error('left')
    client.abort(reason)
    await expect(opened).rejects.toBe(reason)
    gate.resolve()
    await other
    expect(stream.readings).toBe(1)
  })

  test('gives one reading to clients of a stream that open it together, and to its followers', async () => {
    const stream = new FakeStream()
    stream.add('begun')
    const clients = await Promise.all(Array.from({ length: 20 }, () => stream.follow()))
    const first = await Promise.all(clients.map(batches => batches.next()))
    expect(stream.readings).toBe(1)
    expect(new Set(first.map(({ value }) => value)).size).toBe(1)
    const next = clients.map(batches => batches.next())
    await settled()
    stream.add('end')
    stream.ringLab('ended')
    for (const { value } of await Promise.all(next)) expect(value).toEqual(['end'])
    expect(stream.readings).toBe(2)
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

  test('reads an event at once when the last reading was 400 ms ago', async () => {
    const { stream, next } = await followed()
    await stream.pass(400)
    stream.add('more')
    stream.ringLab('events')
    expect((await next).value).toEqual(['more'])
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
    const stream = new FakeStream<LabEvent>()
    stream.add({ id: `${series}-1`, event: 'info', data: 'begun' })
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
