/** The API and Redis with TLS: a rotation during open streams, and ingresses recognized by certificates. */
import { copyFileSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type PeerCertificate } from 'node:tls'
import { expect, type TestContext, test } from 'vitest'
import { eventually } from '../kit/cluster/world.ts'
import { type Fleet, startFleet } from '../kit/fleet/fleet.ts'
import { FakeGafaelfawr } from '../kit/identity/gafaelfawr.ts'
import { serverName, testTls } from '../kit/tls/tls.ts'
import { startIngress, strayPath } from './hosts/nginx.ts'

const prefix = '/nublado/spawner/v1'

/** The certificate that a replica sends to a new connection. */
function shownBy(fleet: Fleet, index: number): Promise<PeerCertificate> {
  const { port, hostname: host } = new URL(fleet.url(index))
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), ca: testTls().authority.ca }, () => {
      resolve(socket.getPeerCertificate())
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

test('a TLS stream goes on while the certificate is replaced, and ends cleanly when its replica drains', async context => {
  const { authority, server } = testTls()
  const files = (folder: string) => ({ certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') })
  const folder = join(server.certFile, '..', 'rotated')
  mkdirSync(folder, { recursive: true })
  const { certFile, keyFile } = files(folder)
  copyFileSync(server.certFile, certFile)
  copyFileSync(server.keyFile, keyFile)
  const fleet = await startFleet(context, {
    replicas: 2,
    tls: true,
    // No node has this label: a creation waits for one, and its stream stays open.
    config: { api: { tls: { certFile, keyFile } }, lab: { nodeSelector: { nowhere: 'at-all' } } },
  })
  expect(fleet.redis.url).toMatch(/^rediss:/)
  await expect(fetch(fleet.url(0).replace('https', 'http'))).rejects.toThrow()
  const user = fleet.user()
  expect((await user.at(fleet.url(0)).create()).status).toBe(303)
  const stream = await user.at(fleet.url(0)).events()
  const before = await shownBy(fleet, 0)
  const next = authority.issue('next', { alternatives: ['IP:127.0.0.1', `DNS:${serverName}`] })
  for (const [from, to] of [
    [next.certFile, certFile],
    [next.keyFile, keyFile],
  ] as const) {
    copyFileSync(from, `${to}.new`)
    renameSync(`${to}.new`, to)
  }
  for (const index of [0, 1]) {
    await eventually(
      'the new certificate',
      async () => (await shownBy(fleet, index)).fingerprint256 !== before.fingerprint256,
      30_000,
    )
  }
  const metrics = await (await fetch(`${fleet.monitoringUrl(0)}/metrics`)).text()
  expect(metrics).toMatch(/^skylab_tls_certificate_expires_timestamp_seconds\{server="api"\} \d/m)
  const read = (async () => {
    const events = []
    for await (const event of stream) events.push(event)
    return events
  })()
  await fleet.kill(0, 'SIGTERM')
  expect((await read).length).toBeGreaterThan(0)
  expect(stream.broken()).toBe(false)
  expect((await fleet.admin.delete(user.username)).status).toBe(202)
  expect((await user.follow()).outcome).toBe('complete')
})

async function startBehindNginx(context: TestContext) {
  const { authority, server } = testTls()
  const { certFile, keyFile } = server
  const gafaelfawr = await FakeGafaelfawr.start()
  context.onTestFinished(() => gafaelfawr.stop())
  const names = { user: 'ingress-user.skylab', admin: 'ingress-admin.skylab' }
  const [user, admin] = Object.values(names).map(name => authority.issue(name, { alternatives: [`DNS:${name}`] }))
  const fleet = await startFleet(context, {
    replicas: 1,
    tls: true,
    ready: false,
    config: {
      api: { tls: { certFile, keyFile, clientCaFile: authority.caFile } },
      identity: {
        provider: 'gafaelfawr',
        gafaelfawr: {
          baseUrl: gafaelfawr.url,
          userCertificateNames: [names.user],
          adminCertificateNames: [names.admin],
        },
      },
    },
  })
  await fleet.replica(0).ready()
  const ada = fleet.user()
  gafaelfawr.users.set(ada.token, { username: ada.username, uid: 4123, gid: 4123 })
  const people = [ada, fleet.admin].map(({ token, username }) => ({ token, username, isAdmin: username === 'admin' }))
  const port = await startIngress(context, {
    ...{
      stateDir: fleet.stateDir,
      port: Number(new URL(fleet.url(0)).port),
      secrets: { user: 'x', admin: 'x' },
      people,
    },
    tls: { caFile: authority.caFile, name: serverName, user: user!, admin: admin! },
  })
  const as = async (token: string, path: string, headers: Record<string, string> = {}) => {
    const all = { authorization: `Bearer ${token}`, ...headers }
    return (await fetch(`http://127.0.0.1:${port}${path}`, { headers: all })).status
  }
  return { fleet, ada, as }
}

test('nginx sends a certificate for each ingress, and shares no connection or session between them', async context => {
  const { fleet, ada, as } = await startBehindNginx(context)
  const { token } = fleet.admin
  const statuses = async (ask: () => Promise<number>) => {
    const all: number[] = []
    for (let i = 0; i < 10; i++) {
      expect(await as(token, `${prefix}/labs`)).toBe(200)
      all.push(await ask())
    }
    return new Set(all)
  }
  expect(await statuses(() => as(ada.token, `${prefix}/user-status`))).toEqual(new Set([404]))
  expect(await statuses(() => as(ada.token, strayPath))).toEqual(new Set([403]))
  // With the users' ingress, and forged headers of a client.
  const forged = { 'x-skylab-ingress-secret': 'x', 'x-auth-request-user': 'admin' }
  expect(await statuses(() => as(ada.token, strayPath, forged))).toEqual(new Set([403]))
  expect(await as(token, `${prefix}/openapi.json`)).toBe(200)
  // Directly to the replica, without a certificate.
  const headers = { 'x-auth-request-user': 'admin', 'x-auth-request-token': token }
  expect((await fetch(`${fleet.url(0)}${prefix}/labs`, { headers })).status).toBe(401)
})
