/** apps K12: all apps are idle at once. No more are stopped within a minute than the fuse lets. */
import { IdleApps } from '../../../kit/apps/idle-apps.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { isWhole } from '../points.ts'

const count = 60
const stopsPerMinute = 10

async function fuse(trial: Trial): Promise<void> {
  const apps = await IdleApps.start({ stopsPerMinute })
  trial.context.onTestFinished(() => apps.stop())
  await apps.gateway(trial, 'g')
  const ids = await apps.idle(count, 'k12')
  trial.injected(count)
  await Promise.all(ids.map(id => apps.makeDue(id)))
  const asked = () => new Set(apps.stops().map(({ id }) => id))
  await eventually('requests to stop all', async () => asked().size >= count, 60_000)
  trial.landed(asked().size)
  const stopped = (await Promise.all(ids.map(id => apps.isStopped(id)))).filter(Boolean).length
  trial.figure('stopped', stopped)
  if (stopped > stopsPerMinute) trial.violation(`${stopped} apps were stopped, and the fuse is ${stopsPerMinute}`)
  if (stopped < stopsPerMinute) trial.violation(`the fuse let only ${stopped} of ${stopsPerMinute}`)
}

if (isWhole) attack('apps K12 all apps are idle at once', fuse, { limitMs: 600_000 })
