/** A forged `Host` over raw connections, directly to a replica and through nginx: it reaches only the target's route. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { stringify } from 'yaml'
import { freePort } from '../../dev/process/ports.ts'
import { stopProcess } from '../../dev/process/process.ts'
import { startServer } from '../../dev/process/server.ts'
import { forgedHosts } from '../kit/api/forged-hosts.ts'
import { testBed } from '../kit/testbed.ts'
import { startBehindIngress } from './behind-ingress.ts'
import { startIngress } from './hosts/nginx.ts'
import { headOf, type Statuses, sendAll } from './hosts/send.ts'

const prefix = '/nublado/spawner/v1'
const inside = ['/metrics', '/healthz', '/readyz']
const isWhole = process.env.SKYLAB_FAULTS === 'all'
const count = isWhole ? 10_000 : 2000
/** Without Redis an older release takes a second for each list of labs. */
const formerCount = 200
/** A checkout of an earlier release, which shows the fault that this test guards against. */
const former = process.env.SKYLAB_FORMER

/** The paths that a forged Host tries to reach, with any method. */
const wanted = [`${prefix}/labs`, `${prefix}/labs/victim`, `${prefix}/images`, `${prefix}/prepulls`, ...inside]
/** Request lines that a user may send. */
const lines = ['GET user-status', 'DELETE user-status', 'GET openapi.json', 'GET lab-form/somebody']

/** Number of requests by route, without the routes of the monitoring port. */
async function routesAt(url: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const counts = new Map<string, number>()
  for (const [, route, times] of text.matchAll(
    /^skylab_http_request_duration_seconds_count\{.*route="(.+?)".*\} (\d+)$/gm,
  ))
    if (!inside.includes(route!)) counts.set(route!, (counts.get(route!) ?? 0) + Number(times))
  return counts
}

