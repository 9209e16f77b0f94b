/**
 * A wave of blows: every user has an operation in progress, each held at its own point, when the owners are struck. All
 * get the same signal, so a whole matrix takes one take-over.
 */
import { expect } from 'vitest'
import type { Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Arm } from '../../kit/failpoints/failpoint-arms.ts'
import { type Client, defaultOptions, type Followed } from '../../kit/fleet/client.ts'
import type { Fleet, FleetOptions } from '../../kit/fleet/fleet.ts'
import { FullLab } from '../../kit/fleet/full-lab.ts'
import { isWhole, objectsMade, type Point, type Story } from './points.ts'

export const ttlMs = 3000
export const scanIntervalMs = 300
/**
 * Until an operation is held. One that fails waits for its grace first, and then for the cluster, which removed the namespaces of
 * a wave within 23 s at a load of 17. Less than the deadline of a request, since those that are held early wait for it.
 */
const heldWithinMs = 50_000
/** Limit of an operation that is held until its whole wave is held, and then taken over. */
const followLimitMs = 150_000
/** Promised time of a take-over after a crash. */
export const promisedMs = ttlMs + scanIntervalMs + 1000

const small = { limits: { cpu: 1, memory: '4Gi' } }
/** No node has room for `huge`: a creation fails after its grace. */
export const sizes = { small, medium: small, large: small, huge: { limits: { cpu: 100_000, memory: '1Gi' } } }
export const hugeOptions = { ...defaultOptions, size: 'huge' }

/** Slots for all held operations, and time: a held request approaches its deadline. */
export const waveFleet = {
  users: 160,
  config: {
    engine: { room: 64, leaseTtlMs: ttlMs, scanIntervalMs },
    kubernetes: { requestTimeoutSeconds: 60 },
    lab: { sizes },
    times: { noRoomGraceSeconds: 1 },
  },
} satisfies FleetOptions

/** The same with this many full labs, one after another. */
export async function fullLabFleet({ context }: Pick<Trial, 'context'>, labs: number) {
  const fullLab = new FullLab()
  context.onTestFinished(() => fullLab.remove())
  await fullLab.make(labs)
  // A pod finds no room until its claim is bound, which takes seconds on a busy cluster, and more beside 48 others.
  const times = { noRoomGraceSeconds: isWhole ? 15 : 5 }
  return { ...waveFleet, fullLab, config: { ...waveFleet.config, times } } satisfies FleetOptions
}

/** One user with an operation in progress. */
export interface Struck {
  readonly point: Point
  readonly user: Client
  readonly arm: Arm
  /** Status of the answer to the request; `unknown` if none came. */
  readonly answer: Promise<number | 'unknown'>
  /** The operation, followed to its end over one or more connections. */
  readonly ended: Promise<Followed>
}

/** Brings a user to the start of their story. */
async function prepare(fleet: Fleet, user: Client, story: Story): Promise<void> {
  if (story !== 'delete' && story !== 'remake') return
  await user.create()
  expect((await user.follow()).outcome).toBe('complete')
  if (story === 'delete') return
  await fleet.world.setPodStatus(user.username, { phase: 'Failed', reason: 'Evicted' })
  await eventually('a failed lab', async () => (await user.userStatus()).body.status === 'failed')
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

/** Sends the request of the user or an administrator. Does not wait for the answer if the answer itself is struck. */
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

/** A client without an answer asks again, and gets the one existing operation. */
export async function askAgain(fleet: Fleet, struck: Struck): Promise<void> {
  const { point, user, answer, ended } = struck
  if (!isUnanswered(point)) return
  expect([point, await answer]).toEqual([point, 'unknown'])
  const again = isDeletion(point)
    ? await fleet.admin.delete(user.username)
    : await user.create(defaultOptions, { key: user.username })
  // The deletion joins the first one, or finds that it has ended.
  expect([point, ...(isDeletion(point) ? [202, 404] : [303])]).toContain(again.status)
  const { op } = await ended
  expect([point, (await user.follow()).op]).toEqual([point, op])
}

/** An arm that lands when the others beside it have landed too, and releases all. */
function joined(arm: Arm, beside: readonly Arm[]): Arm {
  return {
    ...arm,
    landed: async (...args) => {
      const [mark] = await Promise.all([arm.landed(...args), ...beside.map(other => other.landed(...args))])
      return mark
    },
    release: () => {
      for (const each of [arm, ...beside]) each.release()
    },
  }
}

export interface HoldOptions {
  /** Address of the event streams. Default: the balancer. */
  readonly through?: string
  /** Group of a point: members are released together. */
  readonly groupOf?: (point: Point) => string | undefined
}

/** Begins one operation per point through the replicas `indices`, and waits until each is held at its point. */
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
    const options = { user: user.username, ...(group !== undefined && { group }) }
    const beside = point.beside?.map(name => fleet.arm(name, 'hold', options)) ?? []
    const arm = joined(fleet.arm(point.name, 'hold', options), beside)
    const { answer } = await ask(fleet, { point, user }, fleet.url(indices[i % indices.length]!))
    if (isUnanswered(point)) await arm.landed()
    const ended = user.at(url).follow({ limitMs: followLimitMs })
    // A later await still gets the rejection.
    ended.catch(() => {})
    await arm.landed(1, heldWithinMs)
    return { point, user, arm, answer, ended }
  }
  const held = await Promise.all(points.map((point, i) => (isClaim(point) ? null : holdOne(point, i))))
  // A replica held at a claim claims nothing else: so these come last, each on a replica of its own.
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

