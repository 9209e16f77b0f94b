/**
 * A wave of blows: every user is in the middle of an operation, each held at a point of their own, when the owners are
 * struck. All are struck by the same signal, so a whole matrix takes one take-over.
 */
import { expect } from 'vitest'
import type { Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Arm } from '../../kit/failpoints/failpoint-arms.ts'
import { type Client, defaultOptions, type Followed } from '../../kit/fleet/client.ts'
import type { Fleet, FleetOptions } from '../../kit/fleet/fleet.ts'
import { FullLab } from '../../kit/fleet/full-lab.ts'
import { objectsMade, type Point, type Story } from './points.ts'

export const ttlMs = 3000
export const scanIntervalMs = 300
/** Of an operation that is held until a whole wave is, and then taken over. */
const followLimitMs = 150_000
/** Of a take-over after a crash. */
export const promisedMs = ttlMs + scanIntervalMs + 1000

const small = { limits: { cpu: 1, memory: '4Gi' } }
/** No node has room for it: a creation that fails after its grace. */
export const sizes = { small, medium: small, large: small, huge: { limits: { cpu: 100_000, memory: '1Gi' } } }
export const hugeOptions = { ...defaultOptions, size: 'huge' }

/** Room for all that are held at once, and time: a request that is held goes on towards its deadline. */
export const waveFleet = {
  users: 160,
  config: {
    engine: { room: 64, leaseTtlMs: ttlMs, scanIntervalMs },
    kubernetes: { requestTimeoutSeconds: 60 },
    lab: { sizes },
    times: { noRoomGraceSeconds: 1 },
  },
} satisfies FleetOptions

/** The same with labs that have everything that can be configured: so many of them, one after another. */
export async function fullLabFleet({ context }: Pick<Trial, 'context'>, labs: number) {
  const fullLab = new FullLab()
  context.onTestFinished(() => fullLab.remove())
  await fullLab.make(labs)
  // A pod finds no room until its claim is bound, which takes seconds where the cluster is busy.
  const times = { noRoomGraceSeconds: 5 }
  return { ...waveFleet, fullLab, config: { ...waveFleet.config, times } } satisfies FleetOptions
}

/** One user in the middle of something. */
export interface Struck {
  readonly point: Point
  readonly user: Client
  readonly arm: Arm
  /** Status of the answer to what was asked for; `unknown` where none came. */
  readonly answer: Promise<number | 'unknown'>
  /** The operation to its end, over as many connections as it takes. */
  readonly ended: Promise<Followed>
}

/** Brings a user to where their story begins. */
async function prepare(fleet: Fleet, user: Client, story: Story): Promise<void> {
  if (story !== 'delete' && story !== 'remake') return
  await user.create()
  expect((await user.follow()).outcome).toBe('complete')
  if (story === 'delete') return
  await fleet.world.setPodStatus(user.username, { phase: 'Failed', reason: 'Evicted' })
  await eventually('failed', async () => (await user.userStatus()).body.status === 'failed')
}

const isDeletion = ({ story }: Point) => story === 'delete' || story === 'supersede'

/** A creation that is held in the middle of its steps. */
export async function halfMade(fleet: Fleet, user: Client, url: string, point = 'lab.create.make.service.before-act') {
  const arm = fleet.arm(point, 'hold', { user: user.username })
  expect((await user.at(url).create()).status).toBe(303)
  await arm.landed()
  return arm
}

/** A creation that waits until a node has room. */
export async function waitForRoom(user: Client, url: string): Promise<Client> {
  const there = user.at(url)
  expect((await there.create(hugeOptions)).status).toBe(303)
  const stream = await there.events()
  for await (const { data } of stream) if (data.includes('no room')) break
  await stream.close()
  return user
}

type Asking = Pick<Struck, 'point' | 'user'>

const isUnanswered = ({ name }: Point) => name.endsWith('.accepted')

/** What the user, or an administrator, asks for. Where the answer itself is struck nobody waits for it. */
async function ask(fleet: Fleet, { point, user }: Asking, url: string): Promise<Pick<Struck, 'answer'>> {
  const superseded = point.story === 'supersede' ? await halfMade(fleet, user, url) : undefined
  const asked = isDeletion(point)
    ? fleet.admin.at(url).delete(user.username)
    : user.at(url).create(point.story === 'fail' ? hugeOptions : defaultOptions, { key: user.username })
  const answer = asked.then(
    ({ status }) => status,
    () => 'unknown' as const,
  )
  if (!isUnanswered(point)) expect(await answer).toBe(isDeletion(point) ? 202 : 303)
  superseded?.release()
  return { answer }
}

/** Whoever got no answer asks again, and is told of the one operation that there is. */
export async function askAgain(fleet: Fleet, struck: Struck): Promise<void> {
  const { point, user, answer, ended } = struck
  if (!isUnanswered(point)) return
  expect([point, await answer]).toEqual([point, 'unknown'])
  const again = isDeletion(point)
    ? await fleet.admin.delete(user.username)
    : await user.create(defaultOptions, { key: user.username })
  // A deletion is joined, or has ended meanwhile.
  expect([point, ...(isDeletion(point) ? [202, 404] : [303])]).toContain(again.status)
  const { op } = await ended
  expect([point, (await user.follow()).op]).toEqual([point, op])
}

export interface HoldOptions {
  /** Where events are read. Default: over the balancer. */
  readonly through?: string
  /** Which of them are to go on together. */
  readonly groupOf?: (point: Point) => string | undefined
}

