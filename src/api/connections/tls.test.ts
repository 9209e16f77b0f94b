/** The API by HTTPS: all rules of plain HTTP hold, and incomplete handshakes delay nothing. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type IncomingMessage, request as plainRequest } from 'node:http'
import { Agent, request } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { apiParts, prefix, ScriptedFeed, scriptedLabs } from '../../../test/kit/api/scripted-api.ts'
import { ManualClock } from '../../../test/kit/clock.ts'
import { type Issued, TestAuthority } from '../../../test/kit/tls/authority.ts'
import type { LabEvent } from '../../base/domain.ts'
import { Certificates } from '../../tls/certificates.ts'
import { readPair } from '../../tls/files.ts'
import { startApiServer } from '../server.ts'

const event: LabEvent = { event: 'info', data: 'scheduled', id: '7-1' }
const headers = { Authorization: 'Bearer rra-token' }

let folder: string
let authority: TestAuthority
let served: Issued
let client: Issued
let stranger: Issued
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'skylab-api-tls-'))
  authority = new TestAuthority(folder)
  served = authority.issue('server', { alternatives: ['IP:127.0.0.1'] })
  client = authority.issue('client')
  stranger = new TestAuthority(folder, 'others').issue('stranger')
}, 60_000)
afterAll(() => rmSync(folder, { recursive: true }))

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

interface Options {
  readonly limits?: object
  readonly feed?: ScriptedFeed
  readonly clients?: 'known' | 'required'
  readonly identity?: object
}

async function start({ limits = {}, feed, clients, identity = {} }: Options = {}) {
  const files = { ...served, ...(clients && { clientCaFile: authority.caFile }) }
  const { certFile, keyFile } = files
  const paths = { certFile, keyFile, ...(clients && { clientCaFile: authority.caFile }) }
  const clock = new ManualClock()
  const log = { info() {}, warn() {}, error() {} }
  const certificates = new Certificates({ files: paths, first: await readPair(paths), clock, log })
  const labs = scriptedLabs(feed ? { events: async () => feed } : {})
  const parts = apiParts({ clock, labs }, { host: '127.0.0.1', port: 0, limits }, { identity })
  const tls = { certificates, requireClientCertificate: clients === 'required' }
  const server = await startApiServer({ ...parts, tls })
  cleanUps.push(async () => {
    const closed = server.close(1)
    clock.advance(1)
    await closed
  })
  return { ...server, clock }
}

type Started = Awaited<ReturnType<typeof start>>

function ask({ port }: Started, path: string, options: object = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const all = { host: '127.0.0.1', port, path: `${prefix}/${path}`, headers, agent: false, ca: authority.ca }
    request({ ...all, ...options }, resolve)
      .on('error', reject)
      .end()
  })
}

async function dial({ port }: Started, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, ca: authority.ca, ...options })
  cleanUps.push(() => socket.destroy())
  await once(socket, 'secureConnect')
  socket.on('error', () => {})
  return socket
}

test('the server speaks TLS 1.2 and 1.3, nothing older, and not plain HTTP', async () => {
  const server = await start()
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const { statusCode } = await ask(server, 'openapi.json', { minVersion: version, maxVersion: version })
    expect(statusCode).toBe(200)
  }
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' }
  await expect(ask(server, 'openapi.json', old)).rejects.toThrow()
  await expect(ask(server, 'openapi.json', { ca: stranger.cert })).rejects.toThrow(/certificate/)
  const plain = new Promise((resolve, reject) => {
    plainRequest(
      { host: '127.0.0.1', port: server.port, path: `${prefix}/openapi.json`, headers, agent: false },
      resolve,
    )
      .on('error', reject)
      .end()
  })
  await expect(plain).rejects.toThrow()
  expect((await ask(server, 'openapi.json')).statusCode).toBe(200)
})

test('the server answers input other than HTTP in the common form, over TLS too', async () => {
  const socket = await dial(await start())
  socket.write('HELLO\r\n\r\n')
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 .*"type":"malformed"/s)
})

test('the server answers 503 to a connection beyond the limit after its handshake', async () => {
  const server = await start({ limits: { maxConnections: 1 } })
  await dial(server)
  const second = await dial(server)
  expect(await text(second)).toMatch(/^HTTP\/1\.1 503 .*too many connections/s)
})

test('the server ends an event stream cleanly when it closes, and does not wait for connections without a handshake', async () => {
  const feed = new ScriptedFeed().push(event)
  const server = await start({ feed })
  const silent = connectTcp(server.port, '127.0.0.1')
  cleanUps.push(() => silent.destroy())
  silent.on('error', () => {})
  await once(silent, 'connect')
  const stream = await ask(server, 'labs/rra/events')
  await once(stream, 'data')
  const ended = Promise.all([text(stream), once(silent, 'close')])
  // No time passes: everything ends by itself, or never.
  await server.close(3_600_000)
  await ended
  expect(stream.complete).toBe(true)
})

test('the server refuses a client without a trusted certificate when one is required', async () => {
  const server = await start({ clients: 'required' })
  const known = { cert: client.cert, key: client.key }
  expect((await ask(server, 'openapi.json', known)).statusCode).toBe(200)
  await expect(ask(server, 'openapi.json')).rejects.toThrow()
  await expect(ask(server, 'openapi.json', { cert: stranger.cert, key: stranger.key })).rejects.toThrow()
})

test('the server closes a connection after one answer when certificates identify ingresses', async () => {
  const names = { userCertificateNames: ['user'], adminCertificateNames: ['admin'] }
  for (const [identity, shown, expected] of [
    [{ gafaelfawr: { baseUrl: 'https://x', ...names }, provider: 'gafaelfawr' }, client, 'close'],
    [{ gafaelfawr: { baseUrl: 'https://x', ...names }, provider: 'gafaelfawr' }, stranger, 'keep-alive'],
    [{}, client, 'keep-alive'],
  ] as const) {
    const server = await start({ clients: 'known', identity })
    const { cert, key } = shown
    const agent = new Agent({ keepAlive: true, ca: authority.ca })
    cleanUps.push(() => agent.destroy())
    const response = await ask(server, 'openapi.json', { cert, key, agent })
    response.resume()
    expect(response.headers.connection).toBe(expected)
  }
})

test('the server resumes no session when clients have certificates', async () => {
  for (const [clients, expected] of [
    ['known', false],
    [undefined, true],
  ] as const) {
    const server = await start(clients ? { clients } : {})
    const session = await new Promise<Buffer>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: server.port, ca: authority.ca, maxVersion: 'TLSv1.2' }, () =>
        resolve(socket.getSession()!),
      )
      cleanUps.push(() => socket.destroy())
      socket.on('error', reject)
    })
    const again = await dial(server, { session, maxVersion: 'TLSv1.2' })
    expect(again.isSessionReused()).toBe(expected)
  }
})
