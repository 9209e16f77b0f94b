/**
 * tenants N3: a replica is stopped before and after each write that gives or takes a right; meanwhile the LNamespace is edited,
 * deleted or made again. Then it wakes, and its late write lands.
 */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import type { AuditedRequest } from '../../../kit/evidence/audit.ts'
import type { TenantFleet } from '../../tenants/tenant-fleet.ts'
import {
  isOverwriting,
  isSent,
  judgeLate,
  type LateStory,
  storyWords,
  struck,
  watchFaults,
  writeAt,
} from '../late-stories.ts'
import { isWhole } from '../points.ts'
import { differences } from './rights.ts'
import { everything, signalCollector, tenantFleet } from './shared.ts'

/** What a deleted LNamespace leaves is the garbage collector's, which learns of a new kind within half a minute. */
const collectLimitMs = 90_000
const watchMs = 1_000
/** Until a replica is at the point. */
const reachLimitMs = 10_000
interface Late extends LateStory {
  readonly kind: 'tenant' | 'sudoer'
  /** The LNamespace is made again before, and the replica stopped at the rights of the former one. */
  readonly remade?: boolean
}

const tenant = 'tenant'
const sudoer = 'sudoer'
const writes = [
  ...['create.RoleBinding', 'create.ClusterRole', 'create.ClusterRoleBinding'].map(write => ({ kind: tenant, write })),
  ...['change.RoleBinding', 'change.ClusterRoleBinding'].map(write => ({ kind: tenant, write })),
  ...['remove.RoleBinding', 'remove.ClusterRole', 'remove.ClusterRoleBinding'].map(write => ({ kind: tenant, write })),
  ...['create.ClusterRole', 'create.ClusterRoleBinding'].map(write => ({ kind: sudoer, write })),
  ...['remove.ClusterRole', 'remove.ClusterRoleBinding'].map(write => ({ kind: sudoer, write })),
] as readonly { readonly kind: Late['kind']; readonly write: string }[]

const allLate: readonly Late[] = [
  ...writes.flatMap(({ kind, write }): Late[] => [
    { kind, point: `${write}.before-send`, story: 'edited', dies: true },
    { kind, point: `${write}.before-send`, story: 'edited' },
    { kind, point: `${write}.before-send`, story: 'edited', soon: true },
    { kind, point: `${write}.after-send`, story: 'edited' },
    { kind, point: `${write}.before-send`, story: 'made again', soon: true },
    { kind, point: `${write}.before-send`, story: 'deleted', dies: true },
  ]),
  { kind: tenant, point: 'change.ClusterRoleBinding.before-send', story: 'edited', remade: true },
  { kind: tenant, point: 'change.ClusterRoleBinding.after-send', story: 'edited', remade: true },
  { kind: tenant, point: 'remove.ClusterRoleBinding.before-send', story: 'edited', remade: true, dies: true },
  { kind: tenant, point: 'create.RoleBinding.before-send', story: 'made again' },
]

const fewLate: readonly Late[] = [
  { kind: tenant, point: 'create.RoleBinding.before-send', story: 'edited', dies: true },
  { kind: tenant, point: 'change.RoleBinding.before-send', story: 'edited' },
]

/** The people of one tenant; nobody else knows them. */
const peopleOf = (name: string) => ['ada', 'eve', 'bob'].map(person => `${person}-${name}`) as [string, string, string]

/** Brings a replica to the point, and stops it there. It was held first: connections of before can be used again at once. */
async function stopAt(fleet: TenantFleet, { kind, point, remade }: Late, name: string) {
  const [ada, eve] = peopleOf(name)
  const isCreation = point.startsWith('create.')
  if (!isCreation) await settled(fleet, await fleet.make(everything([ada]), name))
  const key = kind === 'tenant' ? name : ada
  // Else the garbage collector would mostly be first.
  if (remade) signalCollector('SIGSTOP')
  if (remade) await fleet.drop(name)
  const arm = fleet.failpoints.arm(`reconcile.${kind}.${point}`, 'hold', { user: key, group: name })
  if (isCreation) await fleet.make(everything([ada]), name)
  else if (remade) await fleet.make(everything([eve]), name)
  else await fleet.edit(name, everything(point.startsWith('remove') ? [] : [ada, eve]))
  const mark = await arm.landed(1, reachLimitMs).catch(() => arm.disarm())
  if (remade) signalCollector('SIGCONT')
  if (!mark) return undefined
  await fleet.failpoints.stopHeld(name, mark.pid)
  return { ...mark, key }
}

