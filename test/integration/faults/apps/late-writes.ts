/**
 * G5: a replica is stopped before a write of an app; meanwhile the app is edited, or made again, and the other replica makes that
 * so. Then it wakes, and its late write lands: nothing later is undone.
 */
import { systemClock } from '../../../../src/base/clock.ts'
import type { AppFleet } from '../../../kit/apps/fleet.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { isWhole } from '../points.ts'
import { appFleet, deploymentOf, imageOf } from './shared.ts'

interface Late {
  /** The write, such as `create.Service`. */
  readonly write: string
  readonly story: 'edited' | 'stopped' | 'made again'
}

const writes = [
  'create.NetworkPolicy',
  'create.Service',
  'create.Deployment',
  'change.Deployment',
  'report.PhApplication',
]
const all: readonly Late[] = writes.flatMap(write =>
  (['edited', 'stopped', 'made again'] as const).map(story => ({ write, story })),
)
const few: readonly Late[] = [{ write: 'change.Deployment', story: 'stopped' }]
/** How long it is watched after its late write. */
const watchMs = 1_500

async function strike(trial: Trial, fleet: AppFleet, { write, story }: Late, name: string): Promise<void> {
  const isCreation = write.startsWith('create.') || write.startsWith('report.')
  if (!isCreation) {
    await fleet.make(name)
    await fleet.phase(name, 'Ready')
  }
  const user = `${fleet.of('a')}/${name}`
  trial.injected()
  const arm = fleet.failpoints.arm(`reconcile.app.${write}.before-send`, 'stop', { user })
  if (isCreation) await fleet.make(name)
  else await fleet.edit(name, imageOf('app:late'))
  const { replica } = await arm.landed()
  await change(fleet, name, story)
  await settled(fleet, name, story)
  const before = await deploymentOf(fleet, name)
  const sent = fleet.failpoints.arm(`reconcile.app.${write}.after-send`, 'note', { replica, user })
  fleet.replicas.find(each => each.name === replica)!.kill('SIGCONT')
  await arm.release()
  // Where its turn is over by then, it sends nothing at all.
  const isSent = await sent.landed(1, 3_000).then(
    () => true,
    () => false,
  )
  trial.landed()
  trial.figure(`${write} ${story}`, isSent ? 'sent' : 'unsent')
  for (const endMs = performance.now() + watchMs; performance.now() < endMs; ) {
    const now = await deploymentOf(fleet, name)
    if (JSON.stringify(now) !== JSON.stringify(before)) {
      trial.violation(`${write}, ${story}: ${JSON.stringify(before)} became ${JSON.stringify(now)}`)
      break
    }
    await systemClock.sleep(20)
  }
  await settled(fleet, name, story)
  sent.disarm()
  await fleet.drop(name)
}

async function change(fleet: AppFleet, name: string, story: Late['story']): Promise<void> {
  if (story === 'stopped') await fleet.edit(name, { spec: { stop: true } })
  if (story === 'edited') await fleet.edit(name, imageOf('app:last'))
  if (story !== 'made again') return
  await fleet.drop(name)
  await eventually('it is gone', async () => (await fleet.read(name)) === null)
  await fleet.make(name, { image: 'app:last' })
}

async function settled(fleet: AppFleet, name: string, story: Late['story']): Promise<void> {
  await fleet.phase(name, story === 'stopped' ? 'Stopped' : 'Ready', 'a', 60_000)
  const isSo = async () => {
    const found = await deploymentOf(fleet, name)
    return story === 'stopped' ? found?.replicas === 0 : found?.image === 'app:last' && found.replicas === 1
  }
  await eventually(`${name} is as declared last`, isSo, 60_000)
}

attack(
  'apps G5 late writes',
  async trial => {
    const fleet = await appFleet()
    for (const [index, late] of (isWhole ? all : few).entries()) await strike(trial, fleet, late, `late-${index}`)
  },
  { limitMs: 600_000 },
)
