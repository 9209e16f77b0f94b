import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { OnceMore } from './once-more.ts'

const url = 'http://skylab/labs'

/** A client whose tries meet these results in order, and the pauses that it made. */
function meeting(...fates: readonly (number | Error | Response)[]) {
  const left = [...fates]
  const pauses: number[] = []
  const send = async () => {
    const fate = left.shift() ?? new Error('asked too often')
    if (fate instanceof Error) throw fate
    return fate instanceof Response ? fate : new Response('words', { status: fate })
  }
  const clock = { ...systemClock, sleep: async (ms: number) => void pauses.push(ms) }
  return { client: new OnceMore({ send, clock }), pauses, left }
}

test('OnceMore returns an answer of the controller after one try', async () => {
  for (const status of [200, 303, 404, 409, 500]) {
    const { client, pauses } = meeting(status)
    expect((await client.send(url)).status).toBe(status)
    expect([client.counts, pauses]).toEqual([{ sent: 1, repeated: 0, failed: [] }, []])
  }
})

test.each([
  ['a connection that broke', new Error('reset'), 1000],
  ['503 with the time to wait', new Response('', { status: 503, headers: { 'retry-after': '3' } }), 3000],
  ['502 of a balancer', 502, 1000],
])('OnceMore tries once more after %s', async (_, fate, pauseMs) => {
  const { client, pauses } = meeting(fate, 200)
  expect((await client.send(url)).status).toBe(200)
  expect([client.counts, pauses]).toEqual([{ sent: 1, repeated: 1, failed: [] }, [pauseMs]])
})

test('OnceMore gives up after the second try', async () => {
  const { client, left } = meeting(new Error('reset'), 503, 200)
  await expect(client.send(url, { method: 'POST' })).rejects.toThrow('POST /labs: 503 words')
  expect(client.counts).toEqual({ sent: 1, repeated: 1, failed: ['POST /labs: 503 words'] })
  expect(left).toEqual([200])
})
