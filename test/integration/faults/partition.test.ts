/** One replica loses Redis silently: its connections stay open, and nothing passes. */

import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Arm } from '../../kit/failpoints/failpoint-arms.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { isWhole } from './points.ts'
import * as wave from './wave.ts'

/** As in production: the time between an owner's own end and the lease's shows on a busy machine too. */
const ttlMs = 10_000
const { scanIntervalMs } = wave
const selfStopMs = 0.7 * ttlMs
const takeoverMs = ttlMs + scanIntervalMs + 1000
/** A call to Redis fails after one second. */
const longestCallMs = 1200

const cutOff = 0
const heirs = [1, 2]
/** The acts at which owners are held. */
const acts = ['make.configmap-env', 'make.service', 'make.pod'].map(step => `lab.create.${step}.before-act`)

/** Asks the replica that is cut off until the signal. Returns the time of the slowest answer. */
async function ask(trial: Trial, fleet: Fleet, signal: AbortSignal): Promise<number> {
  const admin = fleet.admin.at(fleet.url(cutOff))
  let longest = 0
  while (!signal.aborted) {
    const begunMs = performance.now()
    const { status, headers } = await admin.labs()
    longest = Math.max(longest, performance.now() - begunMs)
    if (status !== 503 || !headers.get('retry-after')) trial.violation(`the one that is cut off answered ${status}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return longest
}

/** When an heir resumed each operation, by user. */
async function resumed(fleet: Fleet): Promise<ReadonlyMap<string, number>> {
  const lines = await Promise.all(heirs.map(index => wave.logged(fleet, index, 'operation resumed')))
  return new Map(lines.flat().map(({ line, atMs }) => [line.user!, atMs]))
}

interface Cast {
  readonly fleet: Fleet
  /** Users whose operations wait for the cluster. */
  readonly idle: readonly Client[]
  /** Users whose operations are held in the middle of acts. */
  readonly acting: readonly Client[]
  readonly arms: readonly Arm[]
}

/** The replica that will be cut off owns all operations; then its heirs start. */
async function begin(trial: Trial): Promise<Cast> {
  const config = { engine: { room: 64, leaseTtlMs: ttlMs, scanIntervalMs }, lab: { sizes: wave.sizes } }
  const fleet = await trial.fleet({ proxies: 'open', config })
  await Promise.all(heirs.map(index => fleet.kill(index)))
  const idle = await Promise.all(Array.from({ length: 6 }, () => wave.waitForRoom(fleet.user(), fleet.url(cutOff))))
  const acting = acts.map(() => fleet.user())
  const url = fleet.url(cutOff)
  const arms = await Promise.all(acting.map((user, i) => wave.halfMade(fleet, user, url, acts[i]!)))
  await Promise.all(heirs.map(index => fleet.start(index)))
  return { fleet, idle, acting, arms }
}

async function partition(trial: Trial): Promise<void> {
  const cast = await begin(trial)
  const { fleet, idle, acting, arms } = cast
  const users = [...idle, ...acting]
  trial.injected(users.length)
  const silentAtMs = Date.now()
  fleet.proxies(cutOff).redis.silence()
  // Answers that were on their way may still arrive.
  await eventually(
    'a 503 of the replica that is cut off',
    async () => (await fleet.admin.at(fleet.url(cutOff)).labs()).status === 503,
  )
  const asked = new AbortController()
  const longest = ask(trial, fleet, asked.signal)
  const isOver = async () => {
    const taken = await resumed(fleet)
    return users.every(({ username }) => taken.has(username))
  }
  await eventually('all take-overs', isOver, 2 * takeoverMs).finally(() => asked.abort())
  trial.figure('longestCallMs', Math.round(await longest))
  if ((await longest) > longestCallMs) trial.violation(`an answer took ${Math.round(await longest)} ms`)
  await judgeTimes(trial, cast, silentAtMs)
  for (const arm of arms) arm.release()
  const newcomer = await comeBack(trial, cast)
  await wave.expectNothingLeft(fleet, [...users, newcomer])
}

/** The owner stops before an heir resumes. */
async function judgeTimes(trial: Trial, { fleet, idle, acting }: Cast, silentAtMs: number): Promise<void> {
  const taken = await resumed(fleet)
  trial.landed(taken.size)
  for (const { username } of [...idle, ...acting]) {
    const ms = taken.get(username)! - silentAtMs
    trial.took(ms)
    if (ms > takeoverMs) trial.violation(`${username} was taken over after ${ms} ms`)
  }
  const stops = await wave.logged(fleet, cutOff, 'operation is no longer ours')
  const stopsMs = idle.map(({ username }) => {
    const atMs = stops.find(({ line }) => line.user === username)?.atMs ?? Number.POSITIVE_INFINITY
    if (atMs > taken.get(username)!) trial.violation(`${username} had two owners at once`)
    return atMs - silentAtMs
  })
  trial.figure('selfStopMs', Math.max(...stopsMs))
  if (Math.max(...stopsMs) > selfStopMs) trial.violation(`an owner stopped after ${Math.max(...stopsMs)} ms`)
}

/** The delayed commands arrive; none has an effect, and the replica works again. */
async function comeBack(trial: Trial, { fleet, acting }: Cast): Promise<Client> {
  const url = fleet.url(cutOff)
  fleet.proxies(cutOff).redis.resume()
  await eventually('an answer after the partition', async () => (await fleet.admin.at(url).labs()).status === 200)
  for (const user of acting) {
    if ((await user.at(url).follow()).outcome !== 'complete') trial.violation(`${user.username}: its creation failed`)
  }
  const newcomer = fleet.user()
  await newcomer.at(url).create()
  if ((await newcomer.at(url).follow()).outcome !== 'complete') trial.violation('nothing can be made through it')
  return newcomer
}

if (isWhole) attack('T10 one replica cut off from Redis', partition)
