/**
 * N3: a replica is stopped before and after each write for a custom resource; meanwhile the resource is edited, deleted or
 * made again, and others make that so. Then it wakes, and its late write lands.
 */
import { waitUntil } from '../../../dev/process/api-client.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { SampleFleet, type SampleWrite } from '../../kit/reconcile/sample-fleet.ts'
import { excess, wrong } from '../../kit/reconcile/sample-state.ts'
import {
  isOverwriting,
  isSent,
  judgeLate,
  type LateStory,
  storyWords,
  struck,
  watchFaults,
  writeAt,
} from './late-stories.ts'
import { isWhole } from './points.ts'

/** The garbage collector removes the objects of a deleted parent. It learns of a new kind within half a minute. */
const collectLimitMs = 60_000
const watchMs = 1_500

const writes = [
  ...['create.Service', 'create.Deployment', 'create.RoleBinding', 'change.RoleBinding', 'change.Deployment'],
  ...['remove.RoleBinding', 'report.Sample'],
]
const stories: readonly LateStory['story'][] = ['edited', 'deleted', 'made again']

const allLate: readonly LateStory[] = writes.flatMap(write => [
  ...stories.flatMap(story => [
    { point: `${write}.before-send`, story, dies: true },
    { point: `${write}.before-send`, story },
    { point: `${write}.after-send`, story },
  ]),
  { point: `${write}.before-send`, story: 'edited', soon: true },
  { point: `${write}.before-send`, story: 'made again', soon: true },
])

const fewLate: readonly LateStory[] = [
  { point: 'create.RoleBinding.before-send', story: 'edited', dies: true },
  { point: 'change.RoleBinding.before-send', story: 'edited' },
  { point: 'create.Service.before-send', story: 'made again', soon: true },
  { point: 'change.Deployment.after-send', story: 'made again' },
  { point: 'remove.RoleBinding.before-send', story: 'edited', dies: true },
  { point: 'create.Deployment.before-send', story: 'deleted', dies: true },
]

/** Brings a replica to the point, and stops it there. */
async function stopAt(fleet: SampleFleet, { point }: LateStory, name: string) {
  const isCreation = point.startsWith('create.')
  if (!isCreation) {
    await fleet.create(name, { members: ['ada'], image: 'app:1' })
    await fleet.settled(name)
  }
  const arm = fleet.failpoints.arm(`reconcile.sample.${point}`, 'stop', { user: `${fleet.namespace}/${name}` })
  if (isCreation) await fleet.create(name, { members: ['eve'], image: 'app:1' })
  else await fleet.edit(name, { members: point.startsWith('remove') ? [] : ['ada', 'eve'], image: 'app:2' })
  return arm.landed()
}

async function changeParent(fleet: SampleFleet, { point, story, soon }: LateStory, name: string): Promise<void> {
  // Without the right that the late write gives.
  if (story === 'edited')
    return fleet.edit(name, { members: point.startsWith('create.') ? [] : ['bob'], image: 'app:3' })
  await fleet.drop(name)
  if (story === 'made again') await fleet.create(name, { members: ['bob'], image: 'app:3' })
  else if (!soon) await untilCollected(fleet, name)
}

const untilCollected = (fleet: SampleFleet, name: string) =>
  waitUntil(async () => wrong(await fleet.read(name)) === undefined, {
    what: `${name} is gone`,
    limitMs: collectLimitMs,
  })

/**
 * Stops a replica at a write, lets the others go on, wakes it, and judges what its late write did.
 * @returns how long something of a deleted parent stayed; undefined if the write was never sent, as after its time, where
 *   it would have needed a new connection
 */
async function strike(trial: Trial, fleet: SampleFleet, late: LateStory, name: string): Promise<number | undefined> {
  const { point, story, dies, soon } = late
  const what = storyWords(late)
  const { replica } = await stopAt(fleet, late, name)
  await changeParent(fleet, late, name)
  if (story !== 'deleted' && !soon) await fleet.settled(name)
  const answered = fleet.failpoints.arm(
    `reconcile.sample.${point.replace('before', 'after')}`,
    dies ? 'kill' : 'note',
    { replica, user: `${fleet.namespace}/${name}` },
  )
  const wokenMs = Date.now()
  fleet.signal(replica, 'SIGCONT')
  if (point.endsWith('before-send') && !(await isSent(answered))) return void answered.disarm()
  const find = async () => {
    const state = await fleet.read(name)
    return { excess: excess(state), wrong: wrong(state) }
  }
  const limitMs = story === 'deleted' ? collectLimitMs : 15_000
  const seen = await watchFaults(find, { limitMs, atLeastMs: watchMs })
  judgeLate(trial, what, late, seen)
  const { verb, resource } = writeAt(point)
  const isIt = (each: SampleWrite) => each.replica === replica && each.verb === verb && each.resource === resource
  const write = fleet.writes().find(each => isIt(each) && each.atMs >= wokenMs)
  if (isOverwriting(late) && write && write.code < 300) trial.violation(`${what}: a later write was undone`)
  answered.disarm()
  if (dies) {
    await fleet.remove(replica)
    await fleet.add(`${replica}-again`)
  }
  return story === 'deleted' ? Math.round(seen.wrongMs) : 0
}

async function lateWrites(trial: Trial): Promise<void> {
  const waiting = [...(isWhole ? allLate : fewLate).entries()]
  const collected: number[] = []
  let unsent = 0
  const lane = async () => {
    const fleet = await SampleFleet.start({ replicas: 2 })
    trial.context.onTestFinished(() => fleet.stop())
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, late] = next
      const blow = (attempt: number) => strike(trial, fleet, late, `late-${index}-${attempt}`)
      const { found: stayedMs = 0, unsent: times } = await struck(trial, blow)
      unsent += times
      collected.push(stayedMs)
    }
  }
  await Promise.all([lane(), lane(), ...(isWhole ? [lane(), lane()] : [])])
  trial.figure('collectedMs', Math.max(...collected))
  trial.figure('unsent', unsent)
}

attack('N3 late writes of declarations', lateWrites, { limitMs: 900_000 })
