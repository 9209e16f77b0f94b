/**
 * Replicas of two builds on one Redis, as in a rollout and in a rollback: under load each takes over from the other when one
 * is killed, drained or stopped past its lease. Toys, which only this build knows, run beside the labs of both.
 *
 *     npm run faults -- --beside PATH/dist/main.mjs        after `npm run build` in a checkout of the other commit
 */
import { expect } from 'vitest'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { besideVariable } from '../../kit/attack/result.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { type Client, defaultOptions } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import type { Toys } from '../../kit/toy/toys.ts'
import { withToys } from './toy-fleet.ts'
import { insist } from './traffic.ts'
import { expectInTime, logged, sizes, waitForRoom } from './wave.ts'

const program = process.env[besideVariable]

const builds = { this: [0, 1], other: [2, 3] } as const
const replicas = [0, 1, 2, 3]
const buildOf = (index: number) => ((builds.this as readonly number[]).includes(index) ? 'this' : 'other')
/** One after another: each build by turns, with each signal. */
const blows = (['SIGKILL', 'SIGSTOP', 'SIGTERM', 'SIGKILL'] as const).flatMap(signal =>
  [0, 2, 1, 3].map(index => ({ signal, index })),
)
const users = 8
const toyCount = 4
/** Operations that wait for room until they are deleted. */
const noRoomGraceSeconds = 300
/** Each build ends at least this share of all operations that ended. */
const leastShare = 0.3

/** Repeats a request whose replica died, at the next one. */
async function surely(ask: () => Promise<number>, allowed: readonly number[]): Promise<number> {
  for (;;) {
    const status = await ask().catch(() => undefined)
    if (status !== undefined) {
      expect(allowed).toContain(status)
      return status
    }
  }
}

async function remove(fleet: Fleet, user: Client): Promise<void> {
  const { admin } = fleet
  const status = await surely(async () => (await insist(() => admin.delete(user.username))).status, [202, 404])
  if (status === 202) await user.follow({ limitMs: 120_000 })
}

/** Makes and deletes a user's lab until `signal`; every third deletion supersedes its creation. */
async function live(fleet: Fleet, user: Client, signal: AbortSignal): Promise<void> {
  for (let round = 0; !signal.aborted; round++) {
    const key = `${user.username}-${round}`
    await surely(async () => (await insist(() => user.create(defaultOptions, { key }))).status, [303])
    if (round % 3 < 2) expect((await user.follow({ limitMs: 120_000 })).outcome).toBe('complete')
    await remove(fleet, user)
  }
}

/** A toy with the name of a user: a release that knows only labs must not mistake it for the lab. */
async function play(toys: Toys, name: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await toys.create(name, { color: 'red' })
    expect((await toys.follow(name)).outcome).toBe('complete')
    await toys.delete(name)
    expect((await toys.follow(name)).outcome).toBe('complete')
  }
}

/** A creation that waits for room, owned by this replica. Another one may have been quicker. */
async function ownedBy(fleet: Fleet, index: number, spare: Client[]): Promise<Client> {
  for (;;) {
    const user = await waitForRoom(fleet.user(), fleet.url(index))
    spare.push(user)
    const steps = await logged(fleet, index, 'step')
    if (steps.some(({ line }) => line.user === user.username)) return user
  }
}

/** Strikes a replica; returns its heir and the time of the take-over, by the heir's log. */
async function strike(fleet: Fleet, { signal, index }: (typeof blows)[number], spare: Client[]) {
  const { username } = await ownedBy(fleet, index, spare)
  const struckAtMs = Date.now()
  const gone = fleet.kill(index, signal)
  const isHeir = async (other: number) => {
    const lines = await logged(fleet, other, 'operation resumed')
    return lines.find(({ line, atMs }) => line.user === username && atMs >= struckAtMs)
  }
  let heir = -1
  let ms = Number.POSITIVE_INFINITY
  await eventually(`an heir of ${index}`, async () => {
    for (const other of replicas.filter(other => other !== index)) {
      const resumed = await isHeir(other)
      if (resumed) [heir, ms] = [other, resumed.atMs - struckAtMs]
    }
    return heir >= 0
  })
  if (signal === 'SIGSTOP') await fleet.kill(index, 'SIGCONT')
  await gone
  if (signal !== 'SIGSTOP') await fleet.start(index)
  return { from: buildOf(index), to: buildOf(heir), point: signal, ms }
}

/** Ended operations by build. */
async function endedBy(fleet: Fleet, build: keyof typeof builds): Promise<number> {
  const lines = await Promise.all(builds[build].map(index => logged(fleet, index, 'operation ended')))
  return lines.flat().filter(({ line }) => line.user !== undefined).length
}

/** Labs and toys come and go while `work` runs, and have ended afterwards. */
async function underLoad<T>(fleet: Fleet, toys: Toys, work: () => Promise<T>): Promise<T> {
  const over = new AbortController()
  const people = Array.from({ length: users }, () => fleet.user())
  const load = [
    ...people.map(user => live(fleet, user, over.signal)),
    ...people.slice(0, toyCount).map(({ username }) => play(toys, username, over.signal)),
  ]
  const broken = Promise.all(load).then(() => Promise.reject(new Error('the load has ended')))
  broken.catch(() => {})
  try {
    return await Promise.race([work(), broken])
  } finally {
    over.abort()
    await Promise.all(load)
  }
}

async function strikeBoth(trial: Trial, fleet: Fleet, toys: Toys): Promise<void> {
  trial.injected(blows.length)
  const taken = await underLoad(fleet, toys, async () => {
    const spare: Client[] = []
    const all: Awaited<ReturnType<typeof strike>>[] = []
    for (const blow of blows) {
      all.push(await strike(fleet, blow, spare))
      trial.landed()
    }
    await Promise.all(spare.map(user => remove(fleet, user)))
    return all
  })
  expectInTime(trial, taken)
  for (const [from, to] of [
    ['this', 'other'],
    ['other', 'this'],
  ] as const) {
    const crossed = taken.filter(each => each.from === from && each.to === to).length
    trial.figure(`from_${from}_to_${to}`, crossed)
    expect(crossed, `take-overs from ${from} to ${to}`).toBeGreaterThan(0)
  }
  const ended = { this: await endedBy(fleet, 'this'), other: await endedBy(fleet, 'other') }
  trial.figure('ended_by', ended)
  const share = ended.this / (ended.this + ended.other)
  expect(Math.min(share, 1 - share), JSON.stringify(ended)).toBeGreaterThan(leastShare)
}

if (program !== undefined) {
  const beside = { program, replicas: builds.other }
  const config = { kubernetes: { requestTimeoutSeconds: 10 }, lab: { sizes }, times: { noRoomGraceSeconds } }
  attack(
    'replicas of two builds, struck by turns under load',
    trial =>
      withToys(trial, { replicas: 4, users: 200, beside, config }, (fleet, toys) => strikeBoth(trial, fleet, toys)),
    { limitMs: 600_000 },
  )
}
