import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { createIdleMetrics } from '../telemetry/idle-metrics.ts'
import { useEngines } from './testing/engines.ts'
import { busy, idleSince, startMs } from './testing/history.ts'
import { IdleWorld } from './testing/world.ts'

const start = useEngines()

/** Its kernels were last active when the world began. */
const idle = (nowMs: number) => idleSince(nowMs - startMs)

const secondsOf = (atMs: number) => (atMs - startMs) / 1000

describe('IdleEngine', () => {
  it('stops the one that is idle after its time-out, with a warning, and none that is busy or silent', async () => {
    const world = new IdleWorld()
    world.add('idle', idle)
    world.add('busy', () => busy)
    world.add('hung', () => 'hang')
    start(world)
    await world.pass(120_000)
    expect(world.stops.map(({ id, why }) => [id, why])).toEqual([['idle', 'idle']])
    expect(world.stops[0]?.words).toBe('stopped after 60 s without activity (rule short)')
    const [warning] = world.events
    expect(world.events.map(({ event, id }) => [event, id])).toEqual([['warning', 'idle']])
    // The first sight was within the first taking.
    expect(secondsOf(warning!.atMs)).toBeGreaterThanOrEqual(50)
    expect(secondsOf(world.stops[0]!.atMs)).toBeGreaterThan(60)
    expect(secondsOf(world.stops[0]!.atMs)).toBeLessThan(62)
  })

  it('checks each once in a period, by whichever of two replicas takes it', async () => {
    const world = new IdleWorld()
    for (let count = 0; count < 20; count++) world.add(`w${count}`, () => busy)
    start(world)
    start(world)
    await world.pass(60_000)
    for (const id of world.pods.keys()) {
      const times = world.asked.filter(asked => asked.id === id).map(({ atMs }) => atMs)
      expect(times.length).toBeGreaterThanOrEqual(3)
      const gaps = times.slice(1).map((atMs, index) => atMs - times[index]!)
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(20_000)
    }
    expect(world.refused).toEqual([])
  })

  it('lets those that hang delay nobody else', async () => {
    const world = new IdleWorld()
    for (let count = 0; count < 50; count++) world.add(`hung${count}`, () => 'hang')
    for (let count = 0; count < 10; count++) world.add(`w${count}`, () => busy)
    const metrics = createIdleMetrics(new Registry(), { kinds: [], census: async () => undefined })
    start(world, { room: 20, slowRoom: 5, restPeriodSeconds: 5 }, metrics)
    await world.pass(30_000)
    metrics.checkLateness.reset()
    const askedBefore = world.asked.length
    await world.pass(60_000)
    expect(world.asked.slice(askedBefore).filter(({ id }) => id.startsWith('w')).length).toBeGreaterThanOrEqual(100)
    expect(world.hanging).toBeLessThanOrEqual(5)
    const { values } = await metrics.checkLateness.get()
    const late = (lane: string, le: unknown) =>
      values.find(({ labels }) => labels.lane === lane && (labels as Record<string, unknown>).le === le)?.value
    // An empty lane is looked at each second.
    expect(late('fast', 2)).toBe(late('fast', '+Inf'))
    expect(late('slow', 2)).toBeLessThan(late('slow', '+Inf')!)
  })

  it('gives up its checks when it stops, and another replica follows after 20 s', async () => {
    const world = new IdleWorld()
    world.add('hung', () => 'hang')
    const first = start(world)
    await world.pass(1000)
    expect(first.checking).toBe(1)
    const stopping = first.stop()
    await world.pass(100)
    await stopping
    expect([first.checking, world.ended.length, world.asked.length]).toEqual([0, 0, 1])
    expect(world.log.messages).toEqual([])
    start(world)
    await world.pass(18_000)
    expect(world.asked).toHaveLength(1)
    await world.pass(2_500)
    expect(world.asked).toHaveLength(2)
  })

  it('writes nothing when its check was taken over meanwhile', async () => {
    const world = new IdleWorld()
    world.stampPolicy = 'always'
    world.add('slow', idle)
    let isHeld = true
    world.failpoints.set('idle.looked', () => (isHeld ? world.clock.sleep(30_000) : undefined))
    start(world)
    await world.pass(1000)
    isHeld = false
    start(world)
    await world.pass(40_000)
    expect(world.refused.map(({ id }) => id)).toEqual(['slow'])
    expect(world.ended.length).toBeGreaterThan(0)
    expect(world.stamped).toHaveLength(world.ended.length)
  })

  it.each([
    [9_000, 1, 0],
    [10_000, 0, 1],
  ])('asks, when it wakes %i ms after the taking, so often: %i, and is late: %i', async (sleptMs, asked, late) => {
    const world = new IdleWorld()
    world.add('slept', () => busy)
    let isAwake = false
    world.failpoints.set('idle.taken', () => {
      if (!isAwake) world.clock.advance(sleptMs)
      isAwake = true
    })
    const metrics = createIdleMetrics(new Registry(), { kinds: [], census: async () => undefined })
    start(world, {}, metrics)
    await world.pass(200)
    expect(world.asked).toHaveLength(asked)
    const { values } = await metrics.checks.get()
    expect(values.find(({ labels }) => labels.result === 'late')?.value ?? 0).toBe(late)
  })

  it('goes on when Redis was away', async () => {
    const world = new IdleWorld()
    world.add('idle', idle)
    start(world)
    await world.pass(10_000)
    world.redisIsAway = true
    await world.pass(30_000)
    world.redisIsAway = false
    await world.pass(60_000)
    expect(world.stops).toHaveLength(1)
    expect(world.log.messages.filter(line => line.startsWith('error'))).toEqual([])
  })
})

