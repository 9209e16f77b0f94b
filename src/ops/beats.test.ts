import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import type { Look } from '../store/look.ts'
import { Beats } from './beats.ts'

const ttlMs = 10_000
const nowMs = 1_000_000

function makeBeats() {
  const clock = new ManualClock()
  const freed: string[] = []
  const owners = {
    free: async (user: string, beat: number) => {
      freed.push(`${user} ${beat}`)
      return true
    },
  }
  const beats = new Beats({ owners, clock, ttlMs })
  const orphans = (owned: Look['owned'], { all = true, ours = '' } = {}) =>
    beats.orphans({ nowMs, all, waiting: [], owned, overdue: [] }, user => user === ours)
  return { clock, freed, orphans }
}

describe('Beats', () => {
  it('finds an operation whose lease is over by Redis’ clock', async () => {
    const { orphans, freed } = makeBeats()
    expect(await orphans([{ name: 'ada', beat: nowMs - 1 }])).toEqual(['ada'])
    expect(await orphans([{ name: 'ada', beat: nowMs }])).toEqual([])
    expect(freed).toEqual([])
  })

  it('frees a lease whose beat stood still for a TTL, and finds its operation', async () => {
    const { orphans, freed, clock } = makeBeats()
    const owned = [{ name: 'ada', beat: nowMs + 50_000 }]
    expect(await orphans(owned)).toEqual([])
    clock.advance(ttlMs - 1)
    expect(await orphans(owned)).toEqual([])
    clock.advance(1)
    expect(await orphans(owned)).toEqual(['ada'])
    expect(freed).toEqual([`ada ${nowMs + 50_000}`])
  })

  it('counts the time anew when the beat has changed, or the operation was away', async () => {
    const { orphans, clock } = makeBeats()
    await orphans([{ name: 'ada', beat: nowMs + 1 }])
    clock.advance(ttlMs)
    expect(await orphans([{ name: 'ada', beat: nowMs + 2 }])).toEqual([])
    await orphans([])
    clock.advance(ttlMs)
    expect(await orphans([{ name: 'ada', beat: nowMs + 2 }])).toEqual([])
  })

  it('leaves out operations of this replica', async () => {
    const { orphans } = makeBeats()
    expect(await orphans([{ name: 'ada', beat: 0 }], { ours: 'ada' })).toEqual([])
  })
})
