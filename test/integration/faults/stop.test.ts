/**
 * Owners that were stopped past the end of their leases, and go on when others have taken their place. Some are stopped
 * between their last look at the lease and the write itself: nothing of their own can hold those back.
 */
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Arm } from '../../kit/failpoints/failpoint-arms.ts'
import type { Fleet, FleetOptions } from '../../kit/fleet/fleet.ts'
import { allPoints, isOfFurnished, isWhole, type Point, pointsToStrike } from './points.ts'
import { type Account, accountOf, turnedAway, verdicts } from './stale.ts'
import * as wave from './wave.ts'

const stopped = 0
const heirs = [1, 2]
const heir = 1
const lastLook = 'last-look'
/** As many as a replica that hangs may well have in its hands. */
const waveSize = 48
/** Until a namespace that nobody knows is looked into, and for as long as the cluster takes to remove one. */
const debrisLimitMs = 45_000

/**
 * What a stale owner finds when it wakes: the lab as its heir left it; one made anew; a newer namespace with nothing in it
 * yet; or nothing.
 */
type Sequel = 'stays' | 'renewed' | 'newer' | 'gone'

interface Case {
  readonly point: Point
  readonly sequel: Sequel
}

const isLastLook = ({ name }: Point) => /\.before-(send|commit)$/.test(name)
const isMaking = ({ name }: Point) => name.startsWith('lab.create.make.')
/** Of the others nobody is the owner yet, or any more. */
const hasOwner = ({ name }: Point) => !/\.accepted$|^lab\.claim\./.test(name)

/** Where a write is about to be made, was just made, and was just recorded; what is left out differs little from these. */
const telling =
  /^lab\.create\.make\.(namespace|pod|secret-pull)\.|\.clean\.namespace\.|^lab\.delete\.(pod|namespace)\.|\.finish\.before|\.owned$/
/** Where a write slips through to something newer. */
const slippery = /^lab\.(create\.make\.(namespace|configmap-env)|delete\.namespace)\.before-send$/

function tellingPoints(): Point[] {
  const few = new Set(pointsToStrike().map(({ name }) => name))
  const points = allPoints().filter(({ name }) => slippery.test(name) || (few.has(name) && telling.test(name)))
  return isWhole ? points : points.filter(point => !isOfFurnished(point))
}

const sequels: readonly Sequel[] = ['stays', 'renewed', 'newer', 'gone']

function casesOf(points: readonly Point[]): Case[] {
  return points.flatMap((point, i): Case[] => {
    if (point.story !== 'create') return [{ point, sequel: i % 2 ? 'stays' : 'renewed' }]
    if (!isMaking(point) || !isLastLook(point)) return [{ point, sequel: sequels[i % sequels.length]! }]
    // What slips through into a newer namespace is the worst there is.
    return (isWhole ? (['newer', 'gone'] as const) : (['newer'] as const)).map(sequel => ({ point, sequel }))
  })
}

/** @returns the newer creation, where it is held */
async function makeSequel(fleet: Fleet, { user }: wave.Struck, sequel: Sequel): Promise<Arm | undefined> {
  if (sequel === 'stays') return undefined
  const url = fleet.url(heir)
  const { status } = await fleet.admin.at(url).delete(user.username)
  expect([202, 404]).toContain(status)
  if (status === 202) expect((await user.at(url).follow()).outcome).toBe('complete')
  if (sequel === 'newer') return wave.halfMade(fleet, user, url, 'lab.create.make.configmap-env.before-act')
  if (sequel === 'gone') return undefined
  expect((await user.at(url).create()).status).toBe(303)
  expect((await user.at(url).follow()).outcome).toBe('complete')
  return undefined
}

async function standing(fleet: Fleet, { user }: wave.Struck) {
  const through = user.at(fleet.url(heir))
  const [namespace, pod] = [await fleet.world.namespaceOf(user.username), await fleet.world.podOf(user.username)]
  const { status, body } = await through.userStatus()
  return { namespaceUid: namespace?.metadata.uid, podUid: pod?.metadata.uid, status, body }
}

/** Stops the owner of all these, lets others take its place, and gives what each of them then looks like. */
async function stopAndInherit(trial: Trial, fleet: Fleet, all: readonly Case[]) {
  const points = all.map(({ point }) => point)
  const groupOf = (point: Point) => (isLastLook(point) ? lastLook : undefined)
  const struck = await wave.hold(fleet, points, [stopped], { through: fleet.url(heir), groupOf })
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

/** Wakes the stale owner, and waits until nothing of what it had in its hands is under way. */
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
    'what slipped in is removed',
    async () => (await account()).slipped.length === 0,
    debrisLimitMs,
  ).catch(() => {})
  return account()
}

/** Nothing that a stale owner does stands, and nothing is told twice. */
async function strike(trial: Trial, options: FleetOptions, all: readonly Case[]): Promise<Account> {
  const fleet = await trial.fleet(options)
  await Promise.all(heirs.map(index => fleet.kill(index)))
  trial.injected(all.length)
  const { struck, newer } = await stopAndInherit(trial, fleet, all)
  const before = await Promise.all(struck.map(each => standing(fleet, each)))
  const account = await wake(fleet, struck)
  // Who does not know that it is late would go on as soon as there is nothing newer.
  if (options.control) await fleet.kill(stopped)
  const now = () => Promise.all(struck.map(each => standing(fleet, each)))
  // What slipped in may still be on its way out.
  await eventually('all is as it was', async () => isDeepStrictEqual(await now(), before), debrisLimitMs).catch(
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
  // Else nothing was proved.
  expect(total.tried, 'stale writes tried').toBeGreaterThan(0)
  expect(total.refusedByRedis, 'stale scripts refused by Redis').toBeGreaterThan(0)
  expect(total.refusedByPolicy, 'stale writes refused by the policy').toBeGreaterThan(0)
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

/** What only full labs have is struck by T1 at each change, and here where all is asked for. */
async function stopEverywhere(trial: Trial): Promise<void> {
  if (isWhole) {
    const points = allPoints()
    await stopPastLease(trial, points, await wave.fullLabFleet(trial, 3 * points.length))
  } else await stopPastLease(trial, tellingPoints(), wave.waveFleet)
}

attack('T3 stop past the lease', stopEverywhere, { limitMs: 480_000 })

/** The fence alone holds. */
async function stopWithoutSelfStop(trial: Trial): Promise<void> {
  const points = tellingPoints()
  const options = await wave.fullLabFleet(trial, 3 * points.length)
  const { selfStops } = await stopPastLease(trial, points, { ...options, control: 'no-self-stop' })
  expect(selfStops, 'owners that stopped by themselves').toBe(0)
}

if (isWhole) attack('T4 stop past the lease without self-stop', stopWithoutSelfStop, { limitMs: 480_000 })
