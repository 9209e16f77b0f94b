/** Owners that were stopped past the end of their leases, and go on when others have taken their place. */
import { expect } from 'vitest'
import { attack, type Fight } from '../harness/attack.ts'
import type { Fleet } from '../harness/fleet.ts'
import { eventually } from '../harness/world.ts'
import { allPoints } from './points.ts'
import * as wave from './wave.ts'

const stopped = 0
const heirs = [1, 2]

/** Writes that an owner is about to make, has just made, and has just recorded. */
const telling = /^lab\.(create\.make\.(namespace|configmap-env|pod)|create\.clean\.namespace|delete\.(pod|namespace))\./
const points = () =>
  allPoints().filter(
    ({ name, story }) => telling.test(name) || (story !== 'fail' && name.endsWith('finish.before-act')),
  )

interface Standing {
  readonly namespaceUid: string | undefined
  readonly podUid: string | undefined
  readonly status: unknown
  readonly events: unknown
}

async function standing(fleet: Fleet, { user }: wave.Struck): Promise<Standing> {
  const through = user.at(fleet.url(heirs[0]!))
  const [namespace, pod] = [await fleet.world.namespaceOf(user.username), await fleet.world.podOf(user.username)]
  return {
    namespaceUid: namespace?.metadata.uid,
    podUid: pod?.metadata.uid,
    status: (await through.userStatus()).body,
    events: (await through.follow()).events,
  }
}

/** Deletes the lab and makes another: what wakes later finds a newer one in its place. */
async function renew(fleet: Fleet, { user }: wave.Struck): Promise<void> {
  const url = fleet.url(heirs[0]!)
  expect((await fleet.admin.at(url).delete(user.username)).status).toBe(202)
  expect((await user.at(url).follow()).outcome).toBe('complete')
  expect((await user.at(url).create()).status).toBe(303)
  expect((await user.at(url).follow()).outcome).toBe('complete')
}

/** Nothing that a stale owner does stands, and nothing is told twice. */
async function stopPastLease(fight: Fight): Promise<void> {
  const fleet = await fight.fleet(wave.waveFleet)
  await Promise.all(heirs.map(index => fleet.kill(index)))
  fight.injected(points().length)
  const struck = await wave.hold(fleet, points(), [stopped], fleet.url(heirs[0]!))
  await Promise.all(heirs.map(index => fleet.start(index)))
  const { pid } = fleet.replica(stopped)
  const stoppedAtMs = Date.now()
  await fleet.kill(stopped, 'SIGSTOP')
  await Promise.all(struck.map(each => wave.expectEnded(fleet, each)))
  fight.landed(struck.filter(({ arm }) => arm.marks()[0]!.pid === pid).length)
  wave.expectInTime(fight, await wave.takeovers(fleet, struck, stoppedAtMs))
  const creations = struck.filter(({ point }) => point.story === 'create')
  await Promise.all(creations.filter((_, i) => i % 2).map(each => renew(fleet, each)))
  const before = await Promise.all(struck.map(each => standing(fleet, each)))

  const wokenAtMs = Date.now()
  for (const { arm } of struck) arm.release()
  await fleet.kill(stopped, 'SIGCONT')
  const gaveUp = async () => {
    const lines = await wave.logged(fleet, stopped, 'operation is no longer ours')
    return new Set(lines.map(({ line }) => line.user)).size === struck.length
  }
  await eventually('every stale owner gives up', gaveUp)
  const writes = (await fleet.audit.writesOf(fleet.namespacePrefix)).filter(
    ({ receivedAtMs, replica }) => receivedAtMs >= wokenAtMs && replica === 'replica-1',
  )
  // What it tidies up by what its watches last showed is refused by UID; as an owner it does not even try.
  const tried = writes.filter(({ op }) => op !== undefined)
  const figures = { byOwner: tried.length, tidying: writes.length - tried.length, stood: writes.filter(stood).length }
  for (const [name, value] of Object.entries(figures)) fight.figure(name, value)
  expect(figures).toMatchObject({ byOwner: 0, stood: 0 })
  expect(await Promise.all(struck.map(each => standing(fleet, each)))).toEqual(before)
  await wave.expectNothingLeft(
    fleet,
    struck.map(({ user }) => user),
  )
}

const stood = ({ code }: { readonly code: number }) => code < 300

attack('T3 stop past the lease', stopPastLease)
