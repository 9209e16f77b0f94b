/** Redis is emptied under traffic: the routes stay, and nobody gets in unasked. */
import { waitUntil } from '../../../../dev/process/api-client.ts'
import { systemClock } from '../../../../src/base/clock.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { echo } from '../../../kit/gateway/raw-app.ts'
import { clientFrame, GatewaySite, statusOf } from '../../../kit/gateway/site.ts'
import { isWhole } from './shared.ts'

/** What a gateway has read of a login holds for 5 s. */
const holdMs = 6000

attack(
  'gateway G8 an emptied Redis lets nobody in unasked, and takes no route away',
  async trial => {
    const site = await GatewaySite.start({ gateways: 2 })
    trial.context.onTestFinished(() => site.stop())
    const app = await site.app('emptied', echo)
    const cookie = await site.login('ada')
    const open = await Promise.all([0, 1].map(gateway => site.socket('emptied', cookie, gateway)))
    for (const wire of open) wire.write(clientFrame('before'))
    await Promise.all(open.map(wire => wire.has('before')))
    trial.injected()
    const beganMs = systemClock.monotonicMs()
    await site.admin.flushall()
    if ((await site.admin.dbsize()) < 5) trial.landed()
    await Promise.all(open.map(wire => wire.over()))
    const ms = systemClock.monotonicMs() - beganMs
    trial.took(ms)
    if (ms > holdMs) trial.violation(`a WebSocket lived for ${Math.round(ms)} ms`)
    await systemClock.sleep(Math.max(0, holdMs - ms))
    const before = app.lines.length
    for (const gateway of [0, 1]) {
      const status = statusOf(await site.ask('GET /console/apps/emptied/', [`Cookie: ${cookie}`], { gateway }))
      if (status !== 401) trial.violation(`a lost login was answered ${status} at gateway ${gateway + 1}`)
    }
    if (app.lines.length > before) trial.violation('the app got a request of a lost login')
    const again = await site.login('ada')
    for (const gateway of [0, 1]) {
      const status = statusOf(await site.ask('GET /console/apps/emptied/', [`Cookie: ${again}`], { gateway }))
      if (status !== 200) trial.violation(`a new login was answered ${status} at gateway ${gateway + 1}`)
    }
    if (isWhole) await mustWait(trial, site)
  },
  { concurrent: true },
)

/** A gateway that begins anew knows nothing: what has no route may have one. */
async function mustWait(trial: Trial, site: GatewaySite): Promise<void> {
  const [, second] = site.gateways
  trial.injected()
  const { ended } = second!
  second!.kill()
  await ended
  const waits = async () =>
    (await (await fetch(`${second!.monitoringUrl}/readyz`)).text()).includes('routes of all apps')
  await waitUntil(waits, { what: 'the gateway waits', limitMs: 30_000 })
  const headers = ['Authorization: Bearer ada-token']
  const status = statusOf(await site.ask('GET /console/apps/emptied/', headers, { gateway: 1 }))
  if (status === 503) trial.landed()
  else trial.violation(`a gateway without routes answered ${status}`)
  await site.completed()
  await second!.ready()
}
