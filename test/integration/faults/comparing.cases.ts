/** Whoever compares the records with the cluster dies in the middle of it. */
import { expect, test } from 'vitest'
import { startFleet } from '../harness/fleet.ts'
import { eventually } from '../harness/world.ts'
import * as wave from './wave.ts'

const places = ['compare.begun', 'compare.listed', 'compare.settled']

test.concurrent('another one compares, nobody is told before that, and every lab is as it was', async context => {
  const fleet = await startFleet(context, { restart: true })
  const users = Array.from({ length: 5 }, () => fleet.user())
  await Promise.all(users.map(user => user.create()))
  await Promise.all(users.map(user => user.follow()))
  const uids = async () =>
    Promise.all(users.map(async user => (await fleet.world.podOf(user.username)).metadata.uid as string))
  const before = await uids()
  const waits: number[] = []
  for (const place of places) {
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
    await answers
    waits.push(Date.now() - lostAtMs)
    await fleet.ready()
  }
  wave.printResult('compare killed', { landed: places.length, waitsMs: waits })
  expect(await uids()).toEqual(before)
  // The lease of comparing runs out, a scan of ours finds it free, and then the compare takes its time.
  expect(Math.max(...waits)).toBeLessThan(wave.promisedMs + 1000)
}, 120_000)
