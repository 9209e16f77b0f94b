/** Clients that leave while their request is judged, before the pump has it. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { patientLimits } from '../../test/kit/gateway/wires.ts'
import { Pump } from './pump.ts'

/** A server whose client leaves, and an address at which nobody listens. */
async function left(head: string) {
  const pump = new Pump(patientLimits)
  const server = createServer()
  const judged = Promise.withResolvers<string>()
  const to = { host: '127.0.0.1', port: 1, path: '/', headers: ['Host', 'a'] }
  const carry = async (socket: Socket, work: () => Promise<string>) => {
    const closed = new Promise(resolve => socket.once('close', resolve))
    socket.on('error', () => {})
    // Otherwise nobody sees its end.
    socket.resume()
    client.resetAndDestroy()
    await closed
    await new Promise(setImmediate)
    judged.resolve(await work())
  }
  server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    void carry(incoming.socket, () => pump.request(incoming, outgoing, to))
  })
  server.on('upgrade', (incoming: IncomingMessage, socket: Socket, early: Buffer) => {
    void carry(socket, () => pump.upgrade(incoming, socket, early, to))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  client.write(head)
  return judged.promise
}

test.each([
  ['a request', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['an upgrade', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
])('Pump asks no app, and tells of the end, when the client of %s has left', async (_, head) => {
  expect(await left(head)).toBe('gone')
})
