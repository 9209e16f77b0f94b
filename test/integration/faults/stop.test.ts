/**
 * Owners are stopped past the end of their leases, and continue after others took their place. Some stop between their
 * last check of the lease and the write itself, so that nothing of their own can prevent the write.
 */
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Arm } from '../../kit/failpoints/failpoint-arms.ts'
import type { Fleet, FleetOptions } from '../../kit/fleet/fleet.ts'
import { allPoints, isOfFullLab, isWhole, type Point, pointsToStrike } from './points.ts'
import { type Account, accountOf, turnedAway, verdicts } from './stale.ts'
import * as wave from './wave.ts'

const stopped = 0
const heirs = [1, 2]
const heir = 1
const lastLook = 'last-look'
/** As many operations as one replica may own when it hangs. */
const waveSize = 48
/** Until a replica checks an unknown namespace, and the cluster has removed it. */
const debrisLimitMs = 45_000

/**
 * State that a stale owner finds when it wakes: the lab as its heir left it; a new lab; a newer, still empty namespace;
 * or nothing.
 */
type Sequel = 'stays' | 'renewed' | 'newer' | 'gone'

interface Case {
  readonly point: Point
  readonly sequel: Sequel
}

const isLastLook = ({ name }: Point) => /\.before-(send|commit)$/.test(name)
const isMaking = ({ name }: Point) => name.startsWith('lab.create.make.')
/** Other points have no owner yet, or none any more. */
const hasOwner = ({ name }: Point) => !/\.accepted$|^lab\.claim\./.test(name)

/** Points where a write is about to be made, was just made, or was just recorded. Others differ little from these. */
const revealing =
  /^lab\.create\.make\.(namespace|content|pod|secret-pull)\.|\.clean\.namespace\.|^lab\.delete\.(pod|namespace)\.|\.finish\.before|\.owned$/
/** Points where a write reaches a newer namespace. */
const slippery = /^lab\.(create\.make\.(namespace|configmap-env)|delete\.namespace)\.before-send$/

function revealingPoints(): Point[] {
  const few = new Set(pointsToStrike().map(({ name }) => name))
  const isRevealing = ({ name }: Point) => slippery.test(name) || (few.has(name) && revealing.test(name))
  // Amid an act, an owner has several writes on their way at once.
  const points = allPoints().filter(point => point.beside !== undefined || isRevealing(point))
  return isWhole ? points : points.filter(point => !isOfFullLab(point))
}

const sequels: readonly Sequel[] = ['stays', 'renewed', 'newer', 'gone']

function casesOf(points: readonly Point[]): Case[] {
  return points.flatMap((point, i): Case[] => {
    if (point.story !== 'create') return [{ point, sequel: i % 2 ? 'stays' : 'renewed' }]
    if (!isMaking(point) || !isLastLook(point)) return [{ point, sequel: sequels[i % sequels.length]! }]
    // A write that reaches a newer namespace is the worst case.
    return (isWhole ? (['newer', 'gone'] as const) : (['newer'] as const)).map(sequel => ({ point, sequel }))
  })
}

/** @returns the failpoint that holds the newer creation, if any */
async function makeSequel(fleet: Fleet, { user }: wave.Struck, sequel: Sequel): Promise<Arm | undefined> {
  if (sequel === 'stays') return undefined
  const url = fleet.url(heir)
  const { status } = await fleet.admin.at(url).delete(user.username)
  expect([202, 404]).toContain(status)
  if (status === 202) expect((await user.at(url).follow()).outcome).toBe('complete')
  if (sequel === 'newer') return wave.halfMade(fleet, user, url, 'lab.create.make.content.before-act')
  if (sequel === 'gone') return undefined
  expect((await user.at(url).create()).status).toBe(303)
  expect((await user.at(url).follow()).outcome).toBe('complete')
  return undefined
}

async function stateOf(fleet: Fleet, { user }: wave.Struck) {
  const through = user.at(fleet.url(heir))
  const [namespace, pod] = [await fleet.world.namespaceOf(user.username), await fleet.world.podOf(user.username)]
  const { status, body } = await through.userStatus()
  return { namespaceUid: namespace?.metadata.uid, podUid: pod?.metadata.uid, status, body }
}

/**
 * Labs come and go, as many at once as there are stale writes. A stale write leaves only over a connection that outlived the
 * stop. On a busy machine those of the first that were held have been idle for too long.
 */
async function useConnections(fleet: Fleet): Promise<void> {
  const url = fleet.url(stopped)
  const comeAndGo = async () => {
    const user = fleet.user().at(url)
    expect((await user.create()).status).toBe(303)
    expect((await user.follow()).outcome).toBe('complete')
    expect((await fleet.admin.at(url).delete(user.username)).status).toBe(202)
    expect((await user.follow()).outcome).toBe('complete')
  }
  await Promise.all(Array.from({ length: 10 }, comeAndGo))
}

