import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { Registry } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import { apiParts, prefix, ScriptedFeed, scriptedLabs } from '../../../test/kit/api/scripted-api.ts'
import { ManualClock } from '../../../test/kit/clock.ts'
import type { Limits } from '../../config/limits.ts'
import type { LabService } from '../../ops/labs/service.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { startMonitoringServer } from '../monitoring.ts'
import { type ApiServer, startApiServer } from '../server.ts'

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function start(limits: Partial<Limits>, script: Partial<LabService> = {}) {
  const clock = new ManualClock()
  const parts = apiParts(
    { clock, labs: scriptedLabs(script), metrics: createMetrics(new Registry()) },
    { host: '127.0.0.1', port: 0, monitoringPort: 0, heartbeatSeconds: 0.05, limits },
  )
  const server = await startApiServer(parts)
  const monitoring = await startMonitoringServer({ ...parts, readiness: { waitingFor: () => [], troubles: () => [] } })
  cleanUps.push(async () => {
    const closed = Promise.all([server.close(1), monitoring.close(1)])
    clock.advance(1)
    await closed
  })
  return { ...server, monitoring }
}

async function dial({ port }: Pick<ApiServer, 'port'>): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  // A cut client may see a reset.
  socket.on('error', () => {})
  cleanUps.push(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

const auth = 'Host: x\r\nAuthorization: Bearer rra-token\r\n'
const status = `GET ${prefix}/user-status HTTP/1.1\r\n${auth}\r\n`
const create = (headers: string) =>
  `POST ${prefix}/labs/rra/create HTTP/1.1\r\n${auth}Content-Type: application/json\r\n${headers}\r\n`

/** A path without a route. */
const nothing = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

/** All bytes of the answers until the connection ends. */
async function said(socket: Socket): Promise<string> {
  return text(socket)
}

async function ask(server: Pick<ApiServer, 'port'>, request: string): Promise<string> {
  const socket = await dial(server)
  socket.end(request)
  return said(socket)
}

const listing = `GET ${prefix}/labs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer hub-token\r\n\r\n`
/** More than the buffers of a connection hold. */
const manyNames = Array.from({ length: 400_000 }, (_, i) => `user-${i}-with-a-long-name`)
/** Takes a slot, and is answered 401. */
const anybody = `GET ${prefix}/labs HTTP/1.1\r\nHost: x\r\n\r\n`

/** Asks again until there is a slot. */
async function untilAnswered(server: ApiServer, status: number): Promise<void> {
  while (statusesOf(await ask(server, anybody))[0] !== status);
}

const statusesOf = (answers: string) => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code))

/** Answers when a test permits it. */
function heldStatus() {
  const entered: (() => void)[] = []
  const waiting: ((state: null) => void)[] = []
  const script: LabService['status'] = () => {
    entered.shift()?.()
    return new Promise(resolve => waiting.push(resolve))
  }
  return {
    script,
    next: () => new Promise<void>(resolve => entered.push(resolve)),
    answerAll: () => {
      for (const answer of waiting.splice(0)) answer(null)
    },
  }
}

