import type { Socket } from 'node:net'
import { type Duplex, duplexPair } from 'node:stream'
import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { Relay } from '../relay.ts'
import { closeFrame } from './frames.ts'
import { OpenSocket } from './socket.ts'

const reason = 'over'
const last = closeFrame(1012, reason)
/** A frame of a server with this payload. */
const frame = (text: string) => Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)])
/** A frame of a client, with a mask that changes nothing. */
const clientFrame = (opcode: number, text: string) =>
  Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)])

const asSocket = (duplex: Duplex) => Object.assign(duplex, { setTimeout: () => {} }) as unknown as Socket

function start(headOfApp = Buffer.alloc(0)) {
  const [gatewayToClient, client] = duplexPair()
  const [gatewayToApp, app] = duplexPair()
  const [clientSocket, appSocket] = [asSocket(gatewayToClient), asSocket(gatewayToApp)]
  const clock = new ManualClock()
  const fromClient = new Relay({ from: clientSocket, to: appSocket, onEnd: () => appSocket.end() })
  const fromApp = new Relay({ from: appSocket, to: clientSocket, onEnd: () => clientSocket.end() })
  let inputs = 0
  const open = new OpenSocket({
    tunnel: { client: clientSocket, app: appSocket, fromClient, fromApp },
    ...{ clock, stallMs: 1000, onInput: () => (inputs += 1) },
  })
  if (headOfApp.length > 0) appSocket.unshift(headOfApp)
  fromClient.start()
  fromApp.start()
  const got = { client: Buffer.alloc(0), app: Buffer.alloc(0) }
  client.on('data', bytes => {
    got.client = Buffer.concat([got.client, bytes])
  })
  app.on('data', bytes => {
    got.app = Buffer.concat([got.app, bytes])
  })
  const settle = async () => {
    for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
  }
  return { open, client, app, clock, got, settle, inputs: () => inputs, clientSocket }
}

test('OpenSocket closes at once between two frames, and passes nothing afterwards', async () => {
  const { open, client, app, got, settle } = start()
  app.write(frame('one'))
  await settle()
  open.close(1012, reason, 1000)
  app.write(frame('two'))
  client.write(clientFrame(1, 'late'))
  await settle()
  expect([got.client, got.app.length]).toEqual([Buffer.concat([frame('one'), last]), 0])
})

test('OpenSocket closes after the frame that is open, and before the next one', async () => {
  const { open, app, got, settle } = start(frame('begun').subarray(0, 4))
  await settle()
  got.client = Buffer.alloc(0)
  open.close(1012, reason, 1000)
  await settle()
  expect(got.client.length).toBe(0)
  app.write(Buffer.concat([frame('begun').subarray(4), frame('next')]))
  await settle()
  expect(got.client).toEqual(Buffer.concat([frame('begun').subarray(4), last]))
})

test('OpenSocket cuts when the frame does not end in time', async () => {
  const { open, clock, app, settle, clientSocket } = start(frame('begun').subarray(0, 4))
  await settle()
  open.close(1012, reason, 1000)
  app.write('e')
  await settle()
  expect(clientSocket.destroyed).toBe(false)
  clock.advance(1000)
  await settle()
  expect(clientSocket.destroyed).toBe(true)
})

test('OpenSocket counts frames of data that the client sends as input, and no pings', async () => {
  const { client, settle, inputs } = start()
  client.write(clientFrame(9, 'ping'))
  client.write(clientFrame(8, ''))
  await settle()
  expect(inputs()).toBe(0)
  client.write(clientFrame(2, 'a'))
  client.write(clientFrame(0, 'b'))
  await settle()
  expect(inputs()).toBe(2)
})
