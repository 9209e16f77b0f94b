/**
 * A wave of blows: every user is in the middle of an operation, each held at a point of their own, when the owners are
 * struck. All are struck by the same signal, so a whole matrix takes one take-over.
 */
import { expect } from 'vitest'
import type { Arm } from '../harness/armoury.ts'
import { type Client, defaultOptions, type Followed } from '../harness/client.ts'
import type { Fleet, FleetOptions } from '../harness/fleet.ts'
import { eventually } from '../harness/world.ts'
import type { Point, Story } from './points.ts'

export const ttlMs = 3000
export const scanIntervalMs = 300
/** Of a take-over after a crash. */
export const promisedMs = ttlMs + scanIntervalMs + 1000

const small = { limits: { cpu: 1, memory: '4Gi' } }
/** No node has room for it: a creation that fails after its grace. */
const sizes = { small, medium: small, large: small, huge: { limits: { cpu: 100_000, memory: '1Gi' } } }
export const hugeOptions = { ...defaultOptions, size: 'huge' }

/** Room for all that are held at once. */
export const waveFleet = {
  users: 90,
  config: {
    engine: { room: 64, leaseTtlMs: ttlMs, scanIntervalMs },
    lab: { sizes },
    times: { noRoomGraceSeconds: 1 },
  },
} satisfies FleetOptions

/** One user in the middle of something. */
export interface Struck {
  readonly point: Point
  readonly user: Client
  readonly arm: Arm
  /** The operation to its end, over as many connections as it takes. */
  readonly ended: Promise<Followed>
}

/** Brings a user to where their story begins. */
async function prepare(fleet: Fleet, user: Client, story: Story): Promise<void> {
  if (story === 'create' || story === 'fail') return
  await user.create()
  expect((await user.follow()).outcome).toBe('complete')
  if (story === 'delete') return
  await fleet.world.setPodStatus(user.username, { phase: 'Failed', reason: 'Evicted' })
  await eventually('failed', async () => (await user.userStatus()).body.status === 'failed')
}

/** What the user, or an administrator, asks for. Where the answer itself is struck there is none. */
async function ask(fleet: Fleet, { point, user }: Pick<Struck, 'point' | 'user'>, url: string): Promise<void> {
  const asked =
    point.story === 'delete'
      ? fleet.admin.at(url).delete(user.username)
      : user.at(url).create(point.story === 'fail' ? hugeOptions : defaultOptions)
  if (point.name.endsWith('.accepted')) return void asked.catch(() => {})
  expect((await asked).status).toBe(point.story === 'delete' ? 202 : 303)
}

/**
 * Begins one operation for each point through the replicas `indices`, and waits until each is held where it is to be.
 * @param through where its events are read; by default over the balancer
 */
export async function hold(
  fleet: Fleet,
  points: readonly Point[],
  indices: readonly number[],
  through?: string,
): Promise<Struck[]> {
  const url = through ?? (await fleet.balancerUrl())
  const users = points.map(() => fleet.user())
  await Promise.all(users.map((user, i) => prepare(fleet, user, points[i]!.story)))
  return Promise.all(
    points.map(async (point, i) => {
      const user = users[i]!
      const arm = fleet.arm(point.name, 'hold', { user: user.username })
      await ask(fleet, { point, user }, fleet.url(indices[i % indices.length]!))
      if (point.name.endsWith('.accepted')) await arm.landed()
      const ended = user.at(url).follow()
      // Whoever awaits it later is told.
      ended.catch(() => {})
      await arm.landed()
      return { point, user, arm, ended }
    }),
  )
}

interface Line {
  readonly time: string
  readonly msg: string
  readonly user?: string
  readonly op?: number
}

/** Lines of a replica's log with these words. */
export async function logged(fleet: Fleet, index: number, msg: string): Promise<{ atMs: number; line: Line }[]> {
  const lines = (await fleet.log(index)).split('\n').filter(line => line.includes(`"msg":"${msg}"`))
  return lines.map(text => JSON.parse(text) as Line).map(line => ({ line, atMs: Date.parse(line.time) }))
}

/** When each operation was first resumed after a moment, by user. */
export async function resumptions(fleet: Fleet, afterMs: number): Promise<ReadonlyMap<string, number>> {
  const all = await Promise.all(Array.from({ length: fleet.size }, (_, i) => logged(fleet, i, 'operation resumed')))
  const sorted = all.flat().sort((a, b) => b.atMs - a.atMs)
  return new Map(sorted.filter(({ atMs }) => atMs >= afterMs).map(({ line, atMs }) => [line.user!, atMs]))
}

const outcomes = { create: 'complete', remake: 'complete', fail: 'failed', delete: 'complete' } as const

/** How it must end, by the story; by the audit log each object was made once. */
export async function expectEnded(fleet: Fleet, { point, user, ended }: Struck): Promise<Followed> {
  const followed = await ended
  expect([point, followed.outcome]).toEqual([point, outcomes[point.story]])
  const writes = await fleet.audit.writesOf(fleet.namespace(user.username))
  const made = writes.filter(({ verb, code, op }) => verb === 'create' && code < 300 && op === followed.op)
  const objects = made.map(({ resource, name }) => `${resource}/${name}`)
  expect([point, objects]).toEqual([point, [...new Set(objects)]])
  expect([point, objects.length]).toEqual([point, point.story === 'delete' ? 0 : 8])
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
  // What was struck in its answer, or behind its last script, had its owner elsewhere or had ended.
  const open = struck.filter(({ point }) => !/accepted|finish\.after-act/.test(point.name))
  return open.map(({ point, user }) => {
    const atMs = resumed.get(user.username) ?? Number.POSITIVE_INFINITY
    return { point: point.name, ms: atMs - blowAtMs }
  })
}

/** One line of figures, as each fault prints it. */
export function printResult(test: string, figures: object): void {
  process.stdout.write(`RESULT ${JSON.stringify({ test, ...figures })}\n`)
}

export function printTakeovers(
  test: string,
  struck: readonly Struck[],
  taken: readonly { readonly ms: number }[],
): void {
  const sorted = taken.map(({ ms }) => ms).sort((a, b) => a - b)
  const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)]
  printResult(test, { landed: struck.length, takeoverMs: { p50: at(0.5), p99: at(0.99), max: at(1) } })
}
