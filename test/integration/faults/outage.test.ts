/** Redis dies and returns with its data, or hangs for a while: no answer takes long, and nothing is lost. */
import { expect } from 'vitest'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { isWhole } from './points.ts'
import * as wave from './wave.ts'

/** Longer than any call may take. */
const outageMs = 2000
/** Limit of one call, whatever Redis does. */
const longestMs = 1200

type Outage = readonly [string, begin: (fleet: Fleet) => unknown, end: (fleet: Fleet) => unknown]

const outages: readonly Outage[] = [
  ['restarts', ({ redis }) => redis.kill(), ({ redis }) => redis.start()],
  ['hangs', ({ redis }) => redis.pause(), ({ redis }) => redis.resume()],
]

interface Asked {
  readonly status: number
  readonly ms: number
}

/** Asks every replica again and again for each user. Returns what ends this and gives all answers. */
function askOn(fleet: Fleet, users: readonly Client[]): () => Promise<readonly Asked[]> {
  const asked: Asked[] = []
  let isOver = false
  const ask = async (client: Client) => {
    while (!isOver) {
      const begunMs = performance.now()
      const { status } = await client.userStatus()
      asked.push({ status, ms: performance.now() - begunMs })
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
  const asking = Promise.all(fleet.urls.flatMap(url => users.map(user => ask(user.at(url)))))
  return async () => {
    isOver = true
    await asking
    return asked
  }
}

async function cutOff(trial: Trial, begin: Outage[1], end: Outage[2]): Promise<void> {
  const fleet = await trial.fleet({ redis: { aof: true } })
  const running = Array.from({ length: 3 }, () => fleet.user())
  const pending = Array.from({ length: 3 }, () => fleet.user())
  await Promise.all(running.map(user => user.create()))
  await Promise.all(running.map(user => user.follow()))
  const arm = fleet.arm('lab.create.make.pod.before-act', 'hold', { times: pending.length })
  await Promise.all(pending.map(user => user.create()))
  await arm.landed(pending.length)

  const enough = askOn(fleet, [...running, ...pending])
  trial.injected()
  await begin(fleet)
  await new Promise(resolve => setTimeout(resolve, outageMs))
  await end(fleet)
  const answersAgain = (url: string) => async () => (await fleet.admin.at(url).labs()).status === 200
  await Promise.all(fleet.urls.map(url => eventually('an answer after the outage', answersAgain(url))))
  const asked = await enough()
  const putOff = asked.filter(({ status }) => status === 503).length
  if (putOff > 0) trial.landed()
  for (const { ms } of asked) trial.took(ms)
  trial.figure('put_off', putOff)
  const late = asked.filter(({ ms }) => ms > longestMs)
  if (late.length > 0) trial.violation(`${late.length} of ${asked.length} calls took longer than ${longestMs} ms`)
  expect([...new Set(asked.map(({ status }) => status))].sort()).toEqual([200, 503])
  arm.release()
  for (const user of pending) expect((await user.follow()).outcome).toBe('complete')
  await wave.expectNothingLeft(fleet, [...running, ...pending])
}

for (const [name, begin, end] of isWhole ? outages : []) {
  attack(`T6 Redis ${name}`, trial => cutOff(trial, begin, end), { concurrent: true })
}
