import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { systemClock } from '../base/clock.ts'
import { Pump } from '../gateway/pump.ts'
import { Carrier } from './carrier.ts'
import type { Passage } from './tunnels.ts'

const ending: (() => unknown)[] = []
afterEach(() => {
  for (const end of ending.splice(0)) end()
})

const limits = { headMs: 5000, idleMs: 5000, freeMs: 1000, lingerMs: 1000, connections: 4 }

/** A server, its port, and a container that answers at once; `left` resolves when a passage is given back. */
async function site(stubborn?: string) {
  const container = createServer((_, response) => response.end('all of it'))
  container.on('upgrade', (_, socket) => {
    socket.on('error', () => {})
    ending.push(() => socket.destroy())
    if (stubborn !== undefined)
      return void socket.write(
        `HTTP/1.1 200 ${stubborn}\r\nSet-Cookie: a=b\r\nContent-Length: 100\r\n\r\nthe first bytes`,
      )
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  const server = createServer()
  const pump = new Pump(limits)
  for (const each of [container, server]) {
    each.listen(0, '127.0.0.1')
    await once(each, 'listening')
    ending.push(() => each.close())
  }
  ending.push(() => pump.close())
  const portOf = (each: typeof server) => (each.address() as AddressInfo).port
  const left = Promise.withResolvers<void>()
  const passage = {
    ...{ host: 'container', failure: undefined, onCut: () => {}, leave: () => left.resolve() },
    connect: async () => {
      const socket = connect(portOf(container), '127.0.0.1')
      await once(socket, 'connect')
      return socket
    },
  }
  const carrier = new Carrier({ pump, clock: systemClock, stallMs: 1000 })
  const load = (incoming: IncomingMessage) => ({
    ...{ incoming, passage: passage as unknown as Passage },
    ...{ port: 80, path: '/', prefix: '/p' },
  })
  return { server, port: portOf(server), carrier, load, left: left.promise }
}

async function gone(server: ReturnType<typeof createServer>, port: number, head: string, kind: string) {
  const client = connect(port, '127.0.0.1')
  client.write(`GET / HTTP/1.1\r\nHost: a\r\n${head}\r\n`)
  const said = await once(server, kind)
  const [{ socket }] = said as [IncomingMessage]
  socket.on('error', () => {})
  client.resetAndDestroy()
  socket.resume()
  // Its error, of a reset, comes before.
  if (!socket.closed) await new Promise(resolve => socket.once('close', resolve))
  return said
}

it('a carrier gives the place of a request back when its client left before it was admitted', async () => {
  const { server, port, carrier, load, left } = await site()
  const [incoming, outgoing] = (await gone(server, port, '', 'request')) as [IncomingMessage, ServerResponse]
  await carrier.request(load(incoming), outgoing)
  await expect(left).resolves.toBeUndefined()
})

it.each(['upgrade', 'shell'] as const)(
  'a carrier gives the place of a %s back when its client left before it was admitted',
  async kind => {
    const { server, port, carrier, load, left } = await site()
    const head = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
    const [incoming, socket, first] = (await gone(server, port, head, 'upgrade')) as [IncomingMessage, Socket, Buffer]
    await carrier[kind](load(incoming), socket, first)
    await expect(left).resolves.toBeUndefined()
  },
)

it('a carrier gives the place of a request back when its client leaves before an earlier answer', async () => {
  const { server, port, carrier, load, left } = await site()
  const client = connect(port, '127.0.0.1')
  const requests: [IncomingMessage, ServerResponse][] = []
  const both = new Promise<void>(resolve => server.on('request', (...each) => requests.push(each) === 2 && resolve()))
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2))
  await both
  const [incoming, outgoing] = requests[1]!
  await carrier.request(load(incoming), outgoing)
  client.resetAndDestroy()
  await expect(left).resolves.toBeUndefined()
})

it.each(['upgrade', 'shell'] as const)(
  'a carrier has no turn left, and passes no cookie, when a machine answers the request for its %s without an end',
  async kind => {
    const { server, port, carrier, load } = await site('OK')
    const client = connect(port, '127.0.0.1')
    ending.push(() => client.destroy())
    client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    const [incoming, socket, head] = (await once(server, 'upgrade')) as [IncomingMessage, Socket, Buffer]
    await carrier[kind](load(incoming), socket, head)
    const answer = String((await once(client, 'data'))[0])
    expect(answer).toContain('Content-Security-Policy: sandbox')
    expect(answer).not.toContain('Cookie')
  },
)

it('a carrier cuts the connection when the head of an answer to an upgrade cannot be written', async () => {
  const { server, port, carrier, load, left } = await site('O\u0001K')
  const client = connect(port, '127.0.0.1')
  ending.push(() => client.destroy())
  client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  const [incoming, socket, head] = (await once(server, 'upgrade')) as [IncomingMessage, Socket, Buffer]
  await carrier.upgrade(load(incoming), socket, head)
  await left
  await once(client.resume(), 'close')
  expect(client.bytesRead).toBe(0)
})
