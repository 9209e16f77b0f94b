import { describe, expect, it } from 'vitest'
import { useEngines } from './testing/engines.ts'
import { busy, idleSince, startMs } from './testing/history.ts'
import { IdleWorld } from './testing/world.ts'

const start = useEngines()

/** Its kernels were last active when the world began. */
const idle = (nowMs: number) => idleSince(nowMs - startMs)

describe('IdleEngine and what prevents a stop', () => {
  it('looks again when somebody came back before the script', async () => {
    const world = new IdleWorld()
    world.add('idle', idle)
    let wanted = 0
    world.beforeStop = ({ id }) => {
      wanted += 1
      if (wanted > 1) return undefined
      // As a touch does it.
      world.touches.set(id, 1)
      world.known.set(id, { ...world.known.get(id)!, lastMs: world.nowMs, warnedMs: 0 })
      return undefined
    }
    start(world)
    await world.pass(100_000)
    expect([wanted, world.stops.length]).toEqual([1, 0])
    await world.pass(40_000)
    expect(world.stops).toHaveLength(1)
  })

  it('tries again after a period when the fuse holds it', async () => {
    const world = new IdleWorld()
    world.add('idle', idle)
    const tries: number[] = []
    world.beforeStop = () => {
      tries.push(world.nowMs)
      return tries.length < 3 ? 'held' : undefined
    }
    start(world, { checkPeriodSeconds: 8 })
    await world.pass(90_000)
    expect(world.stops).toHaveLength(1)
    for (const gap of [tries[1]! - tries[0]!, tries[2]! - tries[1]!]) expect(gap).toBeGreaterThanOrEqual(8000)
  })

  it('writes what it saw first, when Redis knows nothing of the pod that is to be stopped', async () => {
    const world = new IdleWorld()
    world.add('old', () => busy)
    world.clock.advance(7_200_000)
    start(world, { rules: [{ name: 'old', maxAgeSeconds: 3600, warnSeconds: 0 }] })
    await world.pass(2500)
    expect([world.ended.length, world.stops.map(({ why }) => why)]).toEqual([1, ['age']])
  })

  it('decides on no look that began more than 2 s ago', async () => {
    const world = new IdleWorld()
    world.add('idle', idle)
    world.failpoints.set('idle.looked', () => world.clock.sleep(2001))
    start(world)
    await world.pass(100_000)
    expect(world.stops).toEqual([])
    world.failpoints.clear()
    await world.pass(10_000)
    expect(world.stops).toHaveLength(1)
  })

  it.each([
    [14_000, 1],
    [15_000, 0],
  ])(
    'sends a stop that is held for %i ms so often: %i, since another replica takes the workload after 20 s',
    async (heldMs, sent) => {
      const world = new IdleWorld()
      world.add('idle', idle)
      world.failpoints.set('idle.requested', () => {
        world.failpoints.clear()
        // As in a process that is halted.
        world.clock.advance(heldMs)
        world.pods.get('idle')!.answer = () => busy
      })
      start(world)
      await world.pass(100_000)
      expect(world.stops).toHaveLength(sent)
      expect(world.log.messages.filter(message => message.startsWith('error'))).toEqual([])
    },
  )

  it('stops what hangs for longer than 2 s in each look, where its rule says so', async () => {
    const world = new IdleWorld()
    world.add('hung', () => 'hang')
    // biome-ignore lint/suspicious/noThenProperty: the word of the configuration; no promise is made of it
    const unreachable = { afterSeconds: 30, then: 'stop' }
    start(world, { rules: [{ name: 'strict', warnSeconds: 0, unreachable }] })
    await world.pass(100_000)
    expect(world.stops.map(({ why }) => why)).toEqual(['unreachable'])
  })

  it('stops what hangs, or takes longer than 2 s to answer, at its maximum age', async () => {
    const world = new IdleWorld()
    world.add('hung', () => 'hang')
    world.add('slow', () => busy)
    world.failpoints.set('idle.looked', () => world.clock.sleep(2001))
    start(world, { rules: [{ name: 'old', maxAgeSeconds: 30, warnSeconds: 0 }] })
    await world.pass(100_000)
    expect(world.stops.map(({ id, why }) => [id, why]).sort()).toEqual([
      ['hung', 'age'],
      ['slow', 'age'],
    ])
  })

  it.each([3_600_000, -3_600_000])(
    'lets all idle clocks begin anew when Redis’ clock is stepped by %i ms',
    async byMs => {
      const world = new IdleWorld()
      world.add('idle', idle)
      start(world)
      await world.pass(40_000)
      world.redisAheadMs = byMs
      await world.pass(2000)
      expect(world.floorMs).toBeGreaterThan(world.nowMs - 2500)
      await world.pass(55_000)
      expect(world.stops).toEqual([])
    },
  )
})