async function changeParent(fleet: TenantFleet, { kind, point, story, soon }: Late, name: string): Promise<void> {
  const [ada, _, bob] = peopleOf(name)
  // Without the right that the late write gives, or with the one that it takes.
  const others = kind === 'sudoer' && point.startsWith('remove') ? [ada] : [bob]
  if (story === 'edited') return fleet.edit(name, everything(point.startsWith('create.') ? [] : others))
  await fleet.drop(name)
  if (story === 'made again') await fleet.make(everything([bob]), name)
  else if (!soon) {
    const isCollected = async () => (await differences(fleet, name, peopleOf(name))).wrong === undefined
    await eventually(`${name} is gone`, isCollected, collectLimitMs)
  }
}

/** The LNamespace says that all is well, and so it is. */
async function settled(fleet: TenantFleet, name: string): Promise<void> {
  await fleet.says(name, 'Ready', 'Ready', collectLimitMs)
  const isRight = async () => (await differences(fleet, name, peopleOf(name))).wrong === undefined
  await eventually(`the rights of ${name}`, isRight)
}

/**
 * Stops a replica at a write, lets the others go on, wakes it, and judges what its late write did.
 * @returns the code of the late write; undefined if it was never begun, or never sent, as after the time of its turn
 */
async function strike(trial: Trial, fleet: TenantFleet, late: Late, name: string): Promise<number | undefined> {
  const { kind, point, story, dies, soon } = late
  const at = await stopAt(fleet, late, name)
  if (!at) return undefined
  const { replica, key } = at
  await changeParent(fleet, late, name)
  if (story !== 'deleted' && !soon) await settled(fleet, name)
  const isBefore = point.endsWith('before-send')
  const after = `reconcile.${kind}.${point.replace('before', 'after')}`
  const answered = fleet.failpoints.arm(after, dies ? 'kill' : 'note', { replica, user: key })
  const stopped = fleet.replica(replica)
  const wokenMs = Date.now()
  stopped.kill('SIGCONT')
  if (isBefore && !(await isSent(answered))) return void answered.disarm()
  const limitMs = story === 'deleted' ? collectLimitMs : 15_000
  const seen = await watchFaults(() => differences(fleet, name, peopleOf(name)), { limitMs, atLeastMs: watchMs })
  judgeLate(trial, wordsOf(late), late, seen)
  const { verb, resource } = writeAt(point)
  const isIt = (each: AuditedRequest) =>
    each.replica === replica && each.verb === verb && each.resource === resource && isOfKey(each, kind, key)
  const own = (await fleet.audit.all()).filter(isIt)
  const write = isBefore ? own.find(({ receivedAtMs }) => receivedAtMs >= wokenMs - 5) : own.at(-1)
  if (isOverwriting(late) && write && write.code < 300) trial.violation(`${wordsOf(late)}: a later write was undone`)
  answered.disarm()
  await fleet.ready()
  return write?.code
}

const isOfKey = ({ userAgent }: AuditedRequest, kind: string, key: string) =>
  userAgent.includes(`${kind}=${encodeURIComponent(key)} `) || userAgent.endsWith(`${kind}=${encodeURIComponent(key)}`)

const wordsOf = (late: Late) => [late.kind, ...(late.remade ? ['remade'] : []), storyWords(late)].join(' ')

async function lateRights(trial: Trial): Promise<void> {
  const fleet = await tenantFleet()
  const codes = new Map<number, number>()
  let unsent = 0
  for (const [index, late] of (isWhole ? allLate : fewLate).entries()) {
    const blow = (attempt: number) => strike(trial, fleet, late, `${fleet.name}-late-${index}-${attempt}`)
    const { found: code, unsent: times } = await struck(trial, blow)
    unsent += times
    if (code !== undefined) codes.set(code, (codes.get(code) ?? 0) + 1)
  }
  trial.figure('codes', Object.fromEntries(codes))
  trial.figure('unsent', unsent)
}

attack('tenants N3 late rights', lateRights, { limitMs: 1_200_000 })
