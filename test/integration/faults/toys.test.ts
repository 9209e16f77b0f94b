/**
 * The kind of the tests, run beside labs by the same replicas: its operations are accepted, owned, struck at every step,
 * resumed, superseded and ended by the code that labs use, and judged by the judge of labs.
 */
import { expect } from 'vitest'
import { attack } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Arm } from '../../kit/failpoints/failpoint-arms.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { createSteps, removalSteps } from '../../kit/toy/kind.ts'
import type { Ended, Toys } from '../../kit/toy/toys.ts'
import type { ToyWorld } from '../../kit/toy/world.ts'
import { withToys } from './toy-fleet.ts'
import { expectInTime, logged, promisedMs } from './wave.ts'

/** The operation that a toy is in the middle of: made, made but broken and cleaned up, removed, or removed while it is made. */
type Story = 'create' | 'fail' | 'delete' | 'supersede'

interface Point {
  readonly story: Story
  readonly name: string
}

interface Struck extends Point {
  readonly toy: string
  readonly arm: Arm
  readonly ended: Promise<Ended>
}

const ofWrite = ['before-act', 'before-send', 'after-send', 'after-act', 'before-commit', 'after-commit']
const lastLook = 'last-look'
const labCount = 4
/** The promise for a clean hand-over. */
const handOverMs = 1000
const isLastLook = ({ name }: Point) => /\.before-(send|commit)$/.test(name)

/** The points around the writes of a list of steps. `clear` writes only where an older toy stands. */
const along = (story: Story, kind: string, steps: typeof createSteps): Point[] =>
  steps
    .filter(step => step.kind === 'act' && step.name !== 'clear')
    .flatMap(step => ofWrite.map(place => ({ story, name: `toy.${kind}.${step.name}.${place}` })))

const points = (story: Story, names: readonly string[]): Point[] => names.map(name => ({ story, name: `toy.${name}` }))
const finish = (kind: string) => ['before-act', 'before-commit', 'after-act'].map(place => `${kind}.finish.${place}`)

const allPoints: readonly Point[] = [
  ...points('create', ['create.owned', ...finish('create')]),
  ...along('create', 'create', createSteps),
  ...points('fail', ['create.fail.before-commit', ...finish('create')]),
  ...along('fail', 'create', removalSteps('clean.', 0, 0)),
  ...points('delete', ['delete.owned', ...finish('delete')]),
  ...along('delete', 'delete', removalSteps('', 0, 0)),
  ...points('supersede', ['delete.owned', 'delete.home.before-send', 'create.release.before-act']),
]

/** The lease is taken, and not claimed with. A replica that is held there claims no other toy. */
const claim: Point = { story: 'create', name: 'toy.claim.before-act' }

/** Brings a toy to its point, and holds it there. */
async function hold(fleet: Fleet, toys: Toys, point: Point): Promise<Struck> {
  const { story, name } = point
  const toy = toys.name()
  const arm = (at: string, group?: string) =>
    fleet.arm(at, 'hold', { user: toy, ...(group !== undefined && { group }) })
  if (story === 'delete') {
    await toys.create(toy, { color: 'red' })
    expect((await toys.follow(toy)).outcome).toBe('complete')
  }
  const half = story === 'supersede' ? arm('toy.create.thing.before-act') : undefined
  const held = arm(name, isLastLook(point) ? lastLook : undefined)
  if (story !== 'delete') await toys.create(toy, { color: 'red', broken: story === 'fail' })
  await half?.landed()
  if (story === 'delete' || story === 'supersede') await toys.delete(toy)
  half?.release()
  const ended = toys.follow(toy)
  ended.catch(() => {})
  await held.landed()
  return { ...point, toy, arm: held, ended }
}

/** Time from a blow to the resumption of each toy's operation; those that had ended by then are left out. */
async function takeovers(fleet: Fleet, struck: readonly Struck[], blowAtMs: number) {
  const lines = await Promise.all(Array.from({ length: fleet.size }, (_, i) => logged(fleet, i, 'operation resumed')))
  const resumed = new Map(lines.flat().map(({ line, atMs }) => [toyOf(line), atMs]))
  return struck
    .filter(({ name }) => !/finish\.after-act|release|claim/.test(name))
    .map(({ toy, name }) => ({ point: name, ms: (resumed.get(toy) ?? Number.POSITIVE_INFINITY) - blowAtMs }))
}

