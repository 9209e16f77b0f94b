import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { type Certificate, json, makeCertificate, ScriptedServer, status } from '../../test/kit/kube/server.ts'
import { keepingLog, silentLog } from '../../test/kit/log.ts'
import { NeedsSomeone } from '../base/errors.ts'
import { KubeClient } from './client.ts'
import { CredentialSource } from './credentials.ts'

const ref = { apiVersion: 'v1', kind: 'Namespace', name: 'a' }
const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } }

let folder: string
let first: Certificate
let second: Certificate
let server: ScriptedServer
let clock: ManualClock
const clients: KubeClient[] = []

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'skylab-kube-'))
  first = makeCertificate(folder, 'first')
  second = makeCertificate(folder, 'second')
})

afterAll(() => rmSync(folder, { recursive: true }))

beforeEach(async () => {
  clock = new ManualClock()
  server = await new ScriptedServer(first).listen()
  server.fallback = json(namespace)
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await Promise.all(clients.splice(0).map(client => client.close()))
  await server.close()
})

function connect(kubeconfig: string, context?: string): KubeClient {
  const kubernetes = { kubeconfig, context, requestTimeoutSeconds: 10, maxInFlight: 4 }
  const client = new KubeClient({ kubernetes, version: '0', replica: 'r', clock, log: silentLog })
  clients.push(client)
  return client
}

const tokens = () => server.received.map(request => request.headers.authorization)

describe('CredentialSource with a token', () => {
  test('reads the token’s file again when the token is refused', async () => {
    const tokenFile = join(server.folder, 'token')
    writeFileSync(tokenFile, 'old\n')
    const client = connect(server.kubeconfig({ tokenFile: 'token' }))
    await client.get(ref)
    writeFileSync(tokenFile, 'new\n')
    server.fallback = (request, response) => {
      const answer = request.headers.authorization === 'Bearer new' ? json(namespace) : status(401, 'Unauthorized')
      answer(request, response)
    }
    clock.advance(2_000)
    const read = client.get(ref)
    clock.advance(await clock.sleepBetween(100, 200))
    await read
    expect(tokens()).toEqual(['Bearer old', 'Bearer old', 'Bearer new'])
  })

  test('reads a changed kubeconfig within ten seconds', async () => {
    const client = connect(server.kubeconfig({ token: 'one' }))
    await client.get(ref)
    server.kubeconfig({ token: 'two' })
    await client.get(ref)
    clock.advance(10_000)
    await client.get(ref)
    expect(tokens()).toEqual(['Bearer one', 'Bearer one', 'Bearer two'])
  })

  test('leads to RetryLater when a token is always refused, since it may be rotated later', async () => {
    server.fallback = status(401, 'Unauthorized', 'Unauthorized')
    const read = connect(server.kubeconfig()).get(ref)
    read.catch(() => {})
    for (const fullMs of [200, 400, 800, 1600]) clock.advance(await clock.sleepBetween(fullMs / 2, fullMs))
    await expect(read).rejects.toMatchObject({ name: 'RetryLater' })
  })

  /** A kubeconfig whose plugin returns `t1`, `t2`, … on successive runs. */
  function countingPlugin(): string {
    const script = join(server.folder, 'plugin')
    const count = join(server.folder, 'count')
    const credential = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t'
    writeFileSync(script, `#!/bin/sh\necho run >> ${count}\necho '${credential}'$(wc -l < ${count})'"}}'\n`)
    chmodSync(script, 0o700)
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: script, interactiveMode: 'Never' }
    return server.kubeconfig({ exec })
  }

  async function readRefused(client: KubeClient): Promise<void> {
    server.script.push(status(401, 'Unauthorized'))
    const read = client.get(ref)
    clock.advance(await clock.sleepBetween(100, 200))
    await read
  }

  test('runs an exec plugin once, and again only when its token is refused', async () => {
    const client = connect(countingPlugin())
    await client.get(ref)
    clock.advance(60_000)
    await client.get(ref)
    clock.advance(2_000)
    await readRefused(client)
    expect(tokens()).toEqual(['Bearer t1', 'Bearer t1', 'Bearer t1', 'Bearer t2'])
  })

  test('does not run the plugin again at once when its new token is refused', async () => {
    const client = connect(countingPlugin())
    await client.get(ref)
    clock.advance(2_000)
    await readRefused(client)
    await readRefused(client)
    expect(tokens()).toEqual(['t1', 't1', 't2', 't2', 't2'].map(token => `Bearer ${token}`))
  })
})

