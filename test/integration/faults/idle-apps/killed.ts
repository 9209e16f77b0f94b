/**
 * apps K7, K9: the replica that looks at an app dies after it took it, after its look, or after the stop was requested and before it
 * is written. Another one looks anew, and the app is stopped once.
 */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { isWhole } from '../points.ts'
import { idleApps } from './shared.ts'

const points = ['idle.taken', 'idle.looked', 'idle.stopping', 'idle.requested']
const limitMs = 45_000

async function killed(trial: Trial): Promise<void> {
  const apps = await idleApps()
  await apps.gateway(trial, 'g')
  const ids = await apps.idle(points.length, 'k9')
  for (const [i, point] of points.entries()) {
    const id = ids[i]!
    const arm = apps.fleet.failpoints.arm(point, 'kill', { user: `app:${id}` })
    trial.injected()
    await apps.makeDue(id)
    await arm.landed()
    trial.landed()
    const begunMs = performance.now()
    await eventually(`the stop of ${id}`, () => apps.isStopped(id), limitMs)
    trial.took(performance.now() - begunMs)
    await apps.fleet.phase(id, 'Stopped', 'a', 60_000)
    const { generation } = (await apps.app(id)).metadata
    if (generation !== 2) trial.violation(`${id} was stopped at ${point} by ${generation - 1} writes`)
    await apps.fleet.add(`next-${i}`)
  }
}

// What a dead replica has taken is due again after 20 s.
if (isWhole) attack('apps K9 replicas that die while they stop an app', killed, { limitMs: 600_000 })
