import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '../../src/base/clock.ts'
import type { LabEvent } from '../../src/base/domain.ts'
import { LabClient } from './client.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

let server: Server
let asked: { line: string; headers: IncomingMessage['headers'] }[]
let answers: Answer[]
let slept: number[]
let client: LabClient

beforeEach(async () => {
  asked = []
  answers = []
  slept = []
  server = createServer((request, response) => {
    asked.push({ line: `${request.method} ${request.url}`, headers: request.headers })
    const answer = answers.shift()
    if (answer) answer(request, response)
    else response.writeHead(500).end('no more answers')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  client = new LabClient({ url, token: 'secret', clock: fakeClock() })
})
afterEach(() => {
  server.closeAllConnections()
  return new Promise(resolve => server.close(resolve))
})

/** Waits end at once, and only they advance the time. */
function fakeClock(): Clock {
  let nowMs = 0
  return {
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: async ms => {
      nowMs += ms
      slept.push(ms)
    },
    after: () => () => {},
  }
}

const status =
  (code: number, text = ''): Answer =>
  (_request, response) =>
    response.writeHead(code).end(text)
const broken: Answer = request => request.socket.destroy()
const stream =
  (text: string, breakOff = false): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(text, () => (breakOff ? response.destroy() : response.end()))
  }

async function collect(): Promise<LabEvent[]> {
  const events: LabEvent[] = []
  for await (const event of client.events('ada')) events.push(event)
  return events
}

describe('LabClient.events', () => {
  it('ends with the last event of the operation', async () => {
    answers = [stream('id: 7-1\nevent: info\ndata: begun\n\n: beat\n\nid: 7-2\nevent: complete\ndata: done\n\n')]
    expect(await collect()).toEqual([
      { id: '7-1', event: 'info', data: 'begun' },
      { id: '7-2', event: 'complete', data: 'done' },
    ])
    expect(asked[0]?.line).toBe('GET /nublado/spawner/v1/labs/ada/events')
    expect(asked[0]?.headers.authorization).toBe('Bearer secret')
  })

  it('continues after the last id when the stream breaks, is closed early or finds no replica', async () => {
    answers = [
      stream('retry: 250\n\nid: 7-1\nevent: info\ndata: a\n\n', true),
      broken,
      status(503),
      stream('id: 7-2\nevent: progress\ndata: 50\n\n'),
      stream('id: 7-3\nevent: failed\ndata: no\n\n'),
    ]
    expect((await collect()).map(event => event.id)).toEqual(['7-1', '7-2', '7-3'])
    expect(asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '7-1', '7-1', '7-1', '7-2'])
    expect(new Set(slept)).toEqual(new Set([250]))
  })

  it('ends when the server says that there are no more', async () => {
    answers = [stream('id: 7-1\nevent: info\ndata: a\n\n'), status(204)]
    expect((await collect()).length).toBe(1)
  })

  it('fails when there is no stream', async () => {
    answers = [status(404, 'no lab')]
    await expect(collect()).rejects.toThrow(/404 no lab/)
  })
})

describe('LabClient', () => {
  it('repeats a request with the same key when no replica took it', async () => {
    answers = [broken, status(503), status(303)]
    await client.create('ada', { image_type: 'recommended' })
    expect(asked.map(({ line }) => line)).toEqual(Array(3).fill('POST /nublado/spawner/v1/labs/ada/create'))
    expect(new Set(asked.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
  })

  it('fails at once with the text of a refusal', async () => {
    answers = [status(409, 'there is a lab')]
    await expect(client.create('ada', {})).rejects.toThrow(/409 there is a lab/)
    expect(asked.length).toBe(1)
  })

  it('fails in the end when nobody answers', async () => {
    answers = Array(100).fill(status(503, 'comparing'))
    await expect(client.status('ada')).rejects.toThrow(/503 comparing/)
    expect(slept.length).toBeGreaterThan(10)
  })

  it('distinguishes a missing lab from an existing one', async () => {
    answers = [status(404), status(200, '{"status":"running"}'), status(404), status(202)]
    expect(await client.status('ada')).toBe(null)
    expect(await client.status('ada')).toEqual({ status: 'running' })
    expect(await client.delete('ada')).toBe(false)
    expect(await client.delete('ada')).toBe(true)
  })
})
