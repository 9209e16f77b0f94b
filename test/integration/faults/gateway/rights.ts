/** Requests without the right to an app: each is refused, and the app gets no byte. */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { echo, type RawApp } from '../../../kit/gateway/raw-app.ts'
import { cookieIn, type GatewaySite, host, origin, statusOf, upgrade } from '../../../kit/gateway/site.ts'
import { refusals, sharedSite } from './shared.ts'

const forged = (name: string) => `${name}=${'x'.repeat(42)}A`
const login = '__Host-Http-skylab-login'
const session = 'phapplication-session-id'

interface Blow {
  readonly name: string
  readonly bytes: string
  readonly status: number
}

const get = (path: string, cookies: readonly string[]) =>
  `${[`GET ${path} HTTP/1.1`, `Host: ${host}`, 'Connection: close', `Cookie: ${cookies.join('; ')}`].join('\r\n')}\r\n\r\n`

attack('gateway G1 a request without a right reaches no app', async trial => {
  const site = await sharedSite()
  const physics = await site.app('rights-physics', echo)
  const chemistry = await site.app('rights-chemistry', echo, { group: 'chemistry' })
  const [ada, eve] = [await site.login('ada'), await site.login('eve')]
  const adas = cookieIn(await site.ask('GET /console/apps/rights-physics/', [`Cookie: ${ada}`]), session)
  const before = [physics, chemistry].map(({ text }) => text)
  const [a, b] = ['/console/apps/rights-physics/blow', '/console/apps/rights-chemistry/blow']
  const ws = (cookies: readonly string[], from?: string) => upgrade(a, [`Cookie: ${cookies.join('; ')}`], from)
  const blows: readonly Blow[] = [
    { name: 'no cookie', bytes: get(a, []), status: 401 },
    { name: 'forged ids', bytes: get(a, [forged(login), forged(session)]), status: 401 },
    { name: 'a forged login beside a session', bytes: get(a, [forged(login), adas]), status: 401 },
    { name: 'a session alone', bytes: get(a, [adas]), status: 401 },
    { name: 'the session of another app', bytes: get(b, [ada, adas]), status: 403 },
    { name: 'the session of another', bytes: get(a, [eve, adas]), status: 403 },
    { name: 'another', bytes: get(a, [eve]), status: 403 },
    { name: 'a bare upgrade', bytes: ws([]), status: 401 },
    { name: 'an upgrade of another', bytes: ws([eve]), status: 403 },
    { name: 'an upgrade of another site', bytes: ws([ada, adas], 'https://evil.example.org'), status: 403 },
    { name: 'an upgrade of a file', bytes: ws([ada, adas], 'null'), status: 403 },
    { name: 'an upgrade of the same site by http', bytes: ws([ada, adas], `http://${host}`), status: 403 },
    { name: 'an upgrade to HTTP/2', bytes: ws([ada, adas]).replace('Upgrade: websocket', 'Upgrade: h2c'), status: 405 },
    { name: 'a token that nobody has', bytes: get(a, []).replace('Cookie: ', 'Authorization: Bearer x'), status: 401 },
  ]
  const refused = await refusals(site)
  for (const gateway of [0, 1]) {
    for (const blow of blows) await strike(trial, site, blow, gateway)
  }
  const counted = (await refusals(site)) - refused
  if (counted !== 2 * blows.length) trial.violation(`${counted} of ${2 * blows.length} refusals were counted`)
  await logout(trial, site, { id: 'rights-physics', user: 'ada', cookie: ada })
  await namesake(trial, site)
  for (const [i, app] of [physics, chemistry].entries()) mustBeSilent(trial, app, before[i]!)
})

async function strike(trial: Trial, site: GatewaySite, { name, bytes, status }: Blow, gateway: number): Promise<void> {
  trial.injected()
  const client = await site.client(gateway)
  client.write(bytes)
  await client.has('\r\n\r\n')
  const answered = statusOf(client.text)
  client.socket.destroy()
  if (answered === status) trial.landed()
  else if (answered < 400) trial.violation(`${name} was let in: ${answered}`)
  else trial.violation(`${name} was answered ${answered}, not ${status}`)
}

/** Both cookies are void at both gateways, at once. */
async function logout(
  trial: Trial,
  site: GatewaySite,
  { id, cookie }: { readonly id: string; readonly user: string; readonly cookie: string },
): Promise<void> {
  const page = await site.ask('GET /console/logout', [`Cookie: ${cookie}`])
  const token = /name="token" value="([^"]+)"/.exec(page)?.[1]
  const headers = [`Cookie: ${cookie}`, `Origin: ${origin}`, 'Content-Type: application/x-www-form-urlencoded']
  const done = await site.ask('POST /console/logout', headers, { body: `token=${token}` })
  if (statusOf(done) !== 303) trial.violation(`a logout was answered ${statusOf(done)}`)
  for (const gateway of [0, 1]) {
    await strike(
      trial,
      site,
      { name: 'a login that has ended', bytes: get(`/console/apps/${id}/blow`, [cookie]), status: 401 },
      gateway,
    )
  }
}

/** A session of an app that is gone opens no app of the same name: its visitor needs a new one. */
async function namesake(trial: Trial, site: GatewaySite): Promise<void> {
  await site.app('rights-name', echo, { uid: 'former' })
  const cookie = await site.login('grace')
  const former = cookieIn(await site.ask('GET /console/apps/rights-name/', [`Cookie: ${cookie}`]), session)
  await site.routes.remove('rights-name', 'former')
  const app = await site.app('rights-name', echo, { uid: 'namesake' })
  trial.injected()
  const answer = await site.ask('GET /console/apps/rights-name/', [`Cookie: ${cookie}; ${former}`])
  if (app.lines.length === 1) trial.landed()
  if (!/^set-cookie: phapplication-session-id=/im.test(answer))
    trial.violation('the session of a deleted namesake holds')
}

function mustBeSilent(trial: Trial, app: RawApp, before: string): void {
  if (app.text !== before)
    trial.violation(`an app got ${JSON.stringify(app.text.slice(before.length, before.length + 100))}`)
}