describe('IdleEngine and what may be asked', () => {
  it('asks nothing while the watches are silent, and stops nobody', async () => {
    const world = new IdleWorld()
    world.add('idle', idle)
    world.silence = 10_000
    start(world)
    await world.pass(120_000)
    expect([world.asked.length, world.stops.length]).toEqual([0, 0])
    world.silence = 0
    await world.pass(1500)
    expect(world.asked).toHaveLength(1)
  })

  it('sends no token to the address of a pod that was exchanged during its check', async () => {
    const world = new IdleWorld()
    const pod = world.add('idle', idle)
    world.read = (read => async facts => {
      const known = await read.call(world, facts)
      pod.uid = 'another'
      return known
    })(world.read)
    start(world)
    await world.pass(5000)
    expect(world.asked).toEqual([])
  })

  it('sends no token when the watches fell silent during the check', async () => {
    const world = new IdleWorld()
    world.add('idle', idle)
    world.read = (read => async facts => {
      world.silence = 10_000
      return read.call(world, facts)
    })(world.read)
    start(world)
    await world.pass(5000)
    expect([world.asked, world.ended]).toEqual([[], []])
  })

  it('asks no pod that is not ready, and counts it as one that does not answer', async () => {
    const world = new IdleWorld()
    world.add('starting', idle).mayBeAsked = false
    start(world)
    await world.pass(5000)
    expect(world.asked).toEqual([])
    expect(world.ended.at(-1)?.activity).toMatchObject({ failures: 1 })
    expect(world.ended.at(-1)?.finding).toMatchObject({ state: 'unknown' })
  })

  it('asks nobody without a rule, and nothing of those whose activity others report', async () => {
    const world = new IdleWorld()
    world.add('ada', idle)
    world.add('grace', idle)
    const rules = [
      { name: 'bots', match: { users: ['grace'] }, sources: ['push'], idleTimeoutSeconds: 60, warnSeconds: 0 },
    ]
    start(world, { rules })
    await world.pass(70_000)
    expect(world.asked).toEqual([])
    expect(world.stops.map(({ id }) => id)).toEqual(['grace'])
  })
})

describe('IdleEngine and annotations', () => {
  const both = (lastActivity: string, checked: string) => ({
    'notebooks.kubeflow.org/last-activity': `2026-11-24T10:${lastActivity}Z`,
    'notebooks.kubeflow.org/last_activity_check_timestamp': `2026-11-24T10:${checked}Z`,
  })

  it('writes both at a warning, and five minutes after the start', async () => {
    const world = new IdleWorld()
    world.add('idle', idle)
    world.add('busy', () => busy)
    start(world)
    await world.pass(59_000)
    expect(world.stamped).toEqual([{ id: 'idle', patch: both('00:00', '00:50') }])
    await world.pass(240_000, 500)
    expect(world.stamped).toHaveLength(1)
    await world.pass(30_000, 500)
    expect(world.stamped[1]).toMatchObject({ id: 'busy' })
  })
})
