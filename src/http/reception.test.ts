import type { Dispatcher } from 'undici'
import { describe, expect, it } from 'vitest'
import { AnswerError } from './answer.ts'
import { Reception } from './reception.ts'

/** A reception, and the reasons for which its connection was ended. */
function begin(maxBytes = 100) {
  const stop = new AbortController()
  const reception = new Reception({ url: new URL('http://127.0.0.1/'), maxBytes, signal: stop.signal })
  reception.answer.catch(() => {})
  const aborts: unknown[] = []
  const controller = {
    abort: (reason: Error) => {
      aborts.push(reason)
      reception.onResponseError(controller, reason)
    },
  } as Dispatcher.DispatchController
  return { reception, stop, controller, aborts }
}

describe('Reception', () => {
  it('shows the answer that follows interim ones', async () => {
    const { reception, controller } = begin()
    reception.onRequestStart(controller)
    reception.onResponseStart(controller, 103, { link: '<a>' })
    reception.onResponseStart(controller, 200, { via: ['a', 'b'] })
    for (const chunk of ['[', ']']) reception.onResponseData(controller, Buffer.from(chunk))
    reception.onResponseEnd()
    const { status, body, header } = await reception.answer
    expect([status, body.toString(), header('via'), header('link')]).toEqual([200, '[]', 'a, b', ''])
  })

  it('sends nothing when it was aborted before its connection was open', async () => {
    const { reception, stop, controller, aborts } = begin()
    stop.abort(new Error('too late'))
    await expect(reception.answer).rejects.toThrow('too late')
    reception.onRequestStart(controller)
    expect(aborts).toEqual([new Error('too late')])
  })

  it('ends its connection when it is aborted', async () => {
    const { reception, stop, controller, aborts } = begin()
    reception.onRequestStart(controller)
    reception.onResponseStart(controller, 200, {})
    stop.abort(new Error('the lease is lost'))
    await expect(reception.answer).rejects.toThrow('the lease is lost')
    expect(aborts).toEqual([new Error('the lease is lost')])
  })

  it('ends its connection when the body is too large', async () => {
    const { reception, controller, aborts } = begin(3)
    reception.onRequestStart(controller)
    reception.onResponseStart(controller, 200, {})
    reception.onResponseData(controller, Buffer.from('abc'))
    expect(aborts).toEqual([])
    reception.onResponseData(controller, Buffer.from('d'))
    await expect(reception.answer).rejects.toThrow(new AnswerError('the answer is larger than 3 bytes'))
    expect(aborts.length).toBe(1)
  })
})