/** Stops the owner of all these operations, lets heirs take over, and makes the sequel of each. */
async function stopAndInherit(trial: Trial, fleet: Fleet, all: readonly Case[]) {
  const points = all.map(({ point }) => point)
  const groupOf = (point: Point) => (isLastLook(point) ? lastLook : undefined)
  const struck = await wave.hold(fleet, points, [stopped], { through: fleet.url(heir), groupOf })
  await useConnections(fleet)
  await Promise.all(heirs.map(index => fleet.start(index)))
  const { pid } = fleet.replica(stopped)
  const stoppedAtMs = Date.now()
  await fleet.failpoints.stopHeld(lastLook, pid)
  await Promise.all(struck.map(each => wave.expectEnded(fleet, each)))
  trial.landed(struck.filter(({ arm }) => arm.marks()[0]!.pid === pid).length)
  wave.expectInTime(trial, await wave.takeovers(fleet, struck, stoppedAtMs))
  const held = await Promise.all(struck.map((each, i) => makeSequel(fleet, each, all[i]!.sequel)))
  return { struck, newer: held.filter(arm => arm !== undefined) }
}

/** Wakes the stale owner, and waits until none of its operations is in progress. */
async function wake(fleet: Fleet, struck: readonly wave.Struck[]): Promise<Account> {
  const owned = struck.filter(({ point }) => hasOwner(point))
  const ops = new Set(await Promise.all(owned.map(async ({ ended }) => (await ended).op)))
  const wokenAtMs = Date.now()
  for (const { arm, point } of struck) if (!isLastLook(point)) arm.release()
  await fleet.kill(stopped, 'SIGCONT')
  const gaveUp = async () => {
    const over = new Set((await verdicts(fleet, stopped, wokenAtMs)).keys())
    return ops.difference(over).difference(await turnedAway(fleet, stopped, wokenAtMs)).size === 0
  }
  await eventually('every stale owner gives up', gaveUp, debrisLimitMs)
  const account = () => accountOf(fleet, stopped, wokenAtMs, ops)
  await eventually(
    'the removal of what slipped in',
    async () => (await account()).slipped.length === 0,
    debrisLimitMs,
  ).catch(() => {})
  return account()
}

/** A stale owner's writes leave nothing, and no event comes twice. */
async function strike(trial: Trial, options: FleetOptions, all: readonly Case[]): Promise<Account> {
  const fleet = await trial.fleet(options)
  await Promise.all(heirs.map(index => fleet.kill(index)))
  trial.injected(all.length)
  const { struck, newer } = await stopAndInherit(trial, fleet, all)
  const before = await Promise.all(struck.map(each => stateOf(fleet, each)))
  const account = await wake(fleet, struck)
  // An owner without its guard would continue as soon as nothing newer exists.
  if (options.control) await fleet.kill(stopped)
  const now = () => Promise.all(struck.map(each => stateOf(fleet, each)))
  // Objects that slipped in may still be being deleted.
  await eventually('the state from before', async () => isDeepStrictEqual(await now(), before), debrisLimitMs).catch(
    () => {},
  )
  expect(await now()).toEqual(before)
  for (const arm of newer) arm.release()
  const going = struck.filter((_, i) => all[i]!.sequel === 'newer')
  for (const { user } of going) expect((await user.follow()).outcome).toBe('complete')
  await wave.expectNothingLeft(
    fleet,
    struck.map(({ user }) => user),
  )
  return account
}

async function stopPastLease(trial: Trial, points: readonly Point[], options: FleetOptions): Promise<Account> {
  const all = casesOf(points)
  const accounts: Account[] = []
  for (let i = 0; i < all.length; i += waveSize) {
    accounts.push(await strike(trial, options, all.slice(i, i + waveSize)))
  }
  const total = sum(accounts)
  trial.figure('stops', all.length)
  for (const [name, value] of Object.entries(total)) trial.figure(name, value)
  for (const words of total.slipped) trial.violation(`slipped: ${words}`)
  // Otherwise the attack proved nothing.
  expect(total.tried, 'stale writes tried').toBeGreaterThan(0)
  expect(total.refusedByRedis, 'stale scripts refused by Redis').toBeGreaterThan(0)
  // A write leaves only over a connection that outlived the stop. A part of the attack has few of them, and their owner may
  // stop by itself and cut each one before the API server answers.
  if (isWhole) expect(total.refusedByPolicy, 'stale writes refused by the policy').toBeGreaterThan(0)
  return total
}

function sum(accounts: readonly Account[]): Account {
  return accounts.reduce((a, b) => {
    const entries = Object.entries(a).map(([name, value]) => {
      const other = b[name as keyof Account]
      return [name, typeof value === 'number' ? value + (other as number) : [...value, ...(other as string[])]]
    })
    return Object.fromEntries(entries) as Account
  })
}

/** T1 strikes the points of full labs at each change; here they are part of whole runs. */
async function stopEverywhere(trial: Trial): Promise<void> {
  if (isWhole) {
    const points = allPoints()
    await stopPastLease(trial, points, await wave.fullLabFleet(trial, 3 * points.length))
  } else await stopPastLease(trial, revealingPoints(), wave.waveFleet)
}

attack('T3 stop past the lease', stopEverywhere, { limitMs: 480_000 })

/** Without self-stop, the fence alone must hold. */
async function stopWithoutSelfStop(trial: Trial): Promise<void> {
  const points = revealingPoints()
  const options = await wave.fullLabFleet(trial, 3 * points.length)
  const { selfStops } = await stopPastLease(trial, points, { ...options, control: 'no-self-stop' })
  expect(selfStops, 'owners that stopped by themselves').toBe(0)
}

if (isWhole) attack('T4 stop past the lease without self-stop', stopWithoutSelfStop, { limitMs: 480_000 })
