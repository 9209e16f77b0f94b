import { getEventListeners } from 'node:events'
import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ScriptedFeed } from '../../../test/kit/api/scripted-api.ts'
import { ManualClock } from '../../../test/kit/clock.ts'
import type { EventType, LabEvent } from '../../base/domain.ts'
import type { EventFeed } from '../../ops/labs/service.ts'
import { Alarms } from './alarms.ts'
import { EventPump, formatEvent, type StreamEnd } from './sse.ts'

const info = (seq: number, data = `step ${seq}`): LabEvent => ({ event: 'info', data, id: `7-${seq}` })

describe('formatEvent', () => {
  it('writes id, type and data', () => {
    expect(formatEvent(info(1))).toBe('id: 7-1\nevent: info\ndata: step 1\n\n')
  })

  it('writes no id when the event’s stream was lost', () => {
    expect(formatEvent({ event: 'failed', data: 'lost' })).toBe('event: failed\ndata: lost\n\n')
  })

  it('writes any data so that a reader gets the same', () => {
    const type = fc.constantFrom<EventType>('complete', 'error', 'failed', 'info', 'progress')
    const data = fc
      .array(fc.constantFrom('a', ' ', ':', '\n', '\r', '\r\n', 'data: x', 'é', '\0'))
      .map(it => it.join(''))
    fc.assert(
      fc.property(type, data, (event, data) => {
        const seen: LabEvent[] = []
        const parser = createParser({ onEvent: ({ event, data, id }) => seen.push({ event, data, id } as LabEvent) })
        parser.feed(formatEvent({ event, data, id: '7-1' }))
        expect(seen).toEqual([{ event, data: data.replace(/\r\n|\r/g, '\n'), id: '7-1' }])
      }),
    )
  })
})

const heartbeatMs = 15_000
const writeTimeoutMs = 10_000

function pumpOf(feed: EventFeed, sever?: () => void) {
  const clock = new ManualClock()
  const ended = Promise.withResolvers<{ end: StreamEnd; error?: unknown }>()
  const onEnd = (end: StreamEnd, error?: unknown) => ended.resolve({ end, error })
  const silence = new Alarms(clock, heartbeatMs)
  const patience = new Alarms(clock, writeTimeoutMs)
  const pump = new EventPump(feed, { silence, patience, onEnd, sever })
  const reader = pump.start().getReader()
  const read = async () => {
    const { done, value } = await reader.read()
    return done ? 'done' : new TextDecoder().decode(value)
  }
  return { clock, pump, reader, read, ended: ended.promise }
}

