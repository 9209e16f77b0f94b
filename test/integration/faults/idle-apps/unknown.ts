/**
 * apps K2: unknown is not idle. A gateway that was there is cut off from Redis, so nobody knows what it lets through. Apps whose
 * time is over are looked at again and again, and none is stopped. Those that were used meanwhile are kept when it is back, and
 * the others end at once.
 */
import type { IdleApps } from '../../../kit/apps/idle-apps.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { isWhole } from '../points.ts'
import { idleApps } from './shared.ts'

const count = isWhole ? 20 : 2
const checks = isWhole ? 6 : 1
/** By then a gateway that has not told is behind. */
const behindMs = 20_000

async function cutOff(trial: Trial): Promise<void> {
  const apps = await idleApps()
  const gateway = await apps.gateway(trial, 'g')
  const ids = await apps.idle(count, 'k2')
  const used = ids.filter((_, i) => i % 2 === 0)
  await gateway.flushed()
  await gateway.cut()
  await apps.passForGateways(behindMs)
  gateway.use(...used)
  trial.injected(count)
  await Promise.all(ids.map(id => withstand(trial, apps, id)))
  await gateway.mend()
  await gateway.flushed()
  for (const id of ids) await apps.check(id)
  for (const id of ids) {
    const isStopped = await apps.isStopped(id)
    if (isStopped && used.includes(id)) trial.violation(`${id} was used while its gateway was cut off, and is stopped`)
    if (!isStopped && !used.includes(id)) trial.violation(`${id} is idle, and is not stopped when its gateway is back`)
  }
  trial.figure('stops', apps.stops().length)
}

async function withstand(trial: Trial, apps: IdleApps, id: string): Promise<void> {
  for (let i = 0; i < checks; i += 1) await apps.check(id)
  if (apps.stops(id).length > 0 || (await apps.isStopped(id))) return trial.violation(`${id} is stopped by silence`)
  await eventually(`${id} is unknown`, async () => (await apps.state(id)) === 'unknown')
  trial.landed()
}

attack('apps K2 gateways that are cut off from Redis', cutOff, { limitMs: 600_000 })
