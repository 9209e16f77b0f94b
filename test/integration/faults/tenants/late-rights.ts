/**
 * tenants N3: a replica is stopped before and after each write that gives or takes a right; meanwhile the LNamespace is edited,
 * deleted or made again. Then it wakes, and its late write lands.
 */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import type { AuditedRequest } from '../../../kit/evidence/audit.ts'
import type { Arm } from '../../../kit/failpoints/failpoint-arms.ts'
import type { TenantFleet } from '../../tenants/tenant-fleet.ts'
import { isWhole } from '../points.ts'
import { differences, revokedLimitMs, type Watched, watchRights } from './rights.ts'
import { everything, signalCollector, tenantFleet } from './shared.ts'

/** Who died with the answer may have taken the lease again: nobody else gives anything before it lapses. */
const lapseMs = 4_000
/** What a deleted LNamespace leaves is the garbage collector's, which learns of a new kind within half a minute. */
const collectLimitMs = 90_000
const sendLimitMs = 5_000
/** Until a replica is at the point. */
const reachLimitMs = 10_000
/** Of one late write until it is sent. */
const maxAttempts = 3

type Story = 'edited' | 'deleted' | 'made again'

interface Late {
  readonly kind: 'tenant' | 'sudoer'
  /** A failpoint, without its beginning. */
  readonly point: string
  /** What becomes of the LNamespace while the replica is stopped. */
  readonly story: Story
  /** The LNamespace is made again before, and the replica stopped at the rights of the former one. */
  readonly remade?: boolean
  /** The replica dies with the answer of its late write, so only others can correct it. */
  readonly dies?: boolean
  /** It wakes before others have made the change so: only rights are judged then. */
  readonly soon?: boolean
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
  const isSent = !isBefore || (await isLanded(answered))
  if (!isSent) return void answered.disarm()
  const seen = await watchRights(fleet, name, peopleOf(name), {
    limitMs: story === 'deleted' ? collectLimitMs : 15_000,
  })
  judge(trial, late, seen)
  const { verb, resource } = writeAt(point)
  const isIt = (each: AuditedRequest) =>
    each.replica === replica && each.verb === verb && each.resource === resource && isOfKey(each, kind, key)
  const own = (await fleet.audit.all()).filter(isIt)
  const write = isBefore ? own.find(({ receivedAtMs }) => receivedAtMs >= wokenMs - 5) : own.at(-1)
  const isOverwriting = isBefore && !soon && !point.startsWith('create')
  if (isOverwriting && write && write.code < 300) trial.violation(`${wordsOf(late)}: a later write was undone`)
  answered.disarm()
  await fleet.ready()
  return write?.code
}

const isOfKey = ({ userAgent }: AuditedRequest, kind: string, key: string) =>
  userAgent.includes(`${kind}=${encodeURIComponent(key)} `) || userAgent.endsWith(`${kind}=${encodeURIComponent(key)}`)

/** The request at a point such as `change.RoleBinding.before-send`. */
function writeAt(point: string): Pick<AuditedRequest, 'verb' | 'resource'> {
  const [act, kind] = point.split('.') as [string, string]
  const verbs: Readonly<Record<string, string>> = { create: 'create', remove: 'delete' }
  return { verb: verbs[act] ?? 'patch', resource: `${kind.toLowerCase()}s` }
}

const isLanded = (arm: Arm) =>
  arm.landed(1, sendLimitMs).then(
    () => true,
    () => false,
  )

const wordsOf = ({ kind, point, story, remade, dies, soon }: Late) =>
  [`${kind} ${point}`, story, remade && 'remade', dies && 'dies', soon && 'soon'].filter(Boolean).join(', ')

function judge(trial: Trial, late: Late, { excessMs, wrongMs, left, what }: Watched): void {
  const words = wordsOf(late)
  if (left !== undefined) trial.violation(`${words}: ${left}, and it stays`)
  if (late.story === 'deleted') return
  trial.took(excessMs)
  const limitMs = late.dies ? lapseMs + revokedLimitMs : revokedLimitMs
  if (excessMs > revokedLimitMs) trial.violation(`${words}: ${what}, wrong for ${Math.round(excessMs)} ms`)
  else if (!late.soon && wrongMs > limitMs) trial.violation(`${words}: ${what}, wrong for ${Math.round(wrongMs)} ms`)
}

async function lateRights(trial: Trial): Promise<void> {
  const fleet = await tenantFleet()
  const codes = new Map<number, number>()
  let unsent = 0
  for (const [index, late] of (isWhole ? allLate : fewLate).entries()) {
    trial.injected()
    let code: number | undefined
    for (let attempt = 0; code === undefined && attempt < maxAttempts; attempt += 1) {
      code = await strike(trial, fleet, late, `${fleet.name}-late-${index}-${attempt}`)
      if (code === undefined) unsent += 1
    }
    if (code === undefined) continue
    trial.landed()
    codes.set(code, (codes.get(code) ?? 0) + 1)
  }
  trial.figure('codes', Object.fromEntries(codes))
  trial.figure('unsent', unsent)
}

attack('tenants N3 late rights', lateRights, { limitMs: 1_200_000 })
