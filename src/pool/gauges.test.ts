import { describe, expect, it } from 'vitest'
import { someTypes } from '../dispatch/testing/arbitrary.ts'
import { gib, needOf } from '../dispatch/testing/world.ts'
import { calm } from '../dispatch/throttle.ts'
import { categoryOf, type GaugeInput, gaugesOf } from './gauges.ts'
import { briefOf, nowMs, uuidOf } from './testing/reading.ts'

const container = (run: number) => ({ uuid: uuidOf(5), run, supervisor: false, need: needOf(1) })
const input = (over: Partial<GaugeInput> = {}): GaugeInput => ({
  ...{ machines: [], counts: { waiting: 0, oldestMs: 0 }, types: someTypes, throttle: calm, nowMs },
  ...{ maxContainers: Number.POSITIVE_INFINITY, unasked: [], timeoutProbeMs: 600_000, ...over },
})

describe('gaugesOf', () => {
  it('tells containers that run from those that have a machine, and those that have none', () => {
    const machines = [
      briefOf('a', { state: 'running', containers: [container(7)] }),
      briefOf('b', { state: 'idle', containers: [container(8)] }),
      briefOf('c', { state: 'booting', containers: [container(0)] }),
    ]
    expect(gaugesOf(input({ machines, counts: { waiting: 5, oldestMs: nowMs - 90_000 } }))).toMatchObject({
      containers_running: 1,
      containers_allocated_not_started: 2,
      containers_not_allocated_over_quota: 4,
      containers_longest_wait_time_seconds: 90,
    })
  })

  it('waits for nothing when nobody waits, and never for a time below zero', () => {
    expect(gaugesOf(input()).containers_longest_wait_time_seconds).toBe(0)
    const ahead = { waiting: 1, oldestMs: nowMs + 5 }
    expect(gaugesOf(input({ counts: ahead })).containers_longest_wait_time_seconds).toBe(0)
  })

  it('has the ages of probes of machines that answer', () => {
    const probed = (name: string, ago: number) => briefOf(name, { probedMs: nowMs - ago * 1000 })
    const machines = [probed('a', 1), probed('b', 2), probed('c', 30), briefOf('d', { probedMs: 0 })]
    expect(gaugesOf(input({ machines }))).toMatchObject({ probe_age_seconds_max: 30, probe_age_seconds_median: 2 })
    expect(gaugesOf(input())).toMatchObject({ probe_age_seconds_max: 0, probe_age_seconds_median: 0 })
  })

  it('adds up machines by type, types without any and types that are no longer offered too', () => {
    const machines = [briefOf('a'), briefOf('b', { price: 2 }), briefOf('c', { type: 'former', idleBehavior: 'hold' })]
    const { byType } = gaugesOf(input({ machines }))
    expect([...byType.keys()]).toEqual([...someTypes.map(({ name }) => name), 'former'])
    const small = byType.get('small')!
    expect(small.instances_total).toEqual({ inuse: 0, hold: 0, booting: 0, unknown: 0, idle: 2 })
    expect([small.instances_price.idle, small.vcpus_total.idle, small.memory_bytes_total.idle]).toEqual([3, 2, 8 * gib])
    expect(byType.get('former')!.instances_total.hold).toBe(1)
    expect(byType.get('large')!.instances_total.idle).toBe(0)
  })

  it('is at quota while the cloud refuses', () => {
    expect(gaugesOf(input()).at_quota).toBe(0)
    expect(gaugesOf(input({ throttle: { ...calm, hurry: true } })).at_quota).toBe(1)
  })

  it('has the limit of containers, 0 without one, and none of it while another replica schedules', () => {
    const limitOf = (maxContainers: number | undefined) => gaugesOf(input({ maxContainers })).max_concurrent_containers
    expect([limitOf(7), limitOf(Number.POSITIVE_INFINITY), limitOf(undefined)]).toEqual([7, 0, undefined])
  })

  it('has machines in doubt that were not asked, or have answered no probe for TimeoutProbe, each once', () => {
    const silent = (name: string, ago: number) => briefOf(name, { probedMs: nowMs - ago })
    const machines = [silent('a', 600_000), silent('b', 600_001), silent('c', 700_000), briefOf('d', { probedMs: 0 })]
    expect(gaugesOf(input({ machines })).inDoubt).toBe(2)
    expect(gaugesOf(input({ machines, unasked: ['c', 'd'] })).inDoubt).toBe(3)
  })
})

describe('categoryOf', () => {
  it.each([
    ['hold', { idleBehavior: 'hold', state: 'booting' }],
    ['inuse', { idleBehavior: 'hold', state: 'running', containers: [container(7)] }],
    ['inuse', { state: 'running', containers: [container(7)] }],
    ['inuse', { state: 'unknown', containers: [container(7)] }],
    ['booting', { state: 'creating' }],
    ['booting', { state: 'booting', containers: [container(0)] }],
    ['unknown', { state: 'unknown' }],
    ['idle', { state: 'idle' }],
    ['idle', { state: 'shutdown' }],
  ] as const)('is %s of %j', (category, over) => {
    expect(categoryOf(briefOf('a', over))).toBe(category)
  })
})
