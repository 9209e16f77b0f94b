import { beforeEach, describe, expect, it } from 'vitest'
import { members, route } from '../../../test/kit/apps/routes.ts'
import { ApiError, unavailable } from '../../base/errors.ts'
import type { Person } from '../../store/apps/members.ts'
import { FakeGateway, settle } from './testing/fakes.ts'

let gateway: FakeGateway
/** The persons that the identity source knows, by token. */
let source: Map<string, Person>
let asked: string[]
let isAway: boolean
/** Tokens whose users ask too much at once. */
let busy: Set<string>
/** Awaited by each question. */
let hold: Promise<void>

beforeEach(async () => {
  source = new Map([
    ['t', { user: 'ada', groups: ['staff'] }],
    ['u', { user: 'ada', groups: ['staff'] }],
  ])
  asked = []
  isAway = false
  busy = new Set()
  hold = Promise.resolve()
  gateway = new FakeGateway()
  gateway.routes.put('mlflow', route({ group: 'staff' }))
  gateway.routes.put('open', route({ id: 'open', audience: { kind: 'public' } }))
  gateway.members.put('physics', members(['oidc:ada']))
  await gateway.start()
})

async function ask(token: string): Promise<Person | undefined> {
  asked.push(token)
  await hold
  if (busy.has(token)) throw new ApiError(429, { msg: 'too many requests at once', type: 'too_many' })
  if (isAway) throw unavailable('the identity source does not answer')
  return source.get(token)
}

/** Opens a stream by a token. */
async function open(token: string, appId = 'mlflow') {
  const bearer = { key: token, atMs: gateway.clock.monotonicMs(), ask: () => ask(token) }
  const verdict = await gateway.access.verdictOf(source.get(token)!, appId, bearer)
  if (verdict.is !== 'in') throw new Error(verdict.is)
  return gateway.keep(verdict)
}