describe('EventPump', () => {
  it('sends the retry time, then batches in order, and ends with the operation', async () => {
    const { read, ended } = pumpOf(new ScriptedFeed().push(info(1), info(2)).push(info(3)).end())
    expect(await read()).toBe('retry: 1000\n')
    expect(await read()).toBe(formatEvent(info(1)) + formatEvent(info(2)))
    expect(await read()).toBe(formatEvent(info(3)))
    expect(await read()).toBe('done')
    expect((await ended).end).toBe('complete')
  })

  it('sends a comment after each silence, and events after it', async () => {
    const feed = new ScriptedFeed()
    const { clock, read } = pumpOf(feed)
    await read()
    for (let round = 0; round < 2; round++) {
      const next = read()
      await clock.whenSleeping(heartbeatMs)
      clock.advance(heartbeatMs)
      expect(await next).toBe(':\n\n')
    }
    feed.push(info(1))
    expect(await read()).toBe(formatEvent(info(1)))
  })

  it('sends the same bytes to all readers of a batch', async () => {
    const batch = [info(1), info(2)]
    const feed: EventFeed = {
      async *read() {
        yield batch
      },
    }
    const readers = [1, 2].map(() => pumpOf(feed).reader)
    for (const reader of readers) await reader.read()
    const [one, other] = await Promise.all(readers.map(reader => reader.read()))
    expect(one!.value).toBe(other!.value)
  })

  it('takes no more than one batch ahead of its reader', async () => {
    const feed = new ScriptedFeed()
    for (let seq = 1; seq <= 100; seq++) feed.push(info(seq))
    const { clock, read } = pumpOf(feed)
    await read()
    await read()
    await clock.whenSleeping(writeTimeoutMs)
    expect(feed.taken).toBe(2)
  })

  it('cuts a reader that takes nothing, and closes the feed', async () => {
    let severed = 0
    const feed = new ScriptedFeed().push(info(1)).push(info(2))
    const { clock, read, ended } = pumpOf(feed, () => severed++)
    await read()
    await clock.whenSleeping(writeTimeoutMs)
    clock.advance(writeTimeoutMs - 1)
    expect(severed).toBe(0)
    clock.advance(1)
    expect((await ended).end).toBe('cut')
    expect([severed, feed.signal?.aborted]).toEqual([1, true])
  })

  it('fails the stream of a reader to cut when there is no connection', async () => {
    const { clock, reader, ended } = pumpOf(new ScriptedFeed().push(info(1)))
    await clock.whenSleeping(writeTimeoutMs)
    clock.advance(writeTimeoutMs)
    expect((await ended).end).toBe('cut')
    await expect(reader.read()).rejects.toThrow('event stream cut')
  })

  it('ends cleanly on stop, also with a reader that does not read', async () => {
    for (const reads of [0, 1]) {
      const { pump, read, ended } = pumpOf(new ScriptedFeed())
      if (reads) await read()
      pump.stop()
      expect((await ended).end).toBe('stopped')
      expect(await read()).toBe('done')
    }
  })

  it('ends when the feed ignores its signal', async () => {
    const deaf: EventFeed = { read: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }) }
    const { pump, read, ended } = pumpOf(deaf)
    await read()
    pump.stop()
    expect((await ended).end).toBe('stopped')
  })

  it('closes the feed when its reader disconnects', async () => {
    const feed = new ScriptedFeed()
    const { clock, reader, read, ended } = pumpOf(feed)
    await read()
    await reader.cancel()
    expect((await ended).end).toBe('stopped')
    expect([feed.signal?.aborted, clock.sleeping]).toEqual([true, 0])
  })

  it('ignores an event that arrives while its reader disconnects', async () => {
    const next = Promise.withResolvers<IteratorResult<LabEvent[]>>()
    const feed: EventFeed = { read: () => ({ [Symbol.asyncIterator]: () => ({ next: () => next.promise }) }) }
    const { clock, reader, read, ended } = pumpOf(feed)
    await read()
    await clock.whenSleeping(heartbeatMs)
    void read()
    next.resolve({ value: [info(1)] })
    await reader.cancel()
    expect(await ended).toEqual({ end: 'stopped', error: undefined })
  })

  it('lets the feed clean up when its reader is cut with a batch in hand', async () => {
    const cleaned = Promise.withResolvers<void>()
    const feed: EventFeed = {
      read: async function* () {
        try {
          for (let seq = 1; ; seq++) yield [info(seq)]
        } finally {
          cleaned.resolve()
        }
      },
    }
    const { clock, read, ended } = pumpOf(feed, () => {})
    await read()
    await clock.whenSleeping(writeTimeoutMs)
    clock.advance(writeTimeoutMs)
    expect((await ended).end).toBe('cut')
    await cleaned.promise
  })

  it('ends cleanly when the feed fails, so that its client reconnects, and reports the error', async () => {
    const broken: EventFeed = {
      read: async function* () {
        yield [info(1)]
        throw new Error('Redis went away')
      },
    }
    const { read, ended } = pumpOf(broken)
    expect([await read(), await read(), await read()]).toEqual(['retry: 1000\n', formatEvent(info(1)), 'done'])
    expect(await ended).toMatchObject({ end: 'failed', error: { message: 'Redis went away' } })
  })

  it('handles a failure of the feed while it is being stopped', async () => {
    // An unhandled rejection would end the process, and this run with it.
    const next = () => {
      stream.pump.stop()
      return Promise.reject(new Error('too late'))
    }
    const stream = pumpOf({ read: () => ({ [Symbol.asyncIterator]: () => ({ next }) }) })
    await stream.read()
    expect((await stream.ended).end).toBe('stopped')
    await new Promise(setImmediate)
  })

  it('does not accumulate listeners', async () => {
    const feed = new ScriptedFeed()
    for (let seq = 1; seq <= 20; seq++) feed.push(info(seq))
    const { read } = pumpOf(feed)
    for (let count = 0; count < 20; count++) await read()
    // One of the feed, one of the current wait.
    expect(getEventListeners(feed.signal!, 'abort').length).toBeLessThanOrEqual(2)
  })
})
