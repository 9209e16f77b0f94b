/** apps K11: Redis is emptied below apps whose time is nearly over. Their idle clocks begin anew, so none is stopped before. */
import { IdleApps, timeoutMs } from '../../../kit/apps/idle-apps.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { isWhole } from '../points.ts'

const count = 20

async function emptied(trial: Trial): Promise<void> {
  const apps = await IdleApps.start({ stopsPerMinute: 1_000 })
  trial.context.onTestFinished(() => apps.stop())
  await apps.gateway(trial, 'g')
  const ids = await apps.idle(count, 'k11')
  trial.injected(count)
  await apps.fleet.redisClient.flushall()
  const isKnown = async (id: string) => (await apps.score(id)) !== null
  // A replica compares all each minute where nothing tells it of the loss.
  for (const id of ids) await eventually(`${id} is enrolled again`, () => isKnown(id), 90_000)
  for (const id of ids) {
    await apps.check(id)
    if (await apps.isStopped(id)) trial.violation(`${id} is stopped by a Redis that knows nothing`)
    else trial.landed()
    await apps.pass(id, timeoutMs + 1_000)
    await apps.check(id)
    await eventually(`the stop of ${id}`, () => apps.isStopped(id))
  }
}

if (isWhole) attack('apps K11 a Redis that is emptied', emptied, { limitMs: 600_000 })
