import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import { apiParts, prefix, ScriptedFeed, scriptedLabs } from '../../test/kit/api/scripted-api.ts'
import { ManualClock } from '../../test/kit/clock.ts'
import type { LabEvent } from '../base/domain.ts'
import type { EventFeed, LabService } from '../ops/labs/service.ts'
import type { ApiParts } from './request/env.ts'
import { type ApiServer, startApiServer } from './server.ts'

const path = `${prefix}/labs/rra/events`
const headers = { Authorization: 'Bearer rra-token' }
const writeTimeoutMs = 10_000
const event: LabEvent = { event: 'info', data: 'scheduled', id: '7-1' }

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function start(change: Partial<ApiParts> = {}, config: object = {}): Promise<ApiServer> {
  const clock = new ManualClock()
  const server = await startApiServer(apiParts({ clock, ...change }, { host: '127.0.0.1', port: 0, ...config }))
  cleanUps.push(async () => {
    const closed = server.close(1)
    clock.advance(1)
    await closed
  })
  return server
}

/** A connection on which a test writes HTTP itself. */
async function raw(server: ApiServer, request: string): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1')
  cleanUps.push(() => socket.destroy())
  await once(socket, 'connect')
  socket.write(request)
  return socket
}

function request(server: ApiServer, path: string, agent = false as Agent | false): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get({ port: server.port, host: '127.0.0.1', path, headers, agent }, resolve).on('error', reject)
  })
}

function keepAlive(): Agent {
  const agent = new Agent({ keepAlive: true })
  cleanUps.push(() => agent.destroy())
  return agent
}

/** Status and body of a finished reply over a raw connection. */
async function replyOn(socket: Socket) {
  const reply = await text(socket)
  return { status: Number(reply.split(' ')[1]), body: JSON.parse(reply.slice(reply.indexOf('\r\n\r\n'))) }
}

describe('requests that Node refuses', () => {
  it.each([
    ['a request that is none', 400, 'HELLO\r\n\r\n'],
    ['headers beyond the bound', 431, `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
  ])('%s is %i in the common form', async (_, status, head) => {
    const reply = await replyOn(await raw(await start(), head))
    expect(reply).toEqual({ status, body: { detail: [{ msg: expect.any(String), type: 'malformed' }] } })
  })

  it('a body beyond the limit is 413, with and without a length', async () => {
    const server = await start({}, { limits: { maxBodyBytes: 10 } })
    const head = `POST ${prefix}/labs/rra/create HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nAuthorization: Bearer rra-token\r\n`
    const body = '{"options": {}, "env": {}}'
    const chunked = `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    for (const rest of [`Content-Length: ${body.length}\r\n\r\n${body}`, chunked]) {
      expect((await replyOn(await raw(server, head + rest))).status).toBe(413)
    }
  })

  it('a missing Host is refused, except for HTTP/1.0', async () => {
    const server = await start()
    const reply = await replyOn(await raw(server, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'))
    expect(reply).toMatchObject({ status: 400, body: { detail: [{ loc: ['header', 'host'] }] } })
    const empty = await replyOn(await raw(server, 'GET / HTTP/1.0\r\nHost:\r\n\r\n'))
    expect(empty).toMatchObject({ status: 400, body: { detail: [{ loc: ['header', 'host'] }] } })
    const old = await replyOn(await raw(server, 'GET / HTTP/1.0\r\n\r\n'))
    expect(old).toMatchObject({ status: 404, body: { detail: [{ type: 'not_found' }] } })
  })
})

it('startApiServer keeps connections longer than balancers do', async () => {
  const response = await request(await start(), '/', keepAlive())
  expect(response.headers['keep-alive']).toBe('timeout=75')
  response.resume()
  await once(response, 'end')
})

it('startApiServer rejects when the port is used', async () => {
  const { port } = await start()
  const parts = apiParts({}, { host: '127.0.0.1', port })
  await expect(startApiServer(parts)).rejects.toMatchObject({ code: 'EADDRINUSE' })
})

/** Resolves when a number has not changed for many turns of the event loop. */
async function standstill(count: () => number): Promise<void> {
  for (let before = -1, turns = 0; turns < 50; turns = count() === before ? turns + 1 : 0) {
    before = count()
    await new Promise(setImmediate)
  }
}

describe('a reader that takes nothing', () => {
  /** An endless feed of events of one size; counts the batches taken. */
  class EndlessFeed implements EventFeed {
    taken = 0
    async *read(signal: AbortSignal) {
      while (!signal.aborted) {
        this.taken++
        yield [{ ...event, data: 'x'.repeat(65_536) }]
      }
    }
  }

  it('is cut after the deadline, having cost no more than its connection’s buffers', async () => {
    const feed = new EndlessFeed()
    const clock = new ManualClock()
    const parts = { clock, labs: scriptedLabs({ events: async () => feed }) }
    const server = await start(parts)
    const socket = await raw(server, `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer rra-token\r\n\r\n`)
    socket.pause()
    await clock.whenSleeping(writeTimeoutMs)
    await standstill(() => feed.taken)
    // The kernel's buffers, and the one event that waits.
    expect(feed.taken * 65_536).toBeLessThan(32 * 2 ** 20)

    clock.advance(writeTimeoutMs)
    const closed = once(socket, 'close')
    socket.on('error', () => {})
    socket.resume()
    await closed
  })

  it('does not delay others', async () => {
    const clock = new ManualClock()
    const good = new ScriptedFeed()
    const feeds: EventFeed[] = [new EndlessFeed(), good]
    const server = await start({ clock, labs: scriptedLabs({ events: async () => feeds.shift()! }) })
    const stuck = await raw(server, `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer rra-token\r\n\r\n`)
    stuck.pause()
    await clock.whenSleeping(writeTimeoutMs)
    const response = await request(server, path)
    good.push(event).end()
    expect(await text(response)).toMatch(/id: 7-1\n/)
  })
})

it('startApiServer closes the feed of a reader that disconnects', async () => {
  const feed = new ScriptedFeed().push(event)
  const server = await start({ labs: scriptedLabs({ events: async () => feed }) })
  const response = await request(server, path)
  await once(response, 'data')
  const freed = once(feed.signal!, 'abort')
  response.destroy()
  await freed
})

it('startApiServer opens no feed for a reader that disconnects while it waits for one', async () => {
  const asked = Promise.withResolvers<AbortSignal>()
  const events: LabService['events'] = (_user, _id, signal) => {
    asked.resolve(signal!)
    return new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason)))
  }
  const server = await start({ labs: scriptedLabs({ events }) })
  const socket = await raw(server, `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer rra-token\r\n\r\n`)
  const signal = await asked.promise
  const left = once(signal, 'abort')
  socket.destroy()
  await left
})

