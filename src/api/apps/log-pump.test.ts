import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { noPod } from '../../appcontrol/problems.ts'
import { LogPump, type LogPumpOptions } from './log-pump.ts'

/** The log of a pod, which the test writes. */
class Source {
  paused = false
  member = true
  signal: AbortSignal | undefined
  onData: (chunk: Buffer) => void = () => {}
  readonly ended = Promise.withResolvers<void>()
  #pause(paused: boolean): void {
    this.paused = paused
  }

  readonly log = {
    app: 'a',
    mayRead: async () => this.member,
    open: async (signal: AbortSignal) => {
      this.signal = signal
      signal.addEventListener('abort', () => this.ended.reject(signal.reason))
      return {
        stream: (onData: (chunk: Buffer) => void) => {
          this.onData = onData
          return this.ended.promise
        },
        pause: () => this.#pause(true),
        resume: () => this.#pause(false),
      }
    },
  }
}

let clock: ManualClock
let source: Source
let ends: string[]
let severed: number
beforeEach(() => {
  ;[clock, source, ends, severed] = [new ManualClock(), new Source(), [], 0]
  source.ended.promise.catch(() => {})
})

async function pumping(more: Partial<LogPumpOptions> = {}) {
  const pump = new LogPump(source.log, {
    ...{ clock, draining: undefined, maxBytes: 1_000_000, maxMs: 50_000, patienceMs: 10_000 },
    ...{ sever: () => void severed++, onEnd: end => void ends.push(end), ...more },
  })
  await pump.opened
  return { pump, reader: pump.readable.getReader() }
}
const large = Buffer.alloc(70_000, 'x')

describe('LogPump', () => {
  it('passes bytes on as they come, in copies, and ends with the log', async () => {
    const { reader } = await pumping()
    const chunk = Buffer.from('one\n')
    source.onData(chunk)
    chunk.fill('?')
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('one\n')
    source.ended.resolve()
    expect((await reader.read()).done).toBe(true)
    expect([ends, severed]).toEqual([['complete'], 0])
  })

  it('stops the log while its reader takes nothing, and goes on with it', async () => {
    const { reader } = await pumping()
    source.onData(large)
    expect(source.paused).toBe(true)
    await reader.read()
    // It asks for more once there is room.
    await Promise.resolve()
    expect(source.paused).toBe(false)
    clock.advance(10_000)
    expect(ends).toEqual([])
  })

  it('cuts a reader that takes nothing', async () => {
    await pumping()
    source.onData(large)
    clock.advance(10_000)
    await expect(source.ended.promise).rejects.toThrow()
    expect([ends, severed, source.signal!.aborted]).toEqual([['cut'], 1, true])
  })

  it('cuts a log that is too large, so that nobody takes the part for the whole', async () => {
    const { reader } = await pumping({ maxBytes: 7 })
    source.onData(Buffer.from('1234567'))
    source.onData(Buffer.from('8'))
    await expect(reader.read()).rejects.toThrow('log cut')
    expect([ends, severed, source.signal!.aborted]).toEqual([['cut'], 1, true])
  })

  it('ends after its time, and when the replica ends', async () => {
    const draining = new AbortController()
    const { reader } = await pumping({ draining: draining.signal })
    draining.abort()
    expect((await reader.read()).done).toBe(true)
    source = new Source()
    source.ended.promise.catch(() => {})
    const other = await pumping()
    clock.advance(50_000)
    expect((await other.reader.read()).done).toBe(true)
    expect([ends, severed]).toEqual([['stopped', 'stopped'], 0])
  })

  it('stops once its reader may not read it any more', async () => {
    const { reader } = await pumping({ maxMs: 3_600_000 })
    clock.advance(60_000)
    await new Promise(resolve => setImmediate(resolve))
    expect(ends).toEqual([])
    source.member = false
    clock.advance(60_000)
    expect((await reader.read()).done).toBe(true)
    expect([ends, severed, source.signal!.aborted]).toEqual([['stopped'], 0, true])
  })

  it('cuts the connection when the log breaks, and ends it when the reader leaves', async () => {
    const { reader } = await pumping()
    source.ended.reject(new Error('ECONNRESET'))
    await expect(reader.read()).rejects.toThrow('log cut')
    source = new Source()
    source.ended.promise.catch(() => {})
    const other = await pumping()
    await other.reader.cancel()
    expect([ends, severed, source.signal!.aborted]).toEqual([['failed', 'left'], 1, true])
  })

  it('tells why a log cannot be opened', async () => {
    source.log.open = async () => {
      throw noPod()
    }
    const pump = new LogPump(source.log, {
      ...{ clock, draining: undefined, maxBytes: 1, maxMs: 1, patienceMs: 1 },
      ...{ sever: () => void severed++, onEnd: end => void ends.push(end) },
    })
    await expect(pump.opened).rejects.toMatchObject({ status: 404 })
    expect([ends, severed]).toEqual([['failed'], 0])
  })
})
