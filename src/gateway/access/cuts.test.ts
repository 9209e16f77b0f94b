import { beforeEach, describe, expect, it } from 'vitest'
import { members, route } from '../../../test/kit/apps/routes.ts'
import type { AppRoute } from '../../base/app-route.ts'
import { FakeGateway, settle } from './testing/fakes.ts'

let gateway: FakeGateway
let id: string
let hash: string

beforeEach(async () => {
  gateway = new FakeGateway()
  gateway.routes.put('mlflow', route())
  gateway.routes.put('open', route({ id: 'open', audience: { kind: 'public' } }))
  gateway.members.put('physics', members(['oidc:ada']))
  await gateway.start()
  const login = gateway.sessions.logIn('ada')
  id = login.id
  hash = login.hash
})

const change = async (more: Partial<AppRoute>) => {
  gateway.routes.put('mlflow', route({ generation: 2, ...more }))
  gateway.bell.ring({ what: 'routes', subject: { kind: 'app', name: 'mlflow' } })
  await settle()
}

describe('Cuts', () => {
  it.each<[string, Partial<AppRoute>]>([
    ['forbidden', { group: 'chemistry' }],
    ['stopped', { phase: 'Stopping' }],
    ['stopped', { phase: 'Stopped' }],
    ['gone', { uid: 'u2' }],
  ])('says %s after a change to %j', async (reason, more) => {
    const open = await gateway.open('mlflow', [id])
    await change(more)
    expect(open.reasons).toEqual([reason])
    expect(gateway.cuts.size).toBe(0)
  })

  it.each<Partial<AppRoute>>([
    { phase: 'Updating' },
    { phase: 'Error', message: 'why' },
    { audience: { kind: 'loggedIn' } },
    { audience: { kind: 'public' } },
  ])('cuts nobody after a change to %j', async more => {
    const open = await gateway.open('mlflow', [id])
    await change(more)
    expect(open.reasons).toEqual([])
  })

  it('cuts those whom nobody asked for when the app is public no more', async () => {
    const open = await gateway.open('open', [])
    gateway.routes.put('open', route({ id: 'open', generation: 2, audience: { kind: 'loggedIn' } }))
    gateway.bell.ring({ what: 'routes' })
    await settle()
    expect(open.reasons).toEqual(['forbidden'])
  })

  it('asks of one session once, however much it has open', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, () => gateway.open('mlflow', [id])))
    gateway.sessions.asked.length = 0
    await gateway.pass(3_500)
    expect(gateway.sessions.asked.map(({ length }) => length)).toEqual([1])
    gateway.sessions.logins.clear()
    await gateway.pass(3_500)
    expect(all.every(({ reasons }) => reasons[0] === 'ended')).toBe(true)
  })

  it('looks at those alone whom a ring concerns', async () => {
    const open = await gateway.open('mlflow', [id])
    gateway.sessions.logins.delete(hash)
    gateway.bell.ring({ what: 'sessions', subject: { kind: 'user', name: 'eve' } })
    await settle()
    expect(open.reasons).toEqual([])
    gateway.bell.ring({ what: 'sessions', subject: { kind: 'login', name: hash } })
    await settle()
    expect(open.reasons).toEqual(['ended'])
  })

  it('looks at whom a ring concerns as soon as Redis answers again', async () => {
    const open = await gateway.open('mlflow', [id])
    gateway.sessions.logins.delete(hash)
    gateway.sessions.isDown = true
    gateway.bell.ring({ what: 'sessions', subject: { kind: 'user', name: 'ada' } })
    await settle()
    gateway.sessions.isDown = false
    await gateway.pass(250)
    expect(open.reasons).toEqual(['ended'])
  })

  it('lets no byte of a session pass that a ring concerns, before Redis was asked', async () => {
    const open = await gateway.open('mlflow', [id])
    const other = await gateway.open('mlflow', [gateway.sessions.logIn('ada').id])
    gateway.sessions.isDown = true
    const passing = () => [open, other].map(({ guard }) => guard.mayPass())
    gateway.bell.ring({ what: 'sessions', subject: { kind: 'login', name: hash } })
    expect(passing()).toEqual([false, true])
    await gateway.pass(250)
    expect([passing(), open.reasons]).toEqual([[false, true], []])
    // Another ring while Redis is asked: the answer may be from before it.
    const answered = Promise.withResolvers<void>()
    Object.assign(gateway.sessions, { isDown: false, hold: answered.promise })
    await gateway.pass(250)
    gateway.bell.ring({ what: 'sessions', subject: { kind: 'login', name: hash } })
    gateway.sessions.hold = new Promise(() => {})
    answered.resolve()
    await settle()
    expect(passing()).toEqual([false, true])
  })

  it('lets a session pass again that holds after a ring', async () => {
    const open = await gateway.open('mlflow', [id])
    gateway.bell.ring({ what: 'sessions', subject: { kind: 'app', name: 'mlflow' } })
    await settle()
    expect([open.guard.mayPass(), open.reasons]).toEqual([true, []])
  })

  it('lets no byte pass of what was revoked between its verdict and this, before Redis was asked', async () => {
    const verdict = await gateway.verdict('mlflow', [id])
    if (verdict.is !== 'in') throw new Error(verdict.is)
    gateway.sessions.isDown = true
    gateway.bell.ring({ what: 'sessions', subject: { kind: 'user', name: 'ada' } })
    const open = gateway.keep(verdict)
    await gateway.pass(250)
    expect([open.guard.mayPass(), open.reasons]).toEqual([false, []])
  })

  it('cuts nothing by an answer that is older than what let it in', async () => {
    const open = await gateway.open('mlflow', [id])
    let answer = () => {}
    gateway.sessions.hold = new Promise(resolve => (answer = resolve))
    const login = gateway.sessions.logins.get(hash)!
    gateway.sessions.logins.delete(hash)
    await gateway.pass(3_500)
    open.guard.remove()
    gateway.sessions.hold = Promise.resolve()
    gateway.sessions.logins.set(hash, login)
    gateway.bell.ring({ what: 'sessions', subject: { kind: 'login', name: hash } })
    const again = await gateway.open('mlflow', [id])
    answer()
    await settle()
    expect([again.reasons, again.guard.mayPass()]).toEqual([[], true])
  })

  it('tells that sessions with something open are in use, so that they do not end', async () => {
    await gateway.open('mlflow', [id])
    gateway.used.length = 0
    await gateway.pass(3_500)
    expect(gateway.used.map(({ claim }) => claim.user)).toEqual(['ada'])
  })

  it('looks at groups anew when the login has another version', async () => {
    await change({ group: 'staff' })
    const bob = gateway.sessions.logIn('bob', ['staff'])
    const open = await gateway.open('mlflow', [bob.id])
    const login = gateway.sessions.logins.get(bob.hash)!
    gateway.sessions.logins.set(bob.hash, { ...login, groups: [], version: '2' })
    await gateway.pass(3_500)
    expect(open.reasons).toEqual(['forbidden'])
  })

  it('cuts who came by a token when he may no longer, was revoked, or may have been', async () => {
    const enter = async () => {
      const verdict = await gateway.access.verdictOf({ user: 'ada', groups: [] }, 'mlflow')
      if (verdict.is !== 'in') throw new Error(verdict.is)
      return gateway.keep(verdict)
    }
    const [revoked, missed] = [await enter(), await enter()]
    expect(revoked.guard.mayPass()).toBe(true)
    gateway.bell.ring({ what: 'sessions', subject: { kind: 'user', name: 'ada' } })
    expect([revoked.reasons, missed.reasons]).toEqual([['ended'], ['ended']])
    const again = await enter()
    gateway.bell.ring({ what: 'missed' })
    expect(again.reasons).toEqual(['ended'])
    const last = await enter()
    gateway.members.put('physics', members([], { generation: 2 }))
    gateway.bell.ring({ what: 'members' })
    await settle()
    expect(last.reasons).toEqual(['forbidden'])
  })

  it('forgets what has ended by itself', async () => {
    const open = await gateway.open('mlflow', [id])
    open.guard.remove()
    expect([open.guard.isOpen(), open.guard.mayPass(), gateway.cuts.size]).toEqual([false, false, 0])
    gateway.sessions.asked.length = 0
    await change({ phase: 'Stopped' })
    await gateway.pass(3_500)
    expect(open.reasons).toEqual([])
    expect(gateway.sessions.asked.flat()).toEqual([])
  })

  it('lets bytes pass for a minute while Redis does not answer, then cuts', async () => {
    const [open, anonymous] = [await gateway.open('mlflow', [id]), await gateway.open('open', [])]
    gateway.setDown(true)
    for (let i = 0; i < 11; i++) {
      await gateway.pass(5_000)
      expect([open, anonymous].map(({ guard }) => guard.mayPass())).toEqual([true, true])
    }
    await gateway.pass(6_000)
    expect([open, anonymous].map(({ reasons }) => reasons)).toEqual([['unavailable'], ['unavailable']])
  })

  it('lets no byte pass after a halt before all was looked at, also where Redis does not answer', async () => {
    const [open, anonymous] = [await gateway.open('mlflow', [id]), await gateway.open('open', [])]
    const both = [open, anonymous]
    gateway.clock.advance(10_000)
    expect(both.map(({ guard }) => guard.mayPass())).toEqual([false, false])
    await Promise.all(both.map(({ guard }) => guard.look()))
    expect(both.map(({ guard }) => guard.mayPass())).toEqual([true, true])
    gateway.setDown(true)
    gateway.clock.advance(10_000)
    expect(both.map(({ guard }) => guard.mayPass())).toEqual([false, false])
    await Promise.all(both.map(({ guard }) => guard.look()))
    expect(both.map(({ guard }) => guard.mayPass())).toEqual([true, true])
    gateway.clock.advance(60_000)
    await Promise.all(both.map(({ guard }) => guard.look()))
    expect(both.map(({ reasons }) => reasons)).toEqual([['unavailable'], ['unavailable']])
  })

  it('lets no byte pass when the tables were looked at lately, and the session was not', async () => {
    const [open, anonymous] = [await gateway.open('mlflow', [id]), await gateway.open('open', [])]
    gateway.sessions.hold = new Promise(() => {})
    await gateway.pass(5_250)
    expect([open, anonymous].map(({ guard }) => guard.mayPass())).toEqual([false, true])
  })

  it('looks at once at what was revoked between its verdict and this', async () => {
    const verdict = await gateway.verdict('mlflow', [id])
    if (verdict.is !== 'in') throw new Error(verdict.is)
    gateway.sessions.logins.clear()
    gateway.bell.ring({ what: 'sessions', subject: { kind: 'user', name: 'ada' } })
    await settle()
    const open = gateway.keep(verdict)
    await settle()
    expect(open.reasons).toEqual(['ended'])
  })

  it('looks soon at what is added long after its verdict', async () => {
    const verdict = await gateway.verdict('mlflow', [id])
    if (verdict.is !== 'in') throw new Error(verdict.is)
    // Others have come and gone meanwhile, so nobody remembers this one.
    await gateway.pass(11_000)
    await gateway.verdict('mlflow', [gateway.sessions.logIn('ada').id])
    gateway.sessions.logins.clear()
    const open = gateway.keep(verdict)
    await settle()
    expect(open.reasons).toEqual(['ended'])
  })
})
