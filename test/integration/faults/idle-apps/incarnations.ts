/**
 * apps K4: an app is deleted and made again, or edited, between the look and the patch of its stop. Neither the next app of the name
 * is stopped, nor the edited one by what was seen before.
 */
import type { IdleApps } from '../../../kit/apps/idle-apps.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { isWhole } from '../points.ts'
import { idleApps } from './shared.ts'

const rounds = isWhole ? 6 : 1

const points = isWhole ? ['idle.stopping', 'idle.requested'] : ['idle.requested']

async function replaced(trial: Trial, apps: IdleApps, id: string, point: string): Promise<void> {
  const arm = apps.fleet.failpoints.arm(point, 'hold', { user: `app:${id}` })
  trial.injected()
  await apps.makeDue(id)
  await arm.landed()
  const { uid } = (await apps.app(id)).metadata
  await apps.fleet.drop(id)
  await eventually(`the end of ${id}`, async () => (await apps.app(id)) === null)
  const next = await apps.fleet.make(id)
  arm.release()
  await apps.fleet.phase(id, 'Ready', 'a', 60_000)
  arm.disarm()
  if (next.metadata.uid === uid) throw new Error(`${id} was not made again`)
  trial.landed()
  if (await apps.isStopped(id)) trial.violation(`${point}: the next ${id} was stopped for the former one`)
}

async function edited(trial: Trial, apps: IdleApps, id: string): Promise<void> {
  const arm = apps.fleet.failpoints.arm('idle.requested', 'hold', { user: `app:${id}` })
  trial.injected()
  await apps.makeDue(id)
  await arm.landed()
  await apps.fleet.edit(id, { spec: { displayName: 'edited' } })
  arm.release()
  await eventually(`the end of the stop of ${id}`, async () => apps.stops(id).length > 0, 30_000)
  arm.disarm()
  trial.landed()
  if (await apps.isStopped(id)) trial.violation(`${id} was edited, and stopped nevertheless`)
}

async function incarnations(trial: Trial): Promise<void> {
  const apps = await idleApps()
  await apps.gateway(trial, 'g')
  for (let round = 0; round < rounds; round += 1) {
    const ids = await apps.idle(points.length + 1, `k4-${round}`)
    await Promise.all([
      ...points.map((point, i) => replaced(trial, apps, ids[i]!, point)),
      edited(trial, apps, ids.at(-1)!),
    ])
  }
}

attack('apps K4 apps that are made again or edited meanwhile', incarnations, { limitMs: 600_000 })
