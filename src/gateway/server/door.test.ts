import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { Wire } from '../../../test/kit/gateway/wires.ts'
import { systemClock } from '../../base/clock.ts'
import { configSchema } from '../../config/schema.ts'
import { Door } from './door.ts'

const started: { door: Door; wires: Wire[] }[] = []
afterEach(() => {
  for (const { door, wires } of started.splice(0)) {
    for (const { socket } of wires) socket.destroy()
    void door.stopAccepting()
    door.cut()
  }
})

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

async function start(limits: object = {}, gateway: object = {}) {
  const served: [IncomingMessage, ServerResponse][] = []
  const watchers: (() => void)[] = []
  const config = configSchema.parse({ api: { limits }, gateway })
  const parts = { limits: config.api.limits, gateway: config.gateway, clock: systemClock }
  const door = new Door(parts, {
    request: (incoming, outgoing) => {
      served.push([incoming, outgoing])
      for (const wake of watchers.splice(0)) wake()
    },
    upgrade: (_, socket) => socket.write('upgraded'),
  })
  const wires: Wire[] = []
  started.push({ door, wires })
  const port = await door.listen('127.0.0.1', 0)
  const client = async () => {
    const socket = connect(port, '127.0.0.1')
    const wire = new Wire(socket)
    wires.push(wire)
    await once(socket, 'connect')
    return wire
  }
  const request = async (count: number) => {
    while (served.length < count) await new Promise<void>(resolve => watchers.push(resolve))
    return served[count - 1]!
  }
  return { door, client, request, served }
}

test('Door answers 408 when a head does not end in time, and closes', async () => {
  const { client } = await start({ headersTimeoutSeconds: 0.1 })
  const wire = await client()
  wire.write('GET /console/')
  await wire.over()
  expect(wire.text).toMatch(/^HTTP\/1\.1 408 /)
})

test.each([
  ['no HTTP', 'HELLO\r\n\r\n', 400],
  ['a tunnel', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
  ['headers that are too large', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
  ['another expectation', 'GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n', 417],
])('Door refuses %s', async (_, bytes, status) => {
  const { client, served } = await start()
  const wire = await client()
  wire.write(bytes)
  await wire.over()
  expect([wire.text.startsWith(`HTTP/1.1 ${status} `), served.length]).toEqual([true, 0])
})

const apart = { publicUrl: 'https://platform.example.org', appDomain: 'apps.example.net' }
const sandbox = /^Content-Security-Policy: sandbox\r$/m

test.each([
  [
    'headers that are too large',
    `GET /console/enter?code=c HTTP/1.1\r\nHost: x\r\nCookie: ${'y'.repeat(20_000)}\r\n\r\n`,
  ],
  ['no HTTP', 'HELLO\r\n\r\n'],
])('Door makes no document of a host of an app when it refuses %s', async (_, bytes) => {
  for (const gateway of [apart, {}]) {
    const { client } = await start({}, gateway)
    const wire = await client()
    wire.write(bytes)
    await wire.over()
    expect([sandbox.test(wire.text), wire.text.includes('Cross-Origin-Opener-Policy: same-origin')]).toEqual(
      gateway === apart ? [true, true] : [false, false],
    )
    expect(wire.text).toMatch(/^Referrer-Policy: no-referrer\r$/m)
  }
})

test('Door makes no document of a host of an app when there are too many connections', async () => {
  const { client } = await start({}, { ...apart, limits: { connections: 1 } })
  await client()
  const second = await client()
  await second.over()
  expect(second.text).toMatch(sandbox)
})

test('Door answers 503 to a connection beyond the bound', async () => {
  const { client } = await start({}, { limits: { connections: 1 } })
  await client()
  const second = await client()
  await second.over()
  expect(second.text).toMatch(/^HTTP\/1\.1 503 .*^Retry-After: 1\r$/ms)
})

test('Door cuts a client that takes nothing of its answer', async () => {
  const { client, request } = await start({ stallTimeoutSeconds: 0.2 })
  const wire = await client()
  wire.socket.pause()
  wire.write(get('/'))
  const [, outgoing] = await request(1)
  outgoing.end(Buffer.alloc(50_000_000))
  await once(outgoing, 'close')
  expect(outgoing.writableFinished).toBe(false)
})

test('Door leaves a client alone whose answer is only silent, until the time of an exchange is over', async () => {
  const { client, request } = await start({ stallTimeoutSeconds: 0.1 }, { idleSeconds: 0.8 })
  const wire = await client()
  wire.write(get('/'))
  const [, outgoing] = await request(1)
  const beganMs = systemClock.monotonicMs()
  await once(outgoing, 'close')
  expect(systemClock.monotonicMs() - beganMs).toBeGreaterThan(250)
})

test('Door closes a connection that is kept for too long', async () => {
  const { client, request } = await start({ keepAliveTimeoutSeconds: 0.1, stallTimeoutSeconds: 60 })
  const wire = await client()
  wire.write(get('/'))
  const [, outgoing] = await request(1)
  outgoing.end('ok')
  await wire.over()
  expect(wire.text).toContain('ok')
})

test('Door serves the requests of a connection one after another, and cuts one that has too many', async () => {
  const { client, request, served } = await start({ maxPipelinedRequests: 2 })
  const wire = await client()
  wire.write(get('/a') + get('/b'))
  const [, first] = await request(1)
  expect(served.length).toBe(1)
  first.end('a')
  expect((await request(2))[0].url).toBe('/b')
  wire.write(get('/c') + get('/d'))
  await wire.over()
  expect(served.length).toBe(2)
})

test('Door closes connections after their next answers when it drains, and cuts no idle one', async () => {
  const { door, client, request } = await start()
  const [idle, busy] = [await client(), await client()]
  busy.write(get('/'))
  const [, outgoing] = await request(1)
  door.beginDrain()
  const closed = door.stopAccepting()
  outgoing.end('ok')
  await busy.over()
  expect(busy.text).toContain('Connection: close')
  idle.write(get('/late'))
  const [, late] = await request(2)
  late.end('late')
  await idle.over()
  expect(idle.text).toContain('late')
  await closed
})

test('Door answers nothing in place of an app when the rest of a request is no HTTP', async () => {
  const { client, request } = await start()
  const wire = await client()
  wire.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
  await request(1)
  wire.write('zz\r\n')
  await wire.over()
  expect(wire.text).toBe('')
})

test('Door cuts a client that asks for another protocol before it has its answer', async () => {
  const { client } = await start()
  const wire = await client()
  wire.write(`${get('/slow')}GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
  await wire.over()
  expect(wire.text).toBe('')
})

test('Door hands over a connection that asks for another protocol', async () => {
  const { client } = await start()
  const wire = await client()
  wire.write('GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  await wire.has('upgraded')
})

test('Door cuts a connection that asks for another protocol when it is never answered', async () => {
  const { door, client } = await start()
  const wire = await client()
  wire.write('GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  await wire.has('upgraded')
  const closed = door.stopAccepting()
  door.cut()
  await closed
})