describe('what is open by a token', () => {
  it('is asked about once a minute, together, and not beyond its end', async () => {
    const all = [await open('t'), await open('t'), await open('u')]
    await gateway.pass(59_000)
    expect(asked).toEqual([])
    await gateway.pass(4_500)
    expect(asked.toSorted()).toEqual(['t', 'u'])
    await gateway.pass(59_000)
    expect(asked).toHaveLength(2)
    await gateway.pass(4_500)
    expect(asked).toHaveLength(4)
    expect(all.every(({ guard, reasons }) => guard.mayPass() && reasons.length === 0)).toBe(true)
    for (const { guard } of all) guard.remove()
    await gateway.pass(120_000)
    expect(asked).toHaveLength(4)
  })

  it.each<[string, Person | undefined, string]>([
    ['the token is unknown', undefined, 'ended'],
    ['it is of somebody else', { user: 'eve', groups: ['staff'] }, 'ended'],
    ['the person has left the group', { user: 'ada', groups: [] }, 'forbidden'],
  ])('is cut when %s', async (_, person, reason) => {
    const [one, other] = [await open('t'), await open('u')]
    if (person) source.set('t', person)
    else source.delete('t')
    await gateway.pass(64_000)
    expect([one.reasons, other.reasons]).toEqual([[reason], []])
    expect(one.guard.mayPass()).toBe(false)
  })

  it('is left alone at an app for everybody', async () => {
    const stream = await open('t', 'open')
    source.delete('t')
    await gateway.pass(130_000)
    expect([stream.reasons, asked]).toEqual([[], []])
  })

  it('is cut when the app is for everybody no more: nobody asked about its token', async () => {
    const stream = await open('t', 'open')
    gateway.routes.put('open', route({ id: 'open', generation: 2, group: 'staff' }))
    gateway.bell.ring({ what: 'routes' })
    await settle()
    expect(stream.reasons).toEqual(['forbidden'])
  })

  it('stays five minutes while the identity source does not answer', async () => {
    const stream = await open('t')
    isAway = true
    for (let i = 0; i < 19; i++) {
      await gateway.pass(15_000)
      expect(stream.guard.mayPass()).toBe(true)
    }
    await gateway.pass(20_000)
    expect(stream.reasons).toEqual(['unavailable'])
    // Each time some ten seconds after the last one.
    expect(asked.length).toBeLessThan(25)
  })

  it('passes no byte after a halt before the source was asked', async () => {
    const stream = await open('t')
    const answered = Promise.withResolvers<void>()
    hold = answered.promise
    gateway.clock.advance(75_001)
    const looked = stream.guard.look()
    await settle()
    expect([asked, stream.guard.isOpen(), stream.guard.mayPass()]).toEqual([['t'], true, false])
    answered.resolve()
    await looked
    expect(stream.guard.mayPass()).toBe(true)
  })

  it('passes no byte where the process was halted between the answer that let in and this', async () => {
    const bearer = { key: 't', atMs: gateway.clock.monotonicMs(), ask: () => ask('t') }
    gateway.clock.advance(75_001)
    const verdict = await gateway.access.verdictOf(source.get('t')!, 'mlflow', bearer)
    if (verdict.is !== 'in') throw new Error(verdict.is)
    const { guard } = gateway.keep(verdict)
    expect(guard.mayPass()).toBe(false)
    await guard.look()
    expect([asked, guard.mayPass()]).toEqual([['t'], true])
  })

  it('passes bytes after a halt when the source does not answer, while its word holds', async () => {
    const stream = await open('t')
    isAway = true
    gateway.clock.advance(200_000)
    expect(stream.guard.mayPass()).toBe(false)
    await stream.guard.look()
    expect([asked, stream.guard.mayPass()]).toEqual([['t'], true])
  })

  it('passes no byte by a late word when its user asks too much at once', async () => {
    const [busyOne, other] = [await open('t'), await open('u')]
    busy.add('t')
    await gateway.pass(75_500)
    expect([busyOne, other].map(({ guard }) => guard.mayPass())).toEqual([false, true])
    busy.clear()
    await gateway.pass(10_500)
    expect([busyOne.guard.mayPass(), busyOne.reasons, gateway.log.messages]).toEqual([true, [], []])
  })

  it('obeys a later answer that let in again, and cuts all that it shuts out', async () => {
    gateway.routes.put('other', route({ id: 'other', uid: 'u2', group: 'pilots' }))
    gateway.bell.ring({ what: 'routes' })
    await settle()
    const stream = await open('t')
    gateway.clock.advance(1)
    source.set('t', { user: 'ada', groups: ['pilots'] })
    const later = await open('t', 'other')
    expect([stream.reasons, later.reasons]).toEqual([['forbidden'], []])
  })

  it('is asked about by eight at once', async () => {
    const all = Array.from({ length: 20 }, (_, i) => `t${i}`)
    const streams = new Map<string, Awaited<ReturnType<typeof open>>>()
    for (const token of all) {
      source.set(token, { user: token, groups: ['staff'] })
      streams.set(token, await open(token))
    }
    const answered = Promise.withResolvers<void>()
    hold = answered.promise
    await gateway.pass(70_000)
    expect(asked).toHaveLength(8)
    // One has ended by itself meanwhile.
    const ended = all.find(token => !asked.includes(token))!
    streams.get(ended)!.guard.remove()
    answered.resolve()
    // Each answer makes room for the next question: no sweep is waited for.
    await settle()
    expect(asked.toSorted()).toEqual(all.filter(token => token !== ended).toSorted())
  })

  it('is asked about in turn when questions about others fail slowly', async () => {
    const all = Array.from({ length: 16 }, (_, i) => `t${i}`)
    for (const token of all) {
      source.set(token, { user: token, groups: ['staff'] })
      await open(token)
      busy.add(token)
    }
    gateway.clock.advance(1)
    await open('t')
    const failed = Promise.withResolvers<void>()
    hold = failed.promise
    await gateway.pass(64_000)
    expect(asked).toHaveLength(8)
    // The next eight take as long, and then the first ones are due again.
    const failedToo = Promise.withResolvers<void>()
    hold = failedToo.promise
    failed.resolve()
    await gateway.pass(12_000)
    expect(asked).toHaveLength(16)
    hold = new Promise(() => {})
    failedToo.resolve()
    await settle()
    expect(asked).toContain('t')
  })
})
