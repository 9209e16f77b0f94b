/**
 * N3: a replica is stopped before and after each write for a custom resource; meanwhile the resource is edited, deleted or
 * made again, and others make that so. Then it wakes, and its late write lands.
 */
import { waitUntil } from '../../../dev/process/api-client.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import type { Arm } from '../../kit/failpoints/failpoint-arms.ts'
import { SampleFleet, type SampleWrite } from '../../kit/reconcile/sample-fleet.ts'
import { excess, wrong } from '../../kit/reconcile/sample-state.ts'
import { isWhole } from './points.ts'

/** Limit for anything wrong after a late write has landed. */
const wrongLimitMs = 1_000
/** A replica that died with the answer may have taken the lease again: no other one gives anything before it lapses. */
const lapseMs = 4_000
/** The garbage collector removes the objects of a deleted parent. It learns of a new kind within half a minute. */
const collectLimitMs = 60_000
const watchMs = 1_500
const sendLimitMs = 5_000
/** Limit for one late write until it is sent. */
const maxAttempts = 3

type Story = 'edited' | 'deleted' | 'made again'

interface Late {
  /** A failpoint, without its beginning. */
  readonly point: string
  /** The fate of the parent while the replica is stopped. */
  readonly story: Story
  /** The replica dies with the answer of its late write, so only others can correct it. */
  readonly dies?: boolean
  /** It wakes before others have made the parent's change so: only rights are judged then. */
  readonly soon?: boolean
}

const writes = [
  ...['create.Service', 'create.Deployment', 'create.RoleBinding', 'change.RoleBinding', 'change.Deployment'],
  ...['remove.RoleBinding', 'report.Sample'],
]
const stories: readonly Story[] = ['edited', 'deleted', 'made again']

const allLate: readonly Late[] = writes.flatMap(write => [
  ...stories.flatMap(story => [
    { point: `${write}.before-send`, story, dies: true },
    { point: `${write}.before-send`, story },
    { point: `${write}.after-send`, story },
  ]),
  { point: `${write}.before-send`, story: 'edited', soon: true },
  { point: `${write}.before-send`, story: 'made again', soon: true },
])

const fewLate: readonly Late[] = [
  { point: 'create.RoleBinding.before-send', story: 'edited', dies: true },
  { point: 'change.RoleBinding.before-send', story: 'edited' },
  { point: 'create.Service.before-send', story: 'made again', soon: true },
  { point: 'change.Deployment.after-send', story: 'made again' },
  { point: 'remove.RoleBinding.before-send', story: 'edited', dies: true },
  { point: 'create.Deployment.before-send', story: 'deleted', dies: true },
]

/** Brings a replica to the point, and stops it there. */
async function stopAt(fleet: SampleFleet, { point }: Late, name: string) {
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

async function changeParent(fleet: SampleFleet, { point, story, soon }: Late, name: string): Promise<void> {
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

interface Seen {
  /** The longest time of a right that nobody should have. */
  readonly excessMs: number
  /** The longest time of anything wrong. */
  readonly wrongMs: number
  /** The fault that is found in the end. */
  readonly left: string | undefined
  readonly what: string | undefined
}

/** Watches until all is well, and for a while at least. */
async function watchSample(fleet: SampleFleet, name: string, limitMs: number): Promise<Seen> {
  const begunMs = performance.now()
  const since = { excess: undefined as number | undefined, wrong: undefined as number | undefined }
  const longest = { excess: 0, wrong: 0 }
  let what: string | undefined
  for (let nowMs = begunMs; ; nowMs = performance.now()) {
    const state = await fleet.read(name)
    const found = { excess: excess(state), wrong: wrong(state) }
    for (const kind of ['excess', 'wrong'] as const) {
      since[kind] = found[kind] === undefined ? undefined : (since[kind] ?? nowMs)
      if (since[kind] !== undefined) longest[kind] = Math.max(longest[kind], performance.now() - since[kind])
    }
    what = found.excess ?? found.wrong ?? what
    const spentMs = performance.now() - begunMs
    if (spentMs > limitMs || (spentMs > watchMs && found.wrong === undefined)) {
      return { excessMs: longest.excess, wrongMs: longest.wrong, left: found.wrong, what }
    }
    await systemClock.sleep(20)
  }
}

/**
 * Stops a replica at a write, lets the others go on, wakes it, and judges what its late write did.
 * @returns how long something of a deleted parent stayed; undefined if the write was never sent, as after its time, where
 *   it would have needed a new connection
 */
async function strike(trial: Trial, fleet: SampleFleet, late: Late, name: string): Promise<number | undefined> {
  const { point, story, dies, soon } = late
  const what = [point, `parent ${story}`, ...(dies ? ['dies'] : []), ...(soon ? ['soon'] : [])].join(', ')
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
  const isSent = point.endsWith('after-send') || (await isLanded(answered))
  if (!isSent) return void answered.disarm()
  const seen = await watchSample(fleet, name, story === 'deleted' ? collectLimitMs : 15_000)
  judge(trial, what, late, seen)
  const { verb, resource } = writeAt(point)
  const isIt = (each: SampleWrite) => each.replica === replica && each.verb === verb && each.resource === resource
  const write = fleet.writes().find(each => isIt(each) && each.atMs >= wokenMs)
  const isOverwriting = /^(change|remove|report)\..*before-send$/.test(point) && !soon
  if (isOverwriting && write && write.code < 300) trial.violation(`${what}: a later write was undone`)
  answered.disarm()
  if (dies) {
    await fleet.remove(replica)
    await fleet.add(`${replica}-again`)
  }
  return story === 'deleted' ? Math.round(seen.wrongMs) : 0
}

/** The request at a point such as `change.Deployment.before-send`. */
function writeAt(point: string): Pick<SampleWrite, 'verb' | 'resource'> {
  const [act, kind] = point.split('.') as [string, string]
  const verbs: Readonly<Record<string, string>> = { create: 'create', remove: 'delete' }
  return { verb: verbs[act] ?? 'patch', resource: `${kind.toLowerCase()}s` }
}

const isLanded = (arm: Arm) =>
  arm.landed(1, sendLimitMs).then(
    () => true,
    () => false,
  )

function judge(
  trial: Trial,
  what: string,
  { story, dies, soon }: Late,
  { excessMs, wrongMs, left, what: found }: Seen,
): void {
  if (left !== undefined) trial.violation(`${what}: ${left}, and it stays`)
  if (story === 'deleted') return
  trial.took(excessMs)
  const limitMs = dies ? lapseMs + wrongLimitMs : wrongLimitMs
  if (excessMs > wrongLimitMs) trial.violation(`${what}: ${found}, wrong for ${Math.round(excessMs)} ms`)
  else if (!soon && wrongMs > limitMs) trial.violation(`${what}: ${found}, wrong for ${Math.round(wrongMs)} ms`)
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
      trial.injected()
      let stayedMs: number | undefined
      for (let attempt = 0; stayedMs === undefined && attempt < maxAttempts; attempt += 1) {
        stayedMs = await strike(trial, fleet, late, `late-${index}-${attempt}`)
        if (stayedMs === undefined) unsent += 1
      }
      if (stayedMs !== undefined) trial.landed()
      collected.push(stayedMs ?? 0)
    }
  }
  await Promise.all([lane(), lane(), ...(isWhole ? [lane(), lane()] : [])])
  trial.figure('collectedMs', Math.max(...collected))
  trial.figure('unsent', unsent)
}

attack('N3 late writes of declarations', lateWrites, { limitMs: 900_000 })