describe('CredentialSource with a certificate', () => {
  test('verifies the server', async () => {
    const ca = Buffer.from(second.ca).toString('base64')
    const read = connect(server.kubeconfig({ token: 't' }, { 'certificate-authority-data': ca })).get(ref)
    read.catch(() => {})
    for (const fullMs of [200, 400, 800, 1600]) clock.advance(await clock.sleepBetween(fullMs / 2, fullMs))
    await expect(read).rejects.toThrow(/certificate/)
    expect(server.received).toEqual([])
  })

  test('trusts a new CA as soon as the CA’s file is replaced', async () => {
    const caFile = join(server.folder, 'ca.crt')
    writeFileSync(caFile, first.ca)
    const cluster = { 'certificate-authority-data': undefined, 'certificate-authority': 'ca.crt' }
    const client = connect(server.kubeconfig({ token: 't' }, cluster))
    await client.get(ref)

    const renewed = new ScriptedServer(second)
    renewed.fallback = json(namespace)
    const { port } = server
    await server.cut()
    await renewed.listen(port)
    writeFileSync(caFile, second.ca)
    clock.advance(2_000)
    const read = client.get(ref)
    clock.advance(await clock.sleepBetween(100, 200))
    await read
    expect(renewed.received).toHaveLength(1)
    await renewed.close()
  })

  test('presents its own certificate', async () => {
    const clientCertificate = Buffer.from(first.cert).toString('base64')
    const clientKey = Buffer.from(first.key).toString('base64')
    const user = { 'client-certificate-data': clientCertificate, 'client-key-data': clientKey }
    const source = new CredentialSource({ kubeconfig: server.kubeconfig(user), clock, log: silentLog })
    const { tls, headers } = await source.current()
    expect(String(tls.cert)).toBe(first.cert)
    expect(String(tls.key)).toBe(first.key)
    expect(headers).toEqual({})
  })
})

describe('CredentialSource', () => {
  const source = (kubeconfig?: string, context?: string) =>
    new CredentialSource({ kubeconfig, context, clock, log: silentLog })

  test('ignores kubeconfigs in the home directory and the environment', async () => {
    vi.stubEnv('KUBECONFIG', server.kubeconfig())
    vi.stubEnv('KUBERNETES_SERVICE_HOST', '')
    await expect(source().current()).rejects.toThrow(NeedsSomeone)
    await expect(source().current()).rejects.toThrow('this is no pod of a cluster')
  })

  test.each([
    ['a file that is not there', () => '/nonexistent/kubeconfig', undefined, 'no such file'],
    ['a context that is not in it', () => server.kubeconfig(), 'other', 'has no context "other"'],
    ['a proxy', () => server.kubeconfig({}, { 'proxy-url': 'http://p' }), undefined, 'proxy, which is not supported'],
  ])('refuses %s, with a reason', async (_name, kubeconfig, context, words) => {
    await expect(source(kubeconfig(), context).current()).rejects.toThrow(words)
  })

  test('keeps the last credentials when they cannot be read again, and logs it', async () => {
    const log = keepingLog()
    const kubeconfig = server.kubeconfig({ token: 'kept' })
    const kept = new CredentialSource({ kubeconfig, clock, log })
    const before = await kept.current()
    writeFileSync(kubeconfig, 'half a fi: [')
    clock.advance(10_000)
    expect(await kept.current()).toBe(before)
    expect(log.messages).toEqual(['warn: credentials for Kubernetes could not be read again'])
  })

  test('keeps the path of a server that has one', async () => {
    const client = connect(server.kubeconfig({ token: 't' }, { server: `${server.url}/k8s/clusters/c-1/` }))
    await client.get(ref)
    expect(server.received[0]!.path).toBe('/k8s/clusters/c-1/api/v1/namespaces/a')
  })
})
