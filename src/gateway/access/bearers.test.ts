import { beforeEach, describe, expect, it } from 'vitest'
import { members, route } from '../../../test/kit/apps/routes.ts'
import { unavailable } from '../../base/errors.ts'
import type { Person } from './tables.ts'
import { FakeGateway, settle } from './testing/fakes.ts'

let gateway: FakeGateway
/** What the identity source says of each token; undefined: it does not know it. */
let source: Map<string, Person>
let asked: string[]
let isAway: boolean
/** Awaited by each question. */
let hold: Promise<void>

beforeEach(async () => {
  source = new Map([
    ['t', { user: 'ada', groups: ['staff'] }],
    ['u', { user: 'ada', groups: ['staff'] }],
  ])
  asked = []
  isAway = false
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

  it('stays five minutes while the identity source does not answer', async () => {
    const stream = await open('t')
    isAway = true
    for (let i = 0; i < 19; i++) {
      await gateway.pass(15_000)
      expect(stream.guard.mayPass()).toBe(true)
    }
    await gateway.pass(20_000)
    expect(stream.reasons).toEqual(['unavailable'])
  })

  it('passes no byte after a halt that is longer than its word holds', async () => {
    const stream = await open('t')
    hold = new Promise(() => {})
    // The sweep that would cut it has not ended yet.
    gateway.sessions.hold = hold
    gateway.clock.advance(300_001)
    await Promise.all([gateway.routeTable.look(), gateway.memberTable.look()])
    expect([stream.guard.isOpen(), stream.guard.mayPass()]).toEqual([true, false])
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
    for (const token of all) {
      source.set(token, { user: token, groups: ['staff'] })
      await open(token)
    }
    const answered = Promise.withResolvers<void>()
    hold = answered.promise
    await gateway.pass(70_000)
    expect(asked).toHaveLength(8)
    answered.resolve()
    await gateway.pass(10_500)
    expect(new Set(asked)).toEqual(new Set(all))
  })
})
