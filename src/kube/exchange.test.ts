import type { Dispatcher } from 'undici'
import { describe, expect, test } from 'vitest'
import { Exchange } from './exchange.ts'

/** An exchange that has begun, and the reasons for which its connection was ended. */
function begun(startSignal?: AbortSignal) {
  const stop = new AbortController()
  const exchange = new Exchange({ signal: stop.signal, startSignal })
  const aborts: unknown[] = []
  const controller = {
    abort: (reason: Error) => {
      aborts.push(reason)
      exchange.onResponseError(controller, reason)
    },
  } as Dispatcher.DispatchController
  const start = () => exchange.onRequestStart(controller)
  const answer = (status: number, ...chunks: string[]) => {
    exchange.onResponseStart(controller, status, {})
    for (const chunk of chunks) exchange.onResponseData(controller, Buffer.from(chunk))
  }
  return { exchange, stop, start, answer, aborts }
}

test('Exchange resolves its head when the answer begins, and its body when it ends', async () => {
  const { exchange, start, answer } = begun()
  start()
  answer(100)
  answer(201, '{"a":', '1}')
  expect((await exchange.head).status).toBe(201)
  exchange.onResponseEnd()
  expect((await exchange.body).toString()).toBe('{"a":1}')
})

test('Exchange sends nothing when it was aborted before its connection was open', async () => {
  const { exchange, start, stop, aborts } = begun()
  stop.abort(new Error('too late'))
  await expect(exchange.head).rejects.toThrow('too late')
  start()
  expect(aborts).toEqual([new Error('too late')])
})

test('Exchange sends nothing when its start signal was aborted before, and goes on when it is aborted later', async () => {
  const early = begun(AbortSignal.abort(new Error('lease lost')))
  early.start()
  expect(early.aborts).toEqual([new Error('lease lost')])
  await expect(early.exchange.head).rejects.toThrow('lease lost')
  const lease = new AbortController()
  const late = begun(lease.signal)
  late.start()
  lease.abort(new Error('lease lost'))
  expect(late.aborts).toEqual([])
})

describe('Exchange.stream', () => {
  test('passes the body on from its beginning', async () => {
    const { exchange, start, answer } = begun()
    start()
    answer(200, 'a')
    const read: string[] = []
    const over = exchange.stream(chunk => void read.push(chunk.toString()))
    answer(200, 'b')
    exchange.onResponseEnd()
    await over
    expect(read).toEqual(['a', 'b'])
  })

  test('loses nothing that arrives while its reader takes what was there', async () => {
    const { exchange, start, answer } = begun()
    start()
    answer(200, 'a', 'b')
    const read: string[] = []
    const over = exchange.stream(chunk => {
      read.push(chunk.toString())
      // As when the reader has resumed the connection.
      if (read.length === 1) answer(200, 'c', 'd')
    })
    answer(200, 'e')
    exchange.onResponseEnd()
    await over
    expect(read).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  test('rejects with the error of its reader, also when the answer has ended before', async () => {
    const { exchange, start, answer } = begun()
    start()
    answer(200, 'a')
    exchange.onResponseEnd()
    const over = exchange.stream(() => {
      throw new Error('unreadable')
    })
    await expect(over).rejects.toThrow('unreadable')
  })
})
