import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { type Certificate, json, makeCertificate, ScriptedServer } from '../../test/kit/kube/server.ts'
import { silentLog } from '../../test/kit/log.ts'
import { KubeClient } from './client.ts'

const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } }

let folder: string
let certificate: Certificate
let server: ScriptedServer
let client: KubeClient
let clock: ManualClock
const gate = createServer()
const behind: Socket[] = []
/** A connection that was accepted, and whose first bytes are held back. */
let arrived: PromiseWithResolvers<Socket>

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skylab-kube-'))
  certificate = makeCertificate(folder, 'gate')
  gate.on('connection', socket => {
    behind.push(socket.on('error', () => {}))
    arrived.resolve(socket)
  })
  await new Promise<void>(resolve => gate.listen(0, '127.0.0.1', resolve))
})

afterAll(() => {
  gate.close()
  rmSync(folder, { recursive: true })
})

beforeEach(async () => {
  arrived = Promise.withResolvers()
  server = await new ScriptedServer(certificate).listen()
  server.fallback = json(namespace, 201)
  const { port } = gate.address() as AddressInfo
  const kubeconfig = server.kubeconfig({ token: 't' }, { server: `https://127.0.0.1:${port}` })
  const kubernetes = { kubeconfig, requestTimeoutSeconds: 10, maxInFlight: 4 }
  clock = new ManualClock()
  client = new KubeClient({ kubernetes, version: '0', replica: 'r', clock, log: silentLog })
})

afterEach(async () => {
  await client.close()
  for (const socket of behind.splice(0)) socket.destroy()
  await server.close()
})

async function open(): Promise<void> {
  const socket = await arrived.promise
  socket.pipe(connect(server.port, '127.0.0.1').on('error', () => {})).pipe(socket)
}

/** Runs all pending work that waits for no timer. */
const settled = () => new Promise(resolve => setImmediate(resolve))

describe('Transport, while a connection is being opened,', () => {
  test('sends the write that waits for it', async () => {
    const written = client.create(namespace)
    await open()
    await written
    expect(server.received).toHaveLength(1)
  })

  test('does not send a write whose deadline has passed meanwhile', async () => {
    const written = client.create(namespace, { agent: 'op=1' })
    written.catch(() => {})
    await arrived.promise
    clock.advance(await clock.sleepBetween(10_000, 10_000))
    await client.settled('op=1')
    // The next attempt waits, so it is not the one that the connection is for.
    await clock.sleepBetween(100, 200)
    const [socket] = behind
    const ended = new Promise(resolve => socket!.on('close', resolve))
    await open()
    await ended
    expect(server.received).toEqual([])
  })

  test('does not send a write whose signal was aborted meanwhile', async () => {
    const stop = new AbortController()
    const written = client.create(namespace, { signal: stop.signal, agent: 'op=1' })
    written.catch(() => {})
    await arrived.promise
    stop.abort(new Error('lease lost'))
    await expect(written).rejects.toThrow('lease lost')
    await open()
    await client.settled('op=1')
    expect(server.connections).toBe(1)
    expect(server.received).toEqual([])
  })
})

test('Transport closes a connection that was idle for 30 s', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  // As API servers answer: without a Keep-Alive header, by which the client would go.
  server.fallback = json(namespace, 201, { Connection: 'keep-alive' })
  const written = client.create(namespace)
  await open()
  await written
  const closed = new Promise(resolve => behind[0]!.on('close', resolve))
  await settled()
  vi.advanceTimersByTime(29_999)
  await client.create(namespace)
  await settled()
  expect(server.connections).toBe(1)
  vi.advanceTimersByTime(30_000)
  await closed
})