/** The toy that a line of the log names. */
const toyOf = (line: object): string | undefined => /^toy:(.+)$/.exec((line as { subject?: string }).subject ?? '')?.[1]

async function expectEnded(world: ToyWorld, { story, name, toy, ended }: Struck): Promise<void> {
  const { outcome } = await ended
  expect([name, outcome]).toEqual([name, story === 'fail' ? 'failed' : 'complete'])
  expect([name, world.home(toy)?.thing?.state]).toEqual([name, story === 'create' ? 'ready' : undefined])
}

/** A toy that is complete; returns its name. */
async function made(toys: Toys): Promise<string> {
  const toy = toys.name()
  await toys.create(toy, { color: 'red' })
  expect((await toys.follow(toy)).outcome).toBe('complete')
  return toy
}

async function remove(toys: Toys, toy: string): Promise<void> {
  await toys.delete(toy)
  expect((await toys.follow(toy)).outcome).toBe('complete')
}

/** Labs that are made and removed meanwhile through one replica. */
async function labsBeside(fleet: Fleet, index: number): Promise<void> {
  const url = fleet.url(index)
  const labs = Array.from({ length: labCount }, () => fleet.user().at(url))
  await Promise.all(
    labs.map(async user => {
      expect((await user.create()).status).toBe(303)
      expect((await user.follow()).outcome).toBe('complete')
      expect((await fleet.admin.at(url).delete(user.username)).status).toBe(202)
      expect((await user.follow()).outcome).toBe('complete')
    }),
  )
}

attack(
  'toys T1 kill -9 at each step',
  trial =>
    withToys(trial, { replicas: 4 }, async (fleet, toys, world) => {
      await Promise.all([2, 3].map(index => fleet.kill(index)))
      trial.injected(allPoints.length + 1)
      const struck = await Promise.all(allPoints.map(point => hold(fleet, toys, point)))
      struck.push(await hold(fleet, toys, claim))
      const victims = [0, 1].map(index => fleet.replica(index).pid)
      await Promise.all([2, 3].map(index => fleet.start(index)))
      const killedAtMs = Date.now()
      await Promise.all([0, 1].map(index => fleet.kill(index)))
      await Promise.all([labsBeside(fleet, 2), ...struck.map(each => expectEnded(world, each))])
      trial.landed(struck.filter(({ arm }) => victims.includes(arm.marks()[0]!.pid)).length)
      expectInTime(trial, await takeovers(fleet, struck, killedAtMs), promisedMs)
    }),
  { limitMs: 240_000 },
)

attack(
  'toys T3 stop past the lease',
  trial =>
    withToys(trial, { replicas: 3 }, async (fleet, toys, world) => {
      await Promise.all([1, 2].map(index => fleet.kill(index)))
      const all = allPoints.filter(({ name }) => !name.includes('release'))
      trial.injected(all.length)
      const struck = await Promise.all(all.map(point => hold(fleet, toys, point)))
      await Promise.all([1, 2].map(index => fleet.start(index)))
      const { pid } = fleet.replica(0)
      const stoppedAtMs = Date.now()
      await fleet.failpoints.stopHeld(lastLook, pid)
      await Promise.all([labsBeside(fleet, 1), ...struck.map(each => expectEnded(world, each))])
      trial.landed(struck.filter(({ arm }) => arm.marks()[0]!.pid === pid).length)
      expectInTime(trial, await takeovers(fleet, struck, stoppedAtMs), promisedMs)
      // A late write is worst where nothing stands any more.
      const removed = struck.filter(point => point.story === 'create' && isLastLook(point))
      await Promise.all(removed.map(({ toy }) => remove(toys, toy)))
      const before = struck.map(({ toy }) => world.home(toy))
      const wokenAtMs = Date.now()
      for (const { arm, ...point } of struck) if (!isLastLook(point)) arm.release()
      await fleet.kill(0, 'SIGCONT')
      await eventually('every stale owner gives up', async () => {
        const over = await Promise.all(
          ['operation is no longer ours', 'operation ended'].map(msg => logged(fleet, 0, msg)),
        )
        return over.flat().filter(({ line, atMs }) => toyOf(line) && atMs >= wokenAtMs).length >= all.length
      })
      const late = world.journal.filter(
        ({ replica, receivedAtMs }) => replica === 'replica-1' && receivedAtMs >= wokenAtMs,
      )
      trial.figure('late_writes', late.length)
      expect(late.filter(({ code }) => code < 300)).toEqual([])
      expect(late.length).toBeGreaterThan(0)
      expect(struck.map(({ toy }) => world.home(toy))).toEqual(before)
    }),
  { limitMs: 240_000 },
)

