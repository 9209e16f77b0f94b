/** The comparing replica is killed in the middle of its compare, or stopped there past its lease. */
import { expect } from 'vitest'
import type { Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet, FleetOptions } from '../../kit/fleet/fleet.ts'
import * as wave from './wave.ts'

const places = ['compare.begun', 'compare.listed', 'compare.settled']

/** Further checks of labs that ran all the time. */
type Check = (fleet: Fleet, users: readonly Client[]) => Promise<void>

async function running(fleet: Fleet, count: number): Promise<readonly Client[]> {
  const users = Array.from({ length: count }, () => fleet.user())
  await Promise.all(users.map(user => user.create()))
  await Promise.all(users.map(user => user.follow()))
  return users
}

/** One lab in the middle of its creation and one in the middle of its deletion. Returns what releases both. */
async function inFlight(fleet: Fleet): Promise<() => void> {
  const [[deleted], created] = [await running(fleet, 1), fleet.user()]
  const deletion = fleet.arm('lab.delete.pod.before-act', 'hold', { user: deleted!.username })
  const creation = await wave.halfMade(fleet, created, fleet.anyUrl())
  expect((await fleet.admin.delete(deleted!.username)).status).toBe(202)
  await deletion.landed()
  return () => {
    for (const arm of [creation, deletion]) arm.release()
  }
}

/** Asks until the list comes. Until then the answer is 503, and no list lacks a lab. */
async function untilCompared(admin: Client, users: readonly Client[]): Promise<void> {
  await eventually('the list of labs', async () => {
    const answer = await admin.labs().catch(() => null)
    expect([200, 503, undefined]).toContain(answer?.status)
    if (answer?.status === 200) expect(answer.body).toEqual(expect.arrayContaining(users.map(user => user.username)))
    return answer?.status === 200
  })
}

/** Redis loses its data during a creation and a deletion. The comparing replica is stopped at each place in turn. */
async function strikeAll(
  trial: Trial,
  fleet: Fleet,
  goOn: (struck: number, users: readonly Client[]) => Promise<void>,
): Promise<readonly Client[]> {
  fleet.expects({ redisLoss: true })
  const users = await running(fleet, 5)
  const uids = () => Promise.all(users.map(async user => (await fleet.world.podOf(user.username)).metadata.uid))
  const before = await uids()
  const waits: { readonly ms: number }[] = []
  for (const place of places) {
    trial.injected()
    const release = await inFlight(fleet)
    const arm = fleet.arm(place, 'stop')
    const lostAtMs = Date.now()
    await fleet.world.redis.flushall()
    const struck = fleet.indexOf((await arm.landed()).replica)
    trial.landed()
    release()
    const compared = untilCompared(fleet.admin.at(fleet.url((struck + 1) % fleet.size)), users)
    compared.then(
      () => waits.push({ ms: Date.now() - lostAtMs }),
      () => {},
    )
    await Promise.all([compared, goOn(struck, users)])
    await fleet.ready()
  }
  // The compare's lease expires, a replica finds it free at its next scan, and the compare itself takes time.
  wave.expectInTime(trial, waits, wave.promisedMs + 1000)
  expect(await uids()).toEqual(before)
  return users
}

/** Another replica compares, and every lab stays as it was. */
export async function killComparer(trial: Trial, options: FleetOptions, check?: Check): Promise<void> {
  const fleet = await trial.fleet({ ...options, restart: true })
  const users = await strikeAll(trial, fleet, struck => fleet.kill(struck))
  await check?.(fleet, users)
}

async function restarts(fleet: Fleet, index: number): Promise<number> {
  const metrics = await (await fetch(`${fleet.monitoringUrl(index)}/metrics`)).text()
  return Number(/^skylab_compare_duration_seconds_count\{.*result="restarted".*\} (\d+)/m.exec(metrics)?.[1] ?? 0)
}

/** Redis refuses the lists that the replica read before the stop, and the replica begins again. */
export async function stopComparer(trial: Trial, options: FleetOptions, check?: Check): Promise<void> {
  const fleet = await trial.fleet(options)
  const refused = new Map<number, number>()
  const labs = await strikeAll(trial, fleet, async (struck, users) => {
    await untilCompared(fleet.admin.at(fleet.url((struck + 1) % fleet.size)), users)
    await fleet.kill(struck, 'SIGCONT')
    const before = refused.get(struck) ?? 0
    await eventually('a refusal of the stale compare', async () => (await restarts(fleet, struck)) > before)
    refused.set(struck, await restarts(fleet, struck))
  })
  trial.figure(
    'refusedByRedis',
    [...refused.values()].reduce((sum, count) => sum + count, 0),
  )
  await check?.(fleet, labs)
}
