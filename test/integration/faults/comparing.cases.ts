/** Whoever compares the records with the cluster dies in the middle of it. */
import { expect } from 'vitest'
import { attack, type Fight } from '../harness/attack.ts'
import { eventually } from '../harness/world.ts'
import * as wave from './wave.ts'

const places = ['compare.begun', 'compare.listed', 'compare.settled']

/** Another one compares, nobody is told before that, and every lab is as it was. */
async function killWhoCompares(fight: Fight): Promise<void> {
  const fleet = await fight.fleet({ restart: true })
  fleet.expects({ redisLoss: true })
  const users = Array.from({ length: 5 }, () => fleet.user())
  await Promise.all(users.map(user => user.create()))
  await Promise.all(users.map(user => user.follow()))
  const uids = async () =>
    Promise.all(users.map(async user => (await fleet.world.podOf(user.username)).metadata.uid as string))
  const before = await uids()
  const waits: { readonly ms: number }[] = []
  for (const place of places) {
    fight.injected()
    const arm = fleet.arm(place, 'kill')
    const lostAtMs = Date.now()
    await fleet.world.redis.flushall()
    const answers = eventually('the labs again', async () => {
      const answer = await fleet.admin.labs().catch(() => null)
      expect([200, 503, undefined]).toContain(answer?.status)
      if (answer?.status === 200) expect(answer.body).toEqual(users.map(({ username }) => username).sort())
      return answer?.status === 200
    })
    await arm.landed()
    fight.landed()
    await answers
    waits.push({ ms: Date.now() - lostAtMs })
    await fleet.ready()
  }
  expect(await uids()).toEqual(before)
  // The lease of comparing runs out, a scan of ours finds it free, and then the compare takes its time.
  wave.expectInTime(fight, waits, wave.promisedMs + 1000)
}

attack('T1 kill -9 in the middle of a compare', killWhoCompares, { concurrent: true })