/** Begins one operation for each point through the replicas `indices`, and waits until each is held where it is to be. */
export async function hold(
  fleet: Fleet,
  points: readonly Point[],
  indices: readonly number[],
  { through, groupOf = () => undefined }: HoldOptions = {},
): Promise<Struck[]> {
  const url = through ?? (await fleet.balancerUrl())
  const users = points.map(() => fleet.user())
  await Promise.all(users.map((user, i) => prepare(fleet, user, points[i]!.story)))
  const holdOne = async (point: Point, i: number): Promise<Struck> => {
    const user = users[i]!
    const group = groupOf(point)
    const arm = fleet.arm(point.name, 'hold', { user: user.username, ...(group !== undefined && { group }) })
    const { answer } = await ask(fleet, { point, user }, fleet.url(indices[i % indices.length]!))
    if (isUnanswered(point)) await arm.landed()
    const ended = user.at(url).follow({ limitMs: followLimitMs })
    // Whoever awaits it later is told.
    ended.catch(() => {})
    await arm.landed()
    return { point, user, arm, answer, ended }
  }
  const held = await Promise.all(points.map((point, i) => (isClaim(point) ? null : holdOne(point, i))))
  // Whoever is held there looks for nothing else: these come last, and each takes a replica of its own.
  for (const [i, point] of points.entries()) if (isClaim(point)) held[i] = await holdOne(point, i)
  return held as Struck[]
}

const isClaim = ({ name }: Point) => name.startsWith('lab.claim.')

interface Line {
  readonly time: string
  readonly msg: string
  readonly user?: string
  readonly op?: number
  readonly reason?: string
}

/** Lines of a replica's log with these words. */
export async function logged(fleet: Fleet, index: number, msg: string): Promise<{ atMs: number; line: Line }[]> {
  const lines = (await fleet.log(index)).split('\n').filter(line => line.includes(`"msg":"${msg}"`))
  return lines.map(text => JSON.parse(text) as Line).map(line => ({ line, atMs: Date.parse(line.time) }))
}

/** When each operation, or the one named, was first resumed, or begun where nobody had, after a moment; by user. */
export async function resumptions(fleet: Fleet, afterMs: number, op?: number): Promise<ReadonlyMap<string, number>> {
  const replicas = Array.from({ length: fleet.size }, (_, i) => i)
  const signs = ['operation resumed', 'step']
  const all = await Promise.all(replicas.flatMap(i => signs.map(sign => logged(fleet, i, sign))))
  const about = all.flat().filter(({ line, atMs }) => atMs >= afterMs && (op === undefined || line.op === op))
  const sorted = about.sort((a, b) => b.atMs - a.atMs)
  return new Map(sorted.map(({ line, atMs }) => [line.user!, atMs]))
}

/** How it must end, by the story; by the audit log each object was made once. */
export async function expectEnded(fleet: Fleet, { point, user, ended }: Struck): Promise<Followed> {
  const followed = await ended
  expect([point, followed.outcome]).toEqual([point, point.story === 'fail' ? 'failed' : 'complete'])
  const writes = await fleet.audit.writesOf(fleet.namespace(user.username))
  const made = writes.filter(({ verb, code, op }) => verb === 'create' && code < 300 && op === followed.op)
  const objects = made.map(({ resource, name }) => `${resource}/${name}`)
  expect([point, objects]).toEqual([point, [...new Set(objects)]])
  // Whoever meets what stands already binds itself to read it.
  const ofLab = objects.filter(object => object !== 'rolebindings/skylab-lab')
  expect([point, ofLab.length]).toEqual([point, objectsMade(point, fleet.hasFullLabs)])
  return followed
}

/** Deletes what stands; afterwards there is nothing in the cluster, and in Redis nothing without expiry. */
export async function expectNothingLeft(fleet: Fleet, users: readonly Client[]): Promise<void> {
  await Promise.all(
    users.map(async user => {
      const { status } = await fleet.admin.delete(user.username)
      expect([202, 404]).toContain(status)
      if (status === 202) expect((await user.follow()).outcome).toBe('complete')
    }),
  )
  for (const user of users) expect(await fleet.world.leftOf(user.username)).toEqual([])
  await fleet.world.emptied()
}

/** How long after a blow each operation was resumed, of those that were somebody's to resume. */
export async function takeovers(fleet: Fleet, struck: readonly Struck[], blowAtMs: number) {
  const resumed = await resumptions(fleet, blowAtMs)
  // What was struck in its answer, or behind its last script, had its owner elsewhere or had ended; a lease that nothing
  // was claimed with is not extended, and may have run out before the blow.
  const open = struck.filter(({ point }) => !/accepted|finish\.after-act|^lab\.claim/.test(point.name))
  return open.map(({ point, user }) => {
    const atMs = resumed.get(user.username) ?? Number.POSITIVE_INFINITY
    return { point: point.name, ms: atMs - blowAtMs }
  })
}

/** Tells how long each of these took. One that took longer than is promised breaks the promise, and not the attack off. */
export function expectInTime(trial: Trial, taken: readonly { readonly ms: number }[], limitMs = promisedMs): void {
  for (const { ms } of taken) trial.took(ms)
  const late = taken.filter(({ ms }) => ms > limitMs).toSorted((a, b) => b.ms - a.ms)
  if (late.length === 0) return
  trial.violation(
    `I7 ${late.length} of ${taken.length} took longer than ${limitMs} ms, such as ${JSON.stringify(late[0])}`,
  )
}
