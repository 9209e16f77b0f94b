/** Replicas without free slots still end operations that are past their deadlines. */
import { expect } from 'vitest'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { isWhole } from './points.ts'
import { expectInTime, halfMade, resumptions, scanIntervalMs, ttlMs } from './wave.ts'

const seconds = 1000
const deadlineMs = 12 * seconds
const cleanUpMs = 4 * seconds
/** Limit for everything accepted (P3). */
const promisedMs = deadlineMs + ttlMs + scanIntervalMs + cleanUpMs
const room = 2
const replicas = 2

async function passDeadline(trial: Trial): Promise<void> {
  const times = { spawnTimeoutSeconds: deadlineMs / seconds, deleteTimeoutSeconds: cleanUpMs / seconds }
  const engine = { room, leaseTtlMs: ttlMs, scanIntervalMs }
  const fleet = await trial.fleet({ replicas, config: { engine, times } })
  const running = fleet.user()
  expect((await running.create()).status).toBe(303)
  expect((await running.follow()).outcome).toBe('complete')

  const fill = Array.from({ length: room * replicas }, () => fleet.user())
  const arms = fill.map(({ username }) => fleet.arm('lab.create.make.secret.before-act', 'hold', { user: username }))
  await Promise.all(fill.map(user => user.create()))
  await Promise.all(arms.map(arm => arm.landed()))

  const late = Array.from({ length: 3 }, () => fleet.user())
  trial.injected(late.length + 1)
  const begunMs = performance.now()
  const requests = [...late.map(user => ask(user, () => user.create())), ask(running, () => deletion(fleet, running))]
  // All requests have owners although no replica has a free slot. The overdue holders of slots may continue now.
  await Promise.all(requests.map(({ taken }) => taken))
  for (const arm of arms) arm.release()
  const ends = requests.map(({ ended }) => ended)
  for (const { outcome, errors, ms, begun } of await Promise.all(ends)) {
    // Its owner had no free slot, so it began nothing before the deadline.
    trial.landed(outcome === 'failed' && !begun ? 1 : 0)
    trial.took(ms)
    expect(errors.at(-1)).toMatch(/longer than \d+ seconds/)
  }
  trial.figure('promisedMs', promisedMs)
  expect(performance.now() - begunMs).toBeLessThan(promisedMs)
  await Promise.all(fill.map(user => user.follow()))
  expect((await running.userStatus()).body).toMatchObject({ status: 'failed', pod: 'present' })
}

/** A dead replica's operations get a new owner in time, although no live replica has a slot to continue them. */
async function inheritWithoutRoom(trial: Trial): Promise<void> {
  const engine = { room: 1, leaseTtlMs: ttlMs, scanIntervalMs }
  const fleet = await trial.fleet({ replicas: 2, config: { engine } })
  const [busy, orphaned] = [fleet.user(), fleet.user()]
  const [heir, owner] = [await halfMade(fleet, busy, fleet.url(0)), await halfMade(fleet, orphaned, fleet.url(1))]
  trial.injected(1)
  const killedAtMs = Date.now()
  const pids = [heir, owner].map(arm => arm.marks()[0]!.pid)
  expect(new Set(pids).size).toBe(2)
  await fleet.kill([0, 1].find(index => fleet.replica(index).pid === pids[1])!)
  const resumedAtMs = await eventually('an owner of the orphan', async () =>
    (await resumptions(fleet, killedAtMs)).get(orphaned.username),
  )
  trial.landed(1)
  expectInTime(trial, [{ ms: resumedAtMs - killedAtMs }])
  heir.release()
  for (const user of [busy, orphaned]) expect((await user.follow()).outcome).toBe('complete')
}

attack('an orphan whose heirs are full', inheritWithoutRoom, { concurrent: true })

if (isWhole) attack('deadline when all replicas are full', passDeadline)

const deletion = (fleet: Fleet, user: Client) => fleet.admin.delete(user.username)

/** Sends the request, and follows it to the end: when it got an owner, how long it took, and whether a step began. */
function ask(user: Client, request: () => Promise<unknown>) {
  const begunMs = performance.now()
  const taken = Promise.withResolvers<void>()
  const follow = async () => {
    await request()
    const { outcome, errors, events } = await user.follow({
      onEvent: ({ event }) => {
        if (event === 'error') taken.resolve()
      },
    })
    const begun = events.some(({ data }) => /^(Created|Stopping|Removing)/.test(data))
    return { outcome, errors, begun, ms: performance.now() - begunMs }
  }
  const ended = follow()
  ended.catch(taken.reject)
  return { taken: taken.promise, ended }
}