describe('ApiServer.close', () => {
  it('ends event streams cleanly and closes their connections', async () => {
    const server = await start({ labs: scriptedLabs({ events: async () => new ScriptedFeed().push(event) }) })
    const response = await request(server, path, keepAlive())
    await once(response, 'data')
    const whole = once(response, 'end')
    response.resume()
    await server.close(60_000)
    await whole
    expect(response.complete).toBe(true)
  })

  it('lets requests in flight finish', async () => {
    const [entered, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<null>()]
    const status = () => {
      entered.resolve()
      return answer.promise
    }
    const server = await start({ labs: scriptedLabs({ status }) })
    const response = request(server, `${prefix}/user-status`, keepAlive())
    await entered.promise
    const closed = server.close(60_000)
    answer.resolve(null)
    expect((await response).statusCode).toBe(404)
    ;(await response).resume()
    await closed
  })

  /** More than the kernel's buffers hold. */
  const names = Array.from({ length: 500_000 }, (_, i) => `user-${i}`)

  it('sends an answer to its last byte when its reader is slow', async () => {
    const server = await start({ labs: scriptedLabs({ running: async () => names }) })
    const head = `GET ${prefix}/labs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer hub-token\r\n\r\n`
    const socket = await raw(server, head)
    await once(socket, 'readable')
    const closed = server.close(60_000)
    const last = `"${names.at(-1)}"]`
    expect((await text(socket)).slice(-last.length)).toBe(last)
    await closed
  })

  it('cuts requests that do not finish in time', async () => {
    const clock = new ManualClock()
    const entered = Promise.withResolvers<void>()
    const status = () => {
      entered.resolve()
      return new Promise<never>(() => {})
    }
    const server = await start({ clock, labs: scriptedLabs({ status }) })
    const response = request(server, `${prefix}/user-status`)
    await entered.promise
    const closed = server.close(5000)
    await clock.whenSleeping(5000)
    clock.advance(5000)
    await expect(response).rejects.toThrow()
    await closed
  })

  it('still answers after endStreams, and asks clients to reconnect elsewhere', async () => {
    const feed = new ScriptedFeed().push(event)
    const server = await start({ labs: scriptedLabs({ events: async () => feed }) })
    const response = await request(server, path)
    await once(response, 'data')
    server.endStreams()
    response.resume()
    await once(response, 'end')
    const status = await request(server, `${prefix}/user-status`, keepAlive())
    expect([status.statusCode, status.headers.connection]).toEqual([404, 'close'])
    status.resume()
    await once(status, 'end')
  })
})