/** Points at which SIGTERM strikes: before and after the write of an act, and after its script. */
const drained = allPoints.filter(({ name }) => /\.(home|thing)\.(before-act|after-act|after-commit)$/.test(name))

attack(
  'toys T20 SIGTERM at every kind of step',
  trial =>
    withToys(trial, { replicas: 3 }, async (fleet, toys, world) => {
      await Promise.all([1, 2].map(index => fleet.kill(index)))
      trial.injected(drained.length)
      const struck = await Promise.all(drained.map(point => hold(fleet, toys, point)))
      await Promise.all([1, 2].map(index => fleet.start(index)))
      const { ended, pid } = fleet.replica(0)
      const toldAtMs = Date.now()
      const gone = fleet.kill(0, 'SIGTERM')
      await eventually('a draining owner', async () => (await logged(fleet, 0, 'draining')).length > 0)
      trial.landed(struck.filter(({ arm }) => arm.marks()[0]!.pid === pid).length)
      for (const { arm } of struck) arm.release()
      await Promise.all([labsBeside(fleet, 1), ...struck.map(each => expectEnded(world, each)), gone])
      expect(await ended).toBe(0)
      const endedThere = new Set((await logged(fleet, 0, 'operation ended')).map(({ line }) => line.op))
      const ops = await Promise.all(struck.map(async ({ ended }) => (await ended).op))
      const handed = struck.filter((_, i) => !endedThere.has(ops[i]!))
      trial.figure('handed_over', handed.length)
      expect(handed.length).toBeGreaterThan(struck.length / 2)
      expectInTime(trial, await takeovers(fleet, handed, toldAtMs), handOverMs)
    }),
  { limitMs: 180_000 },
)

attack(
  'toys T7 Redis emptied under operations in progress',
  trial =>
    withToys(trial, { replicas: 3 }, async (fleet, toys, world) => {
      fleet.expects({ redisLoss: true })
      const standing = await Promise.all([1, 2, 3].map(() => made(toys)))
      const struck = await Promise.all(drained.map(point => hold(fleet, toys, point)))
      trial.injected(struck.length)
      const { redis } = fleet.world
      await redis.flushall()
      trial.landed(struck.length)
      // Data that only Redis had is lost: clients are told, and owners can write nothing any more.
      for (const { ended } of struck) expect((await ended).events.at(-1)).not.toHaveProperty('id')
      for (const { arm } of struck) arm.release()
      await eventually('the end of every owner', async () => {
        const lines = await Promise.all([0, 1, 2].map(i => logged(fleet, i, 'operation is no longer ours')))
        const over = new Set(lines.flat().map(({ line }) => toyOf(line)))
        return struck.every(({ toy }) => over.has(toy))
      })
      await fleet.ready()
      await labsBeside(fleet, 1)
      const heard = Math.max(...world.journal.map(({ epoch }) => epoch))
      await made(toys)
      expect(Number(await redis.get(toys.family.lastEpoch)), 'the epoch of a new owner').toBeGreaterThan(heard)
      // A toy that is made anew makes way first. Its op and its epochs are above all earlier ones.
      const before = new Map(world.names.map(name => [name, world.home(name)!.op]))
      for (const toy of [...standing, ...struck.map(each => each.toy)]) {
        const op = await toys.create(toy, { color: 'blue' })
        expect(op).toBeGreaterThan(before.get(toy) ?? 0)
        expect([toy, (await toys.follow(toy)).outcome]).toEqual([toy, 'complete'])
        expect(world.home(toy)).toMatchObject({ op, thing: { op, state: 'ready' } })
      }
    }),
  { limitMs: 180_000 },
)
