import { expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { labOf } from '../base/subject.ts'
import { Followers } from './followers.ts'
import { ReadPacer } from './read-pacer.ts'

const settled = () => new Promise(resolve => setImmediate(resolve))

/** Whether a follower that opened its stream after ring `since` reads at once. */
async function readsAtOnce(followers: Followers, user: string, since: number): Promise<boolean> {
  const pacer = new ReadPacer(new ManualClock())
  const off = followers.add(labOf(user), pacer, since)
  let due = false
  void pacer.wait(Number.POSITIVE_INFINITY).then(() => {
    due = true
  })
  await settled()
  off()
  return due
}

const ring = (followers: Followers, user: string) => followers.ring({ what: 'events', subject: labOf(user) })

it('followers read at once only if their own subject rang since they opened', async () => {
  const followers = new Followers()
  ring(followers, 'ada')
  const since = followers.rings
  ring(followers, 'grace')
  expect(await readsAtOnce(followers, 'ada', since)).toBe(false)
  ring(followers, 'ada')
  expect(await readsAtOnce(followers, 'ada', since)).toBe(true)
})

it('followers read at once after a ring for all', async () => {
  const followers = new Followers()
  const since = followers.rings
  followers.ring({ what: 'missed' })
  expect(await readsAtOnce(followers, 'ada', since)).toBe(true)
  expect(await readsAtOnce(followers, 'ada', followers.rings)).toBe(false)
})

it('followers read at once when their subject may be forgotten', async () => {
  const followers = new Followers()
  const since = followers.rings
  for (let i = 0; i < 1_000; i++) ring(followers, `user-${i}`)
  expect(await readsAtOnce(followers, 'ada', since)).toBe(false)
  ring(followers, 'one-more')
  expect(await readsAtOnce(followers, 'ada', since)).toBe(true)
  expect(await readsAtOnce(followers, 'ada', since + 1)).toBe(false)
})
