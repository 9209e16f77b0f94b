/** Wall clocks of Redis and of replicas are an hour off, and step while operations are owned. */
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { stepRedis, stepReplica } from './clock-steps.ts'
import { isWhole } from './points.ts'
import * as wave from './wave.ts'

const hour = 3600
/** More than the steps add up to: deadlines go by Redis' clock. */
const deadlineSeconds = 4 * hour
const usersAtOnce = 9
/** Added to limits, for reading Redis and logs beside the measured time. */
const lookMs = 500

/** Steps the clock of Redis or of this replica. Returns whether the step is visible. */
type Step = (fleet: Fleet, index: number) => Promise<boolean>

const redisTo =
  (offSeconds: number): Step =>
  fleet =>
    stepRedis(fleet, offSeconds)

const replicaTo =
  (offSeconds: number): Step =>
  (fleet, index) =>
    stepReplica(fleet, index, offSeconds)

const ofRedis = [hour, 0, -hour, 0].map(redisTo)
const ofReplicas = [hour, -hour].map(replicaTo)

/** Each user's last owner, and how often the operation was resumed. */
async function ownersOf(
  fleet: Fleet,
): Promise<ReadonlyMap<string, { readonly index: number; readonly resumed: number }>> {
  const lines = async (index: number, msg: string) =>
    (await wave.logged(fleet, index, msg)).map(({ line }) => ({ index, user: line.user!, msg }))
  const all = await Promise.all(
    [...fleet.urls.keys()].flatMap(index => [lines(index, 'step'), lines(index, 'operation resumed')]),
  )
  const byUser = Map.groupBy(all.flat(), ({ user }) => user)
  return new Map(
    [...byUser].map(([user, said]) => {
      const resumed = said.filter(({ msg }) => msg === 'operation resumed')
      return [user, { index: (resumed[0] ?? said[0]!).index, resumed: resumed.length }]
    }),
  )
}

/** Whether another replica has taken over the user's operation. */
async function isTaken(fleet: Fleet, { username }: Client): Promise<boolean> {
  return ((await ownersOf(fleet)).get(username)?.resumed ?? 0) > 0
}

/** Steps a clock, and kills one owner. Returns how many operations the other owners lost. */
async function stepAndKill(trial: Trial, fleet: Fleet, step: Step): Promise<number> {
  const users = Array.from({ length: usersAtOnce }, () => fleet.user())
  await Promise.all(users.map((user, i) => wave.waitForRoom(user, fleet.url(i % fleet.size))))
  const owners = await ownersOf(fleet)
  const victim = owners.get(users[0]!.username)!.index
  const isVictims = ({ username }: Client) => owners.get(username)!.index === victim
  trial.injected()
  // Stopped before the step, so that it sends nothing after it.
  await fleet.kill(victim, 'SIGSTOP')
  if (await step(fleet, (victim + 1) % fleet.size)) trial.landed()
  await fleet.kill(victim)
  const killedMs = performance.now()
  await Promise.all(
    users.filter(isVictims).map(async user => {
      await eventually(`a take-over for ${user.username}`, () => isTaken(fleet, user), 60_000)
      const ms = performance.now() - killedMs
      trial.took(ms)
      if (ms > wave.promisedMs + lookMs) trial.violation(`I7 ${user.username} waited ${Math.round(ms)} ms`)
    }),
  )
  const newcomers = Array.from({ length: fleet.size }, () => fleet.user())
  await Promise.all(newcomers.map(user => user.create()))
  for (const user of newcomers) {
    if ((await user.follow()).outcome !== 'complete') trial.violation(`${user.username}: its creation failed`)
  }
  await fleet.start(victim)
  const taken = await ownersOf(fleet)
  const lost = users.filter(user => !isVictims(user) && taken.get(user.username)!.resumed > 0)
  await wave.expectNothingLeft(fleet, [...users, ...newcomers])
  return lost.length
}

/** The comparing replica dies after Redis' clock went back: its lease, an hour long, cannot be extended. */
async function stepWhileComparing(trial: Trial, fleet: Fleet): Promise<void> {
  fleet.expects({ redisLoss: true })
  const arm = fleet.arm('compare.begun', 'hold')
  trial.injected()
  await fleet.world.redis.flushall()
  fleet.admin.labs().catch(() => {})
  const { replica } = await arm.landed()
  await fleet.kill(fleet.indexOf(replica), 'SIGSTOP')
  if (await redisTo(-hour)(fleet, 0)) trial.landed()
  await fleet.kill(fleet.indexOf(replica))
  const killedMs = performance.now()
  await eventually('a compare by another replica', async () => (await fleet.admin.labs()).status === 200, 60_000)
  const ms = performance.now() - killedMs
  trial.figure('compareTakenOverMs', Math.round(ms))
  if (ms > wave.promisedMs + lookMs) trial.violation(`I7 all waited ${Math.round(ms)} ms for a compare`)
}

async function stepClocks(trial: Trial): Promise<void> {
  const times = {
    spawnTimeoutSeconds: deadlineSeconds,
    deleteTimeoutSeconds: deadlineSeconds,
    noRoomGraceSeconds: hour,
  }
  const fleet = await trial.fleet({
    ...wave.waveFleet,
    redis: { wrongClock: true },
    config: { ...wave.waveFleet.config, times },
  })
  fleet.expects({ clocksStep: true })
  let falseExpiries = 0
  for (const step of [...ofRedis, ...ofReplicas]) falseExpiries += await stepAndKill(trial, fleet, step)
  trial.figure('falseExpiries', falseExpiries)
  await stepWhileComparing(trial, fleet)
  await fleet.world.emptied()
}

if (isWhole) attack('T17 clocks that step', stepClocks, { limitMs: 300_000 })
