import { describe, expect, it } from 'vitest'
import { Fenced, RetryLater } from '../base/errors.ts'
import { Slots } from '../base/slots.ts'
import { EpochAhead, Unreadable } from '../store/claims.ts'
import { beyondMs, makeEngine, op } from './testing/engine.ts'
import { settled } from './testing/run.ts'

describe('Engine', () => {
  it('takes all operations for which there are slots after one look', async () => {
    const { start, looks, claimed, end } = makeEngine({ waiting: ['ada', 'bob'] })
    await start()
    expect(claimed).toEqual(['ada', 'bob'])
    expect(looks).toHaveLength(1)
    await end('ada')
    await end('bob')
  })

  it('announces what other replicas have accepted', async () => {
    const { start, ring, announce } = makeEngine({})
    await start()
    await ring('accepted', 'ada')
    await ring('events', 'ada')
    expect(announce).toHaveBeenCalledTimes(1)
  })

  it('does not look again when an operation has ended and the last look left nothing over', async () => {
    const { start, looks, end, engine } = makeEngine({ waiting: ['ada'] })
    await start()
    await end('ada')
    expect(engine.size).toBe(0)
    expect(looks).toHaveLength(1)
  })

  it('looks again when it has lost an operation', async () => {
    const { start, looks, end } = makeEngine({ waiting: ['ada'] })
    await start()
    await end('ada', new Fenced('moved on'))
    expect(looks).toHaveLength(2)
  })

  it('looks again when a slot comes free and the last look left operations over', async () => {
    const { start, claimed, end } = makeEngine({ places: 1, waiting: ['ada', 'bob'] })
    await start()
    expect(claimed).toEqual(['ada'])
    await end('ada')
    expect(claimed).toEqual(['ada', 'bob'])
    await end('bob')
  })

  it('looks at the end of an operation whose successor was accepted meanwhile, and not before', async () => {
    const { start, ring, pass, looks, claimed, waiting, end } = makeEngine({ waiting: ['ada'] })
    await start()
    waiting.push('ada')
    await ring('accepted', 'ada', op + 1)
    await pass(100)
    expect(looks).toHaveLength(1)
    await end('ada')
    expect(claimed).toEqual(['ada', 'ada'])
    await end('ada')
    expect(looks).toHaveLength(2)
  })

  it('does not look for a ring of the operation that it runs', async () => {
    const { start, ring, pass, looks, end } = makeEngine({ waiting: ['ada'] })
    await start()
    await ring('accepted', 'ada')
    await pass(130)
    await end('ada')
    expect(looks).toHaveLength(1)
  })

  it('looks once for an operation that it takes after its ring', async () => {
    const { start, ring, pass, looks, claimed, waiting, end, engine } = makeEngine({})
    await start()
    waiting.push('bob')
    await ring('accepted', 'bob')
    engine.wake()
    await settled()
    expect(claimed).toEqual(['bob'])
    await pass(130)
    expect(looks).toHaveLength(2)
    await end('bob')
  })

  it.each([
    ['accepted', 100, 130],
    ['released', 0, 15],
  ] as const)('looks for an operation that was %s after %d to %d ms', async (what, leastMs, mostMs) => {
    const { start, ring, pass, claimed, waiting, end } = makeEngine({})
    await start()
    waiting.push('bob')
    await ring(what, 'bob')
    await pass(leastMs - 1)
    expect(claimed).toEqual([])
    await pass(mostMs - leastMs + 1)
    expect(claimed).toEqual(['bob'])
    await end('bob')
  })

  it('does not look for an accepted operation whose owner was heard', async () => {
    const { start, ring, pass, looks } = makeEngine({})
    await start()
    await ring('accepted', 'bob')
    await ring('events', 'bob')
    await pass(130)
    expect(looks).toHaveLength(1)
  })

  it('looks for an accepted operation when a ring of activity follows', async () => {
    const { start, ring, pass, claimed, waiting, end } = makeEngine({})
    await start()
    waiting.push('bob')
    await ring('accepted', 'bob')
    await ring('activity', 'bob')
    await pass(130)
    expect(claimed).toEqual(['bob'])
    await end('bob')
  })

  it('looks when one of several accepted operations has no owner', async () => {
    const { start, ring, pass, claimed, waiting, end } = makeEngine({})
    await start()
    waiting.push('ada')
    await ring('accepted', 'bob')
    await pass(99)
    await ring('events', 'bob')
    await ring('accepted', 'ada')
    await pass(31)
    expect(claimed).toEqual(['ada'])
    await end('ada')
  })

  it('hears no ring of another kind, even about a subject of the same name', async () => {
    const { start, ring, pass, looks, end } = makeEngine({ kind: 'toy', waiting: ['ada'] })
    await start()
    await ring('accepted', 'ada', op + 1, 'lab')
    await ring('released', 'bob', op, 'lab')
    await pass(60)
    await end('ada')
    expect(looks).toHaveLength(1)
    await ring('released', 'bob')
    await pass(15)
    expect(looks).toHaveLength(2)
  })

  it('asks for more at once when others have all that were listed', async () => {
    const others = Array.from({ length: 20 }, (_, i) => `other-${i}`)
    const { start, claimed, looks, end } = makeEngine({ places: 1, waiting: [...others, 'ada'], others })
    await start()
    expect(claimed).toEqual(['ada'])
    expect(looks).toEqual([9, 18, 27])
    await end('ada')
  })

  it('drops the lease and frees the slot when a run cannot be made', async () => {
    const unmade = { ada: new Error('an odd record') }
    const { start, claimed, calls, lines, room, engine, end } = makeEngine({
      places: 1,
      waiting: ['ada', 'bob'],
      unmade,
    })
    await start()
    expect(claimed).toEqual(['ada', 'bob'])
    expect(calls).toEqual(['drop ada'])
    expect(engine.size).toBe(1)
    expect(lines).toMatchObject([{ level: 'error', name: 'ada', op, err: { message: 'an odd record' } }])
    await end('bob')
    expect(room.free).toBe(1)
  })

  it('takes a waiting operation when the engine of another kind frees a place of their room', async () => {
    const room = new Slots(1)
    const labs = makeEngine({ room, waiting: ['ada'] })
    const toys = makeEngine({ kind: 'toy', room, waiting: ['t1'] })
    await labs.start()
    await toys.start()
    expect([labs.claimed, toys.claimed]).toEqual([['ada'], []])
    await labs.end('ada')
    expect(toys.claimed).toEqual(['t1'])
    labs.waiting.push('bob')
    labs.engine.wake()
    await settled()
    await toys.end('t1')
    expect(labs.claimed).toEqual(['ada', 'bob'])
    await labs.end('bob')
  })

  it('takes a waiting operation when the engine of another kind could not use its place of their room', async () => {
    const room = new Slots(1)
    const held = Promise.withResolvers<void>()
    const labs = makeEngine({ room, waiting: ['ada'], others: ['ada'], held: held.promise })
    const toys = makeEngine({ kind: 'toy', room, waiting: ['t1'] })
    await labs.start()
    await toys.start()
    expect(toys.claimed).toEqual([])
    held.resolve()
    await settled()
    expect([labs.claimed, toys.claimed]).toEqual([[], ['t1']])
    await toys.end('t1')
  })

  it('leaves the lease to expire, and logs it, when a claimed record cannot be read', async () => {
    const unclaimed = { ada: new Unreadable('the record of lab:ada cannot be read') }
    const { start, calls, lines, room, looks } = makeEngine({ waiting: ['ada'], unclaimed })
    await start()
    expect(calls).toEqual([])
    expect(lines).toMatchObject([{ level: 'error', err: { message: 'the record of lab:ada cannot be read' } }])
    expect(room.free).toBe(room.places)
    expect(looks).toHaveLength(1)
  })

  it.each([
    ['logs', new Error('ERR unknown command'), [{ level: 'error', err: { message: 'ERR unknown command' } }]],
    ['does not log', new RetryLater('Redis does not answer'), []],
    ['warns', new EpochAhead('far away'), [{ level: 'warn', reason: 'far away' }]],
  ])('gives the lease back, and %s, when a claim fails by %o', async (_, error, logged) => {
    const { start, calls, lines, room } = makeEngine({ waiting: ['ada'], unclaimed: { ada: error } })
    await start()
    expect(calls).toEqual(['give back ada'])
    expect(lines).toMatchObject(logged)
    expect(room.free).toBe(room.places)
  })

  it('takes orphans until it owns half of all, and the rest a little later, when replicas share', async () => {
    const orphans = ['ada', 'bob', 'eve', 'kim', 'lee']
    const { start, pass, claimed } = makeEngine({ places: 9, orphans, shares: true })
    await start()
    expect(claimed).toEqual(['ada', 'bob', 'eve'])
    await pass(beyondMs * 0.74)
    expect(claimed).toHaveLength(3)
    await pass(beyondMs * 0.01)
    expect(claimed).toEqual(['ada', 'bob', 'eve', 'kim', 'lee'])
  })

  it('takes no orphan before it has counted all, when replicas share', async () => {
    const site = makeEngine({ places: 9, shares: true, waiting: ['own'] })
    await site.start()
    site.orphans.push('ada', 'bob')
    site.owned.push('own')
    await site.ring('released', 'other')
    expect(site.claimed).toEqual(['own'])
    await site.pass(beyondMs * 1.2)
    expect(site.claimed).toEqual(['own', 'ada'])
    await site.pass(beyondMs)
    expect(site.claimed).toEqual(['own', 'ada', 'bob'])
  })

  it('takes all that an ended replica has left when replicas do not share', async () => {
    const { start, claimed } = makeEngine({ places: 9, orphans: ['ada', 'bob', 'eve'] })
    await start()
    expect(claimed).toEqual(['ada', 'bob', 'eve'])
  })
})
