/**
 * A user comes back while their lab is being stopped: one script settles. Touched first, the lab stays; after it, the user is
 * told. `SKYLAB_FAULTS=all`: 10,000 pairs.
 */
import { expect, test } from 'vitest'
import type { CullRequest, StopRefusal, TouchAnswer } from '../../../src/store/idle.ts'
import { activity, hourMs, Idle, podUid, useIdle } from '../../kit/store/idle.ts'
import { Store } from '../../kit/store/store.ts'

const idle = useIdle()
const pairs = process.env.SKYLAB_FAULTS === 'all' ? 10_000 : 400
const atOnce = 100

interface Pair {
  readonly user: string
  readonly touched: TouchAnswer
  readonly culled: { readonly op: number } | StopRefusal
}

/** Labs that may be stopped now, with the requests to. */
async function ready(users: readonly string[]): Promise<CullRequest[]> {
  const { store, due } = idle()
  await Promise.all(users.map(user => store.run(user, podUid)))
  await due.musterLabs(0)
  const take = async () => (await due.take('lab', 'fast', { limit: users.length, farthestMs: hourMs })).taken
  const lastMs = (await idle().nowMs()) - 2 * hourMs
  await idle().pass('lab', 'nobody', 2 * hourMs)
  const end = { activity: activity({ lastMs, warnedMs: lastMs }), nextInMs: 0 }
  await Promise.all((await take()).map(taken => idle().end('lab', taken, end)))
  return Promise.all(
    (await take()).map(async ({ id, score }) => {
      const read = await idle().activity.readLab(id, podUid)
      const ask = { ...idle().ask(id, score, read), op: read.lab!.op, timeLimitMs: 60_000 }
      return { ...ask, stopsPerMinute: 2 * pairs }
    }),
  )
}

/** Both at once, by connections of two replicas; which is sent first is left to chance. */
async function race(gateway: Idle, ask: CullRequest): Promise<Pair> {
  const touch = () => gateway.touches.touch('lab', { id: ask.id, ageMs: 0 }, 'traffic')
  const cull = () => idle().activity.cullLab(ask)
  if (Math.random() < 0.5) {
    const [touched, culled] = await Promise.all([touch(), cull()])
    return { user: ask.id, touched, culled }
  }
  const [culled, touched] = await Promise.all([cull(), touch()])
  return { user: ask.id, touched, culled }
}

test(`of ${pairs} users who come back at the last moment, each is kept or told`, { timeout: 600_000 }, async () => {
  const other = await Store.open(idle().store.server, idle().store.prefix)
  const gateway = new Idle(other)
  const all: Pair[] = []
  try {
    for (let i = 0; i < pairs; i += atOnce) {
      const users = Array.from({ length: atOnce }, (_, n) => `u${i + n}`)
      const asks = await ready(users)
      all.push(...(await Promise.all(asks.map(ask => race(gateway, ask)))))
    }
  } finally {
    other.close()
  }
  expect(all).toHaveLength(pairs)
  const wrong = all.filter(({ touched, culled }) => (touched === 'kept') !== (culled === 'changed'))
  expect(wrong).toEqual([])
  for (const { user, touched } of all) {
    const status = touched === 'kept' ? 'running' : 'terminating'
    expect((await idle().store.record(user))!.status, `${user} was answered ${touched}`).toBe(status)
  }
  // Both orders came about, or this would prove nothing.
  const kept = all.filter(({ touched }) => touched === 'kept').length
  expect(kept).toBeGreaterThan(pairs / 20)
  expect(pairs - kept).toBeGreaterThan(pairs / 20)
})
