/** Open sockets and streams whose right ends: each is cut in time, and nothing passes afterwards. */
import { systemClock } from '../../../../src/base/clock.ts'
import { hashOf } from '../../../../src/store/apps/ids.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { echo, type RawApp } from '../../../kit/gateway/raw-app.ts'
import { clientFrame, cookieIn, type GatewaySite, origin } from '../../../kit/gateway/site.ts'
import type { Wire } from '../../../kit/gateway/wires.ts'
import { isWhole, sharedSite } from './shared.ts'

const sockets = isWhole ? 200 : 20
/** By a ring. */
const ringMs = 1000
/** By the sweep. */
const sweepMs = 5000
/** For the machine: connections of this process are closed one by one. */
const slackMs = 500

interface Target {
  readonly site: GatewaySite
  readonly id: string
  readonly app: RawApp
  readonly cookie: string
}

interface Kind {
  readonly name: string
  revoke(target: Target): Promise<unknown>
  readonly limitMs: number
  /** Whoever may comes in again. */
  readonly returns?: boolean
}

/** Of a server, with 1008. */
const closeFrame = /\x88[^\x00]\x03\xf0/

const hashIn = (cookie: string) => hashOf(cookie.slice(cookie.indexOf('=') + 1))!

const kinds: readonly Kind[] = [
  { name: 'a logout', revoke: logOut, limitMs: ringMs },
  { name: 'a revoked user', revoke: ({ site }) => site.revocations.revoke({ user: 'ada' }), limitMs: ringMs },
  {
    name: 'a revoked app',
    revoke: ({ site, id }) => site.revocations.revoke({ appId: id }),
    limitMs: ringMs,
    returns: true,
  },
  {
    name: 'a member who was taken off the LNamespace',
    revoke: ({ site }) => site.group('revoked', ['grace']),
    limitMs: ringMs,
  },
  { name: 'another group', revoke: again({ group: 'chemistry' }), limitMs: ringMs },
  { name: 'a stop', revoke: again({ phase: 'Stopped' }), limitMs: ringMs },
  { name: 'a deletion', revoke: ({ site, id }) => site.routes.remove(id, `uid-of-${id}`), limitMs: ringMs },
  {
    name: 'a login that ends without a ring',
    revoke: ({ site, cookie }) => site.admin.del(site.keys.apps.login(hashIn(cookie))),
    limitMs: sweepMs,
    // What a gateway has read of it holds for as long.
    returns: true,
  },
]

function again(change: object): Kind['revoke'] {
  return ({ site, id, app }) => site.route(id, { group: 'revoked', address: app.address, ...change })
}

async function logOut({ site, cookie }: Target): Promise<void> {
  const token = /name="token" value="([^"]+)"/.exec(await site.ask('GET /console/logout', [`Cookie: ${cookie}`]))?.[1]
  const headers = [`Cookie: ${cookie}`, `Origin: ${origin}`, 'Content-Type: application/x-www-form-urlencoded']
  await site.ask('POST /console/logout', headers, { body: `token=${token}` })
}

for (const [index, kind] of kinds.entries()) {
  attack(
    `gateway G2 ${kind.name} cuts what is open`,
    async trial => {
      const target = await start(await sharedSite(), `revoked-${index}`)
      const open = await openAll(target)
      const stream = await openStream(target)
      await echoed(open, 'before')
      trial.injected(open.length + 1)
      const beganMs = systemClock.monotonicMs()
      await kind.revoke(target)
      await Promise.all([...open, stream].map(wire => mustEnd(trial, wire, kind, beganMs)))
      const closed = open.filter(({ text }) => closeFrame.test(text)).length
      trial.figure('closed', closed)
      if (closed < open.length) trial.violation(`${open.length - closed} WebSockets were cut without a close`)
      if (!kind.returns) await mustStayOut(trial, target)
    },
    { concurrent: kind.limitMs > ringMs },
  )
}

/** Each time of its own, since a halt of the process is as long as all others together. */
if (isWhole) {
  attack('gateway G2 a halt of 10 s carries nothing for somebody who was revoked meanwhile', async trial => {
    const target = await start(await sharedSite(), 'revoked-halt')
    const open = await openAll(target)
    await echoed(open, 'before')
    trial.injected(open.length)
    for (const gateway of target.site.gateways) gateway.kill('SIGSTOP')
    await target.site.revocations.revoke({ user: 'ada' })
    const before = target.app.wires.map(({ bytes }) => bytes)
    for (const wire of open) wire.write(clientFrame('late'))
    await systemClock.sleep(10_000)
    const beganMs = systemClock.monotonicMs()
    for (const gateway of target.site.gateways) gateway.kill('SIGCONT')
    await Promise.all(open.map(wire => mustEnd(trial, wire, { name: 'a halt', limitMs: sweepMs }, beganMs)))
    const passed = target.app.wires.filter(({ bytes }, i) => bytes > before[i]!).length
    if (passed > 0) trial.violation(`${passed} apps got a byte after the halt`)
  })
}

async function start(site: GatewaySite, id: string): Promise<Target> {
  await site.group('revoked', ['ada', 'grace'])
  const app = await site.app(id, echo, { group: 'revoked' })
  return { site, id, app, cookie: await site.login('ada') }
}

async function openAll({ site, id, cookie }: Target): Promise<Wire[]> {
  const entered = cookieIn(
    await site.ask(`GET /console/apps/${id}/`, [`Cookie: ${cookie}`]),
    'phapplication-session-id',
  )
  const all = Array.from({ length: sockets }, (_, i) => site.socket(id, `${cookie}; ${entered}`, i % 2))
  return Promise.all(all)
}

async function openStream({ site, id, cookie }: Target): Promise<Wire> {
  const client = await site.client(1)
  client.write(`GET /console/apps/${id}/stream HTTP/1.1\r\nHost: platform.example.org\r\nCookie: ${cookie}\r\n\r\n`)
  await client.has('drip')
  return client
}

async function echoed(open: readonly Wire[], word: string): Promise<void> {
  for (const wire of open) wire.write(clientFrame(word))
  await Promise.all(open.map(wire => wire.has(word)))
}

async function mustEnd(trial: Trial, wire: Wire, { name, limitMs }: Pick<Kind, 'name' | 'limitMs'>, beganMs: number) {
  const isInTime = await Promise.race([
    wire.over().then(() => true),
    systemClock.sleep(limitMs + slackMs).then(() => false),
  ])
  const ms = systemClock.monotonicMs() - beganMs
  trial.took(ms)
  if (isInTime) trial.landed()
  else trial.violation(`${name}: something was still open after ${Math.round(ms)} ms`)
}

async function mustStayOut(trial: Trial, { site, id, cookie, app }: Target): Promise<void> {
  const before = app.lines.length
  await site.ask(`GET /console/apps/${id}/`, [`Cookie: ${cookie}`])
  if (app.lines.length > before) trial.violation('somebody was let in again')
}
