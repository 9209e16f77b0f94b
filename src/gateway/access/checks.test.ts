import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { hashOf } from '../../store/apps/ids.ts'
import { holdMs, SessionChecks } from './checks.ts'
import { FakeSessions } from './testing/fakes.ts'

let clock: ManualClock
let redis: FakeSessions
let checks: SessionChecks
const app = { appId: 'mlflow', appUid: 'u1' }

beforeEach(() => {
  clock = new ManualClock()
  redis = new FakeSessions()
  checks = new SessionChecks({ sessions: redis, clock })
})

async function claimOf(user: string) {
  const { hash: loginHash } = redis.logIn(user)
  const id = await redis.create({ ...app, loginHash, user, lifeMs: 1 })
  return { ...app, loginHash, user, sessionHash: hashOf(id!)! }
}

describe('SessionChecks', () => {
  it('asks once for all questions of one turn, and once for equal ones', async () => {
    const [ada, bob] = [await claimOf('ada'), await claimOf('bob')]
    const found = await Promise.all([ada, bob, ada, { ...bob, appUid: 'u2' }].map(claim => checks.check(claim)))
    expect(found.map(({ is }) => is)).toEqual(['in', 'in', 'in', 'session'])
    expect(redis.asked.map(({ length }) => length)).toEqual([3])
  })

  it('lets in by an answer for five seconds, from when the question was sent', async () => {
    const ada = await claimOf('ada')
    let answer = () => {}
    redis.hold = new Promise(resolve => (answer = resolve))
    const first = checks.check(ada)
    await new Promise(setImmediate)
    clock.advance(1_000)
    answer()
    await first
    redis.logins.clear()
    clock.advance(holdMs - 1_000)
    expect((await checks.check(ada)).is).toBe('in')
    clock.advance(1)
    expect((await checks.check(ada)).is).toBe('login')
  })

  it('keeps nothing of those who are not in', async () => {
    const ada = await claimOf('ada')
    const wrong = { ...ada, appUid: 'u2' }
    expect((await checks.check(wrong)).is).toBe('session')
    redis.sessions.set(wrong.sessionHash, { ...wrong, lifeMs: 1 })
    expect((await checks.check(wrong)).is).toBe('in')
  })

  it('answers no claim of one user by that of another', async () => {
    const ada = await claimOf('ada')
    await checks.check(ada)
    expect((await checks.check({ ...ada, user: 'eve' })).is).toBe('login')
    expect((await checks.check(ada)).is).toBe('in')
  })

  it('forgets what is meant, and marks what it gave as void', async () => {
    const [ada, bob] = [await claimOf('ada'), await claimOf('bob')]
    const seen = (await Promise.all([ada, bob].map(claim => checks.check(claim)))).map(finding =>
      finding.is === 'in' ? finding.seen : undefined,
    )
    redis.logins.clear()
    checks.forget(({ user }) => user === 'ada')
    expect(seen.map(each => each?.isVoid)).toEqual([true, false])
    expect((await checks.check(ada)).is).toBe('login')
    expect((await checks.check(bob)).is).toBe('in')
    checks.forget()
    expect((await checks.check(bob)).is).toBe('login')
  })

  it('lets nobody in by an answer that was on its way when its session was revoked', async () => {
    const ada = await claimOf('ada')
    let answer = () => {}
    redis.hold = new Promise(resolve => (answer = resolve))
    const asked = checks.check(ada)
    await new Promise(setImmediate)
    redis.logins.clear()
    checks.forget()
    // Another one meanwhile is no answer to wait for either.
    const later = checks.check(ada)
    answer()
    expect((await asked).is).toBe('login')
    expect((await later).is).toBe('login')
  })

  it('passes on that Redis does not answer, and asks again next time', async () => {
    const ada = await claimOf('ada')
    redis.isDown = true
    await expect(checks.check(ada)).rejects.toThrow('does not answer')
    redis.isDown = false
    expect((await checks.check(ada)).is).toBe('in')
  })

  it('holds what it knows while Redis does not answer', async () => {
    const ada = await claimOf('ada')
    await checks.check(ada)
    redis.isDown = true
    clock.advance(holdMs)
    expect((await checks.check(ada)).is).toBe('in')
    clock.advance(1)
    await expect(checks.check(ada)).rejects.toThrow('does not answer')
  })
})
