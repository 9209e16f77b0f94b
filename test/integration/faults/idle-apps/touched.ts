/**
 * apps K3: somebody comes back through a gateway between the look that shows an app as idle and the script that stops it, or the
 * patch of `spec.stop`. Whoever is first is kept, whoever is second reads that it is being stopped.
 */
import { type IdleApps, type TestGateway, timeoutMs } from '../../../kit/apps/idle-apps.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { isWhole } from '../points.ts'
import { idleApps } from './shared.ts'

const count = isWhole ? 12 : 2
const rounds = isWhole ? 12 : 1

const points = ['idle.stopping', 'idle.requested', 'idle.looked'] as const

async function meet(trial: Trial, apps: IdleApps, gateway: TestGateway, id: string, point: string): Promise<void> {
  const arm = apps.fleet.failpoints.arm(point, 'hold', { user: `app:${id}` })
  trial.injected()
  const ended = await apps.checking(id)
  await apps.makeDue(id)
  await arm.landed()
  const before = apps.stops(id).length
  const reply = await gateway.traffic.touch({ kind: 'app', id })
  arm.release()
  // A look that was held for too long wants no stop.
  await ended()
  arm.disarm()
  trial.landed()
  const isStopped = await apps.isStopped(id)
  const stop = apps.stops(id)[before]
  if (reply === 'kept' && isStopped) trial.violation(`${point} ${id}: kept by the reply, and stopped (${stop?.result})`)
  if (reply === 'stopping' && !isStopped) trial.violation(`${point} ${id}: told stopping, and ${stop?.result}`)
  if (reply === 'stopping' && point !== 'idle.requested') trial.violation(`${point} ${id}: told too early`)
  trial.figure(`${point} ${id}`, reply)
  if (!isWhole) return
  if (!isStopped) return apps.pass(id, 2 * timeoutMs)
  // Somebody starts it again.
  await apps.fleet.phase(id, 'Stopped', 'a', 60_000)
  await apps.fleet.edit(id, { spec: { stop: false } })
  await apps.known(id)
}

async function touched(trial: Trial): Promise<void> {
  const apps = await idleApps()
  const gateway = await apps.gateway(trial, 'g')
  const ids = await apps.idle(count, 'k3')
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all(ids.map((id, i) => meet(trial, apps, gateway, id, points[(round + i) % points.length]!)))
  }
}

attack('apps K3 a user who comes back between look and stop', touched, { limitMs: 600_000 })