function differenceOf(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Record<string, number> {
  const more = [...after].map(([route, times]) => [route, times - (before.get(route) ?? 0)] as const)
  return Object.fromEntries(more.filter(([, times]) => times > 0))
}

function forgedHeads(sent: number, headers: Readonly<Record<string, string>>): Buffer[] {
  const origin = 'http://skylab.example.org'
  return [...forgedHosts(wanted, sent)].map(({ host }, index) => {
    const [method, path] = lines[(index + Math.floor(index / lines.length)) % lines.length]!.split(' ')
    const from = index % 2 === 0 ? '' : origin
    return headOf(`${method} ${from}${prefix}/${path}`, { Host: host, ...headers })
  })
}

function report(way: string, sent: number, statuses: Statuses, reached: Record<string, number>): void {
  process.stdout.write(`RESULT hosts ${way} ${JSON.stringify({ sent, statuses, reached })}\n`)
}

async function startReplica(context: TestContext) {
  const { gafaelfawr, fleet, secrets } = await startBehindIngress(context)
  const user = fleet.user()
  gafaelfawr.users.set(user.token, { username: user.username, uid: 4123, gid: 4123 })
  const byUsers = {
    'X-Auth-Request-User': user.username,
    'X-Auth-Request-Token': user.token,
    'X-Skylab-Ingress-Secret': secrets.user,
  }
  return { fleet, user, secrets, byUsers, port: Number(new URL(fleet.url(0)).port), monitoring: fleet.monitoringUrl(0) }
}

test('a replica answers 400 to every forged Host, and has no monitoring on its port for any Host', async context => {
  const { byUsers, port, monitoring } = await startReplica(context)
  const before = await routesAt(monitoring)
  const statuses = await sendAll(port, forgedHeads(count, byUsers), 8)
  const reached = differenceOf(before, await routesAt(monitoring))
  report('bare', count, statuses, reached)
  expect(statuses).toEqual({ 400: count })
  expect(reached).toEqual({ unknown: count })
  const hosts = ['skylab', 'skylab.example.org:443', '127.0.0.1', '[::1]:8080', 'a_b', `${'x'.repeat(253)}:1`]
  const probes = hosts.flatMap(Host => inside.map(path => headOf(`GET ${path}`, { Host, ...byUsers })))
  expect(await sendAll(port, probes, 8)).toEqual({ 404: probes.length })
  const served = hosts.map(Host => headOf(`GET ${prefix}/openapi.json`, { Host, ...byUsers }))
  expect(await sendAll(port, served, 8)).toEqual({ 200: served.length })
})

test('a replica behind nginx answers 400 to every forged Host, and an ingress opens its own routes alone', async context => {
  const { fleet, user, secrets, port, monitoring } = await startReplica(context)
  const people = [user, fleet.admin].map(({ token, username }) => ({ token, username, isAdmin: username === 'admin' }))
  const ingress = await startIngress(context, { stateDir: fleet.stateDir, port, secrets, people })
  const as = async (token: string, path: string) =>
    (await fetch(`http://127.0.0.1:${ingress}${path}`, { headers: { authorization: `Bearer ${token}` } })).status
  expect(await as(user.token, `${prefix}/user-status`)).toBe(404)
  expect(await as(user.token, `${prefix}/labs`)).toBe(403)
  expect(await as(fleet.admin.token, `${prefix}/labs`)).toBe(200)
  for (const path of inside) expect(await as(fleet.admin.token, path)).toBe(404)

  const before = await routesAt(monitoring)
  const authorization = { Authorization: `Bearer ${user.token}` }
  const heads = forgedHeads(count, authorization)
  const statuses = await sendAll(ingress, heads, 1)
  const reached = differenceOf(before, await routesAt(monitoring))
  report('nginx', count, statuses, reached)
  // nginx answers 400 too when it refuses; it has passed on the others.
  expect(statuses).toEqual({ 400: count })
  expect(Object.keys(reached)).toEqual(['unknown'])
})

/** A replica of another checkout, without Redis and cluster: its routes work all the same. */
async function startFormer(context: TestContext, checkout: string) {
  const stateDir = join(testBed().stateDir, 'former')
  mkdirSync(stateDir, { recursive: true })
  const cluster = { name: 'none', cluster: { server: 'https://127.0.0.1:1' } }
  const within = { name: 'none', context: { cluster: 'none', user: 'none' } }
  const kubeconfig = { clusters: [cluster], users: [{ name: 'none', user: {} }], contexts: [within] }
  const secrets = { user: 'known-to-the-ingress-of-users', admin: 'known-to-that-of-administrators' }
  const config = {
    api: { host: '127.0.0.1' },
    redis: { url: 'redis://127.0.0.1:1' },
    kubernetes: { kubeconfig: 'kubeconfig.json' },
    identity: {
      provider: 'gafaelfawr',
      gafaelfawr: { baseUrl: 'http://127.0.0.1:1', secretFiles: ['user', 'admin'] },
    },
    sealing: { keyFiles: ['sealing.key'] },
  }
  const files = {
    ...secrets,
    'kubeconfig.json': JSON.stringify({ ...kubeconfig, 'current-context': 'none' }),
    'sealing.key': Buffer.alloc(32).toString('base64'),
    'skylab.yaml': stringify(config, { version: '1.1' }),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(stateDir, name), text, { mode: 0o600 })
  const port = await freePort()
  const args = [join(checkout, 'src/main.ts'), 'serve', '--config', join(stateDir, 'skylab.yaml')]
  const spec = { name: 'former', command: process.execPath, args, stateDir, env: { SKYLAB_PORT: String(port) } }
  const answers = async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok
  await startServer(spec, { answers, limitMs: 60_000 })
  context.onTestFinished(() => stopProcess(stateDir, 'former', 2000))
  return { stateDir, port, secrets, url: `http://127.0.0.1:${port}` }
}

test.runIf(former)(
  'an earlier release lets a forged Host reach other routes, directly and behind nginx',
  async context => {
    const { stateDir, port, secrets, url } = await startFormer(context, former!)
    const people = [{ token: 'of-ada', username: 'ada', isAdmin: false }]
    const ingress = await startIngress(context, { stateDir, port, secrets, people })
    const byUsers = {
      'X-Auth-Request-User': 'ada',
      'X-Auth-Request-Token': 'x',
      'X-Skylab-Ingress-Secret': secrets.user,
    }
    for (const [way, to, depth, headers] of [
      ['bare', port, 8, byUsers],
      ['nginx', ingress, 1, { Authorization: 'Bearer of-ada' }],
    ] as const) {
      const before = await routesAt(url)
      const statuses = await sendAll(to, forgedHeads(formerCount, headers), depth)
      const reached = differenceOf(before, await routesAt(url))
      report(`former, ${way}`, formerCount, statuses, reached)
      expect(reached[`${prefix}/labs/:username`]).toBeGreaterThan(0)
      expect(reached[`${prefix}/labs`]).toBeGreaterThan(0)
    }
  },
  180_000,
)