describe('boundServer: connections', () => {
  it('beyond the limit are answered 503 and closed, until another one ends', async () => {
    const server = await start({ maxConnections: 1 })
    const first = await dial(server)
    const refused = await said(await dial(server))
    expect(refused).toMatch(/^HTTP\/1\.1 503 .*^Retry-After: 1\r$.*"type":"unavailable"/ms)
    first.write(nothing)
    expect(statusesOf(await said(first))).toEqual([404])
    expect(statusesOf(await ask(server, nothing))).toEqual([404])
  })

  it('wait to be accepted, as many as the kernel allows, when the event loop is busy', async () => {
    const { port } = await start({})
    const crowd = `
      let open = 0
      const end = () => { console.log(open); process.exit() }
      const connected = () => { open += 1; if (open === 1000) end() }
      for (let i = 0; i < 1000; i++) require('node:net').connect(${port}, '127.0.0.1', connected).on('error', () => {})
      setTimeout(end, 5000)`
    // It keeps this thread busy until the crowd has ended.
    expect(execFileSync(process.execPath, ['-e', crowd], { encoding: 'utf8' })).toBe('1000\n')
  })

  it('that are refused have no effect', async () => {
    let asked = 0
    const server = await start({ maxConnections: 1 }, { create: async () => void asked++ })
    await dial(server)
    const surplus = await dial(server)
    surplus.write(`${create('Content-Length: 15\r\n')}{"options": {}}`)
    expect(statusesOf(await said(surplus))).toEqual([503])
    expect(asked).toBe(0)
  })

  it.each([
    ['nothing', ''],
    ['half a head', 'GET / HTTP/1.1\r\nHost'],
  ])('that send %s are cut', async (_, sent) => {
    const server = await start({ headersTimeoutSeconds: 0.1 })
    const socket = await dial(server)
    socket.write(sent)
    expect(await said(socket)).toMatch(/^HTTP\/1\.1 408 .*"type":"malformed"/s)
  })

  it('that send their body too slowly are cut', async () => {
    let asked = 0
    const limits = { headersTimeoutSeconds: 0.5, requestTimeoutSeconds: 1 }
    const server = await start(limits, { create: async () => void asked++ })
    for (const length of ['Content-Length: 15', 'Transfer-Encoding: chunked']) {
      const socket = await dial(server)
      socket.write(`${create(`${length}\r\n`)}3\r\n{"o`)
      expect(statusesOf(await said(socket))).toEqual([408])
    }
    expect(asked).toBe(0)
    // Nor is it reported as a failure of the server.
    const metrics = await ask(server.monitoring, 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(metrics).toContain('status="408"} 2')
    expect(metrics).not.toContain('status="5')
  })

  it('on which an answer is not read are cut', async () => {
    const server = await start({ stallTimeoutSeconds: 0.3 }, { running: async () => manyNames })
    const socket = await dial(server)
    socket.write(listing)
    socket.pause()
    // A cut client gets no answer; the server, which waits for all connections, can close.
    const closed = once(socket, 'close')
    const gone = server.close(600_000)
    await gone
    socket.resume()
    await closed
  })

  it.each([
    ['something that is no request', 'SMUGGLED\r\n\r\n'],
    ['half a request', 'GET / HTT'],
  ])('with an event stream that receive %s are cut without an answer in the stream', async (_, sent) => {
    const server = await start({ headersTimeoutSeconds: 0.5 }, { events: async () => new ScriptedFeed() })
    const socket = await dial(server)
    socket.write(`GET ${prefix}/labs/rra/events HTTP/1.1\r\n${auth}\r\n`)
    await once(socket, 'data')
    socket.write(sent)
    expect(await said(socket)).not.toContain('HTTP/1.1')
  })

  it('with an event stream stay open, however long', async () => {
    const feed = new ScriptedFeed()
    const server = await start({ stallTimeoutSeconds: 0.5 }, { events: async () => feed })
    const socket = await dial(server)
    socket.write(`GET ${prefix}/labs/rra/events HTTP/1.1\r\n${auth}\r\n`)
    await once(socket, 'data')
    expect(socket.destroyed).toBe(false)
  })
})

describe('boundServer: requests', () => {
  it('that wait on one connection are refused beyond the limit, in their order', async () => {
    const held = heldStatus()
    const server = await start({ maxPipelinedRequests: 2 }, { status: held.script })
    const socket = await dial(server)
    const both = [held.next(), held.next()]
    socket.write(status.repeat(3))
    await Promise.all(both)
    held.answerAll()
    expect(statusesOf(await said(socket))).toEqual([404, 404, 429])
  })

  it('of all users are limited, and probes are not', async () => {
    const held = heldStatus()
    const server = await start({ maxRequests: 1 }, { status: held.script })
    const socket = await dial(server)
    const entered = held.next()
    socket.write(status)
    await entered
    const refused = await ask(server, anybody)
    expect(refused).toMatch(/^HTTP\/1\.1 503 .*^retry-after: 1\r$/ims)
    for (const path of ['healthz', 'readyz', 'metrics']) {
      expect(statusesOf(await ask(server.monitoring, `GET /${path} HTTP/1.1\r\nHost: x\r\n\r\n`))).toEqual([200])
    }
    held.answerAll()
    await once(socket, 'data')
    expect(statusesOf(await ask(server, anybody))).toEqual([401])
  })

  it('keep their slot until their answer is read', async () => {
    const server = await start({ maxRequests: 1 }, { running: async () => manyNames })
    const slow = await dial(server)
    slow.write(listing)
    await once(slow, 'readable')
    expect(statusesOf(await ask(server, anybody))).toEqual([503])
    slow.resume()
    await untilAnswered(server, 401)
  })

  it('return their slot when the client goes away', async () => {
    const held = heldStatus()
    const server = await start({ maxRequests: 2 }, { status: held.script })
    const socket = await dial(server)
    const entered = held.next()
    // The answer to the second waits for the first, and never gets the connection.
    socket.write(status + anybody)
    await entered
    const closed = once(socket, 'close')
    socket.destroy()
    await closed
    await untilAnswered(server, 401)
    held.answerAll()
  })

  it('with bodies are limited in memory together, and return it', async () => {
    const server = await start({ maxBodyBytes: 20, maxBodyBytesInFlight: 30 })
    const slow = await dial(server)
    slow.write(`${create('Transfer-Encoding: chunked\r\n')}1\r\n{\r\n`)
    const other = () => ask(server, `${create('Content-Length: 15\r\n')}{"options": {}}`)
    // Until this much of the first has been read.
    let refused = ''
    while (!refused.includes(' 503 ')) refused = await other()
    expect(refused).toMatch(/bytes of bodies/)
    slow.end('1\r\n}\r\n0\r\n\r\n')
    expect(statusesOf(await said(slow))).toEqual([422])
    expect(statusesOf(await other())).toEqual([303])
  })
})

it('boundServer limits event streams of all users together', async () => {
  const server = await start({ maxStreams: 1 }, { events: async () => new ScriptedFeed() })
  const events = (user: string) =>
    `GET ${prefix}/labs/${user}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${user}-token\r\n\r\n`
  const first = await dial(server)
  first.write(events('rra'))
  await once(first, 'data')
  expect(await ask(server, events('both'))).toMatch(/^HTTP\/1\.1 503 .*^retry-after: 1\r$/ims)
  const closed = once(first, 'close')
  first.destroy()
  await closed
  const second = await dial(server)
  for (;;) {
    second.write(events('both'))
    const [answer] = await once(second, 'data')
    if (String(answer).startsWith('HTTP/1.1 200')) break
  }
})

describe('boundServer: heads', () => {
  it.each([
    ['too many headers', 431, `GET / HTTP/1.1\r\nHost: x\r\n${'X: y\r\n'.repeat(100)}\r\n`],
    ['a path that is too long', 414, `GET /${'x'.repeat(4096)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['two hosts', 400, 'GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
    ['two tokens', 400, `GET ${prefix}/labs HTTP/1.1\r\n${auth}authorization: Bearer hub-token\r\n\r\n`],
    ['dots', 400, `GET ${prefix}/../../../metrics HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['encoded dots', 400, `GET ${prefix}/user-status/%2E%2e/labs HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['an overlong slash', 400, `GET ${prefix}/labs/a%c0%afb HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['half a percent-encoding', 400, `GET ${prefix}/labs/a%4 HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['a quote that is not encoded', 400, `GET ${prefix}/labs/" HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['bytes that are not encoded', 400, `GET ${prefix}/labs/\u00e9 HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['a fixed part that is encoded', 404, `GET /nublado/spawner/v1/%6Cabs HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['no path at all', 400, 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a tunnel', 405, 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['another expectation', 417, 'GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n'],
  ])('with %s are answered %i in the common form', async (_, code, request) => {
    const answer = await ask(await start({}), request)
    expect(statusesOf(answer)).toEqual([code])
    const detail = { msg: expect.any(String), type: expect.any(String) }
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ detail: [detail] })
  })

  it('may contain a host, as clients of proxies send it', async () => {
    expect(statusesOf(await ask(await start({}), `GET http://y${prefix}/labs HTTP/1.1\r\nHost: x\r\n\r\n`))).toEqual([
      401,
    ])
  })
})
