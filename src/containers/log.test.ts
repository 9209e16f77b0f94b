import { describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Listeners } from '../base/listeners.ts'
import type { LogRead } from '../store/dispatch/containers.ts'
import { type OpenLog, RecordedLog } from './log.ts'

type Reads = (LogRead | null | Error)[]
const piece = (at: number, text: string) => ({ at, stream: 'stdout' as const, bytes: Buffer.from(text) })
const read = (text: string, change: Partial<LogRead> = {}, at = 0): LogRead => ({
  ...{
    pieces: text === '' ? [] : [piece(at, text)],
    next: at + text.length,
    more: false,
    ended: false,
    dropped: false,
  },
  ...change,
})

async function open(reads: Reads, follow = true, onChunk: (log: OpenLog) => void = () => {}) {
  const rings = new Listeners()
  const clock = new ManualClock()
  const log = vi.fn(async (_: string, __: number) => {
    const next = reads.shift()
    if (next === undefined) throw new Error('nothing more was expected to be read')
    if (next instanceof Error) throw next
    return next
  })
  const ending = new AbortController()
  const source = new RecordedLog({ uuid: 'u', follow, store: { log }, clock, onMore: each => rings.add(each) })
  const opened = await source.open(ending.signal)
  const chunks: string[] = []
  const over = opened.stream(chunk => {
    chunks.push(chunk.toString())
    onChunk(opened)
  })
  opened.resume()
  return { opened, over, chunks, rings, clock, log, ending }
}

describe('RecordedLog', () => {
  it('reads on from where it was until the container has ended', async () => {
    const { over, chunks, rings, log } = await open([read('one', { more: true }), read('', {}, 3)])
    await vi.waitFor(() => expect(log).toHaveBeenCalledTimes(2))
    log.mockImplementation(async () => read('two', { ended: true }, 3))
    rings.notify()
    await over
    expect(chunks).toEqual(['one', 'two'])
    expect(log.mock.calls.map(([, after]) => after)).toEqual([0, 3, 3])
    expect(rings.size).toBe(0)
  })

  it('ends at what is there when it does not follow', async () => {
    const { over, chunks } = await open([read('one')], false)
    await over
    expect(chunks).toEqual(['one'])
  })

  it('says how much is missing between the beginning and the end', async () => {
    const { over, chunks } = await open([{ ...read('ab', { ended: true }), pieces: [piece(0, 'ab'), piece(9, 'cd')] }])
    await over
    expect(chunks.join('')).toBe('ab\n[7 bytes are missing here]\ncd')
  })

  it('reads nothing while its reader takes nothing', async () => {
    const reads = [read('one', { more: true }), read('', { ended: true }, 3)]
    const { opened, over, log, rings } = await open(reads, true, reader => reader.pause())
    await vi.waitFor(() => expect(log).toHaveBeenCalledTimes(1))
    rings.notify()
    await new Promise(resolve => setImmediate(resolve))
    expect(log).toHaveBeenCalledTimes(1)
    opened.resume()
    await over
    expect(log).toHaveBeenCalledTimes(2)
  })

  it('reads again without a ring, since one may be lost, and when Redis is silent for a moment', async () => {
    const { over, clock, log } = await open([read(''), new Error('silent'), read('', { ended: true })])
    await clock.whenSleeping(5_000)
    clock.advance(5_000)
    await clock.whenSleeping(2_000)
    clock.advance(2_000)
    await over
    expect(log).toHaveBeenCalledTimes(3)
  })

  it('ends with words when it is dropped while it is read, but not when all of it was read', async () => {
    const gone = read('', { ended: true, dropped: true }, 9)
    for (const second of [gone, null]) {
      const { over, chunks } = await open([read('one', { more: true }), second])
      await over
      expect(chunks).toEqual(['one', '\n[the rest is not kept any more]\n'])
    }
    const { over, chunks } = await open([read('all of it', { more: true }), gone])
    await over
    expect(chunks).toEqual(['all of it'])
  })

  it('fails when there is no such container, or no answer at first', async () => {
    await expect((await open([null])).over).rejects.toMatchObject({ status: 404 })
    await expect((await open([new Error('silent')])).over).rejects.toThrow('silent')
  })

  it('ends when it is not needed any more', async () => {
    const { over, ending, rings } = await open([read('')])
    ending.abort(new Error('left'))
    await over
    expect(rings.size).toBe(0)
  })
})