/** Lines of a replica's log with this message. */
export async function logged(fleet: Fleet, index: number, msg: string): Promise<{ atMs: number; line: Line }[]> {
  const lines = (await fleet.log(index)).split('\n').filter(line => line.includes(`"msg":"${msg}"`))
  return lines.map(text => JSON.parse(text) as Line).map(line => ({ line, atMs: Date.parse(line.time) }))
}

/** Time of each operation's first resumption or step after a moment, by user. `op` selects one operation. */
export async function resumptions(fleet: Fleet, afterMs: number, op?: number): Promise<ReadonlyMap<string, number>> {
  const replicas = Array.from({ length: fleet.size }, (_, i) => i)
  const signs = ['operation resumed', 'step']
  const all = await Promise.all(replicas.flatMap(i => signs.map(sign => logged(fleet, i, sign))))
  const about = all.flat().filter(({ line, atMs }) => atMs >= afterMs && (op === undefined || line.op === op))
  const sorted = about.sort((a, b) => b.atMs - a.atMs)
  return new Map(sorted.map(({ line, atMs }) => [line.user!, atMs]))
}

/** The operation ends as its story says. By the audit log it made each object once. */
export async function expectEnded(fleet: Fleet, { point, user, ended }: Struck): Promise<Followed> {
  const followed = await ended
  expect([point, followed.outcome]).toEqual([point, point.story === 'fail' ? 'failed' : 'complete'])
  const writes = await fleet.audit.writesOf(fleet.namespace(user.username))
  const own = writes.filter(({ code, op }) => code < 300 && op === followed.op)
  // A quota that counted a pod which was never stored is made once more.
  let recounts = own.filter(({ verb, resource }) => verb === 'delete' && resource === 'resourcequotas').length
  const made = own.filter(({ verb, resource }) => {
    return verb === 'create' && !(resource === 'resourcequotas' && recounts-- > 0)
  })
  const objects = made.map(({ resource, name }) => `${resource}/${name}`)
  expect([point, objects]).toEqual([point, [...new Set(objects)]])
  // A creation that finds existing objects binds itself to read them, and makes this extra object.
  const ofLab = objects.filter(object => object !== 'rolebindings/skylab-lab')
  expect([point, ofLab.length]).toEqual([point, objectsMade(point, fleet.hasFullLabs)])
  return followed
}

/** Deletes the users' labs. Afterwards the cluster is empty, and Redis has no keys without expiry. */
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

/** Time from a blow to the resumption of each operation that had to be resumed. */
export async function takeovers(fleet: Fleet, struck: readonly Struck[], blowAtMs: number) {
  const resumed = await resumptions(fleet, blowAtMs)
  // At an answer, or after the last script, the owner was another replica or the operation had ended. An unclaimed
  // lease is not extended, and may have expired before the blow.
  const open = struck.filter(({ point }) => !/accepted|finish\.after-act|^lab\.claim/.test(point.name))
  return open.map(({ point, user }) => {
    const atMs = resumed.get(user.username) ?? Number.POSITIVE_INFINITY
    return { point: point.name, ms: atMs - blowAtMs }
  })
}

/** Reports how long each took. A slow one breaks the promise, but does not end the attack. */
export function expectInTime(trial: Trial, taken: readonly { readonly ms: number }[], limitMs = promisedMs): void {
  for (const { ms } of taken) trial.took(ms)
  const late = taken.filter(({ ms }) => ms > limitMs).toSorted((a, b) => b.ms - a.ms)
  if (late.length === 0) return
  trial.violation(
    `I7 ${late.length} of ${taken.length} took longer than ${limitMs} ms, such as ${JSON.stringify(late[0])}`,
  )
}
