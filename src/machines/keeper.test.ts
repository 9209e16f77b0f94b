/** A keeper while it serves a machine. `testing/site.ts` plays Redis, the cloud and the runner. */
import { expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { LetGo, RetryLater } from '../base/errors.ts'
import { Unreachable } from '../ssh/errors.ts'
import { EpochPassed } from './epoch.ts'
import { booted, container, end, ended, until } from './testing/life.ts'
import { Site, uuid } from './testing/site.ts'

test('a keeper acknowledges an entry only after it has reported it', async () => {
  const site = new Site({ ...booted, containers: [{ ...container, run: 100 }] })
  const life = site.live('serve')
  await until(() => site.log).toContain('started 100')
  site.say(1, { kind: 'running', atMs: 1 })
  await until(() => site.log).toContain('acknowledged 1')
  expect(site.log.indexOf('told running')).toBeLessThan(site.log.indexOf('acknowledged 1'))
  await end(site, life)
})

test('nothing of a machine is told before what it runs is in the records', async () => {
  const site = new Site({ ...booted, containers: [{ ...container, run: 100 }] })
  site.listed = [{ uuid, run: 100, seal: 's' } as never]
  let isTold = true
  site.onAdopt = () => {
    site.say(1, { kind: 'running', atMs: 1 })
    isTold = site.told.length > 0
    return 'known'
  }
  const life = site.live('serve')
  await until(() => site.log).toContain('acknowledged 1')
  expect(isTold).toBe(false)
  await end(site, life)
})

test('a keeper asks for the same run again when the channel ended after the start', async () => {
  const site = new Site({ ...booted, containers: [container] })
  const life = site.live('serve')
  await until(() => site.log.filter(each => each === 'started 100')).toHaveLength(1)
  site.nextRun = 200
  site.line!.end.abort()
  await until(() => site.log.filter(each => each === 'started 100')).toHaveLength(2)
  expect(site.log).not.toContain('started 200')
  await end(site, life)
})

test('a start that the machine refuses is proof that the run did not begin', async () => {
  const site = new Site({ ...booted, containers: [container] })
  site.startAnswer = { refused: 'broken', message: 'the disk is full' }
  const life = site.live('serve')
  await until(() => site.brief?.broken).toBe('the disk is full')
  expect(site.told).toEqual([{ what: 'lacks', why: 'the disk is full' }])
  await end(site, life)
})

test('a run that ended before Redis went back is not run again', async () => {
  const site = new Site({ ...booted, containers: [{ ...container, run: 100 }] })
  site.startAnswer = { refused: 'run', message: 'it was here', end: { atMs: 5, exitCode: 3 } }
  const life = site.live('serve')
  await until(() => site.told).toEqual([{ what: 'ended', atMs: 5, exitCode: 3 }])
  expect(site.seen.of('stale')).toEqual([['stale', 'run']])
  await end(site, life)
})

test.each([
  { state: 'runs', listed: {} },
  { state: 'has ended, and tells its end later,', listed: { end: { exitCode: 0, reason: '' } } },
])('a run that was sent before stays when it $state and no key opens what it runs', async ({ listed }) => {
  const site = new Site({ ...booted, containers: [{ ...container, run: 100 }] })
  site.listed = [{ ...listed, uuid, run: 100, seal: 's' } as never]
  site.isReadable = false
  let asked = 0
  site.onList = async () => {
    asked += 1
  }
  const life = site.live('serve')
  await until(() => asked).toBe(2)
  // A keeper that has reported looks again, and asks no more.
  site.say(1, { kind: 'running', atMs: 1 })
  await until(() => site.log).toContain('acknowledged 1')
  expect(site.told.map(({ what }) => what)).toEqual(['running'])
  await end(site, life)
  expect(asked).toBe(2)
})

test('a run that no list has is proof that it did not begin when no key opens what it runs', async () => {
  const site = new Site({ ...booted, containers: [{ ...container, run: 100 }] })
  site.isReadable = false
  const life = site.live('serve')
  await until(() => site.told).toEqual([{ what: 'lacks', why: 'what it runs cannot be read' }])
  expect(site.log.some(each => each.startsWith('started'))).toBe(false)
  await end(site, life)
})

test('a machine on hold is asked to run nothing new', async () => {
  const site = new Site({ ...booted, idleBehavior: 'hold', containers: [container] })
  const life = site.live('serve')
  await until(() => site.log).toContain('asked what it runs')
  site.ring()
  await until(() => site.log.length).toBeGreaterThan(2)
  expect(site.log.some(each => each.startsWith('started'))).toBe(false)
  await end(site, life)
})

test('a container is killed again and again, and its machine ends when it does not end', async () => {
  const site = new Site({ ...booted, containers: [{ ...container, run: 100 }] })
  const life = site.live('serve')
  await until(() => site.log).toContain('started 100')
  site.cancelled = new Map([[uuid, 'asked for']])
  site.ring()
  await until(() => site.brief?.ending).toBe('a container does not end')
  expect(site.log.filter(each => each === 'killed 100').length).toBeGreaterThan(1)
  site.end()
  await life
  expect(site.log.at(-1)).toBe('gone')
})

test('a container that is to be killed is free when its machine never had the run', async () => {
  const site = new Site({ ...booted, containers: [{ ...container, run: 100 }] })
  site.cancelled = new Map([[uuid, 'asked for']])
  site.killAnswer = 'unknown'
  const life = site.live('serve')
  await until(() => site.told).toEqual([{ what: 'lacks' }])
  await end(site, life)
})

test('a keeper kills a run that the container has no more, and does not report it', async () => {
  const site = new Site(booted)
  site.listed = [{ uuid, run: 90, seal: 's' } as never]
  site.onAdopt = () => 'other'
  const life = site.live('serve')
  await until(() => site.log).toContain('killed 90')
  site.say(1, ended, 90)
  await until(() => site.log).toContain('acknowledged 1')
  expect(site.told).toEqual([])
  await end(site, life)
})

test('the end of a run waits for its output when the record has it, and is written at once when the record has another', async () => {
  const site = new Site({ ...booted, containers: [{ ...container, run: 100 }] })
  const other = 'clust-dz642-000000000000002'
  const over = { seal: 's', end: { exitCode: 0, reason: '' } }
  site.listed = [{ ...over, uuid, run: 100 } as never, { ...over, uuid: other, run: 90 } as never]
  const life = site.live('serve')
  await until(() => site.log).toContain('asked what it runs')
  expect(site.log.filter(each => each.startsWith('adopted'))).toEqual([`adopted ${other}`])
  await end(site, life)
})

test('what has ended is written at once when something else runs there: that takes its place', async () => {
  const site = new Site({ ...booted, containers: [{ ...container, run: 100 }] })
  const other = 'clust-dz642-000000000000002'
  const over = { seal: 's', end: { exitCode: 0, reason: '' } }
  site.listed = [{ ...over, uuid, run: 100 } as never, { seal: 's', uuid: other, run: 110 } as never]
  let isFull = true
  site.onAdopt = of => {
    if (of === other) return isFull ? 'busy' : 'adopted'
    isFull = false
    return 'known'
  }
  const life = site.live('serve')
  await until(() => site.log).toContain('asked what it runs')
  const adopted = site.log.filter(each => each.startsWith('adopted'))
  expect(adopted).toEqual([`adopted ${other}`, `adopted ${uuid}`, `adopted ${other}`])
  await end(site, life)
})

test('what a machine runs in truth takes the place of what the records have, and is not killed', async () => {
  const site = new Site({ ...booted, containers: [{ ...container, run: 100 }] })
  site.listed = [{ uuid: 'clust-dz642-000000000000002', run: 90, seal: 's' } as never]
  site.onAdopt = () => (site.told.length === 0 ? 'busy' : 'adopted')
  const life = site.live('serve')
  await until(() => site.log).toContain('asked what it runs')
  expect(site.told).toEqual([{ what: 'lacks' }])
  expect(site.log.some(each => each.startsWith('killed'))).toBe(false)
  await end(site, life)
})

test('what a machine runs gets its places when more run there than may do so by now', async () => {
  const site = new Site(booted)
  site.listed = [{ uuid, run: 90, seal: 's' } as never]
  site.onAdopt = (_, most) => (most === undefined ? 'busy' : 'adopted')
  const life = site.live('serve')
  await until(() => site.log).toContain('asked what it runs')
  expect(site.log.filter(each => each.startsWith('adopted'))).toEqual([`adopted ${uuid}`, `adopted ${uuid}`])
  await end(site, life)
})

test('nothing is killed, and the machine stays in doubt, when the records have no place for what it runs', async () => {
  const site = new Site(booted)
  site.listed = [{ uuid, run: 90, seal: 's' } as never]
  site.onAdopt = () => 'busy'
  const life = site.live('serve')
  await until(() => site.log).toContain('probed')
  expect(site.log.filter(each => each === 'asked what it runs' || each.startsWith('killed'))).toEqual([])
  await end(site, life)
})

test('a run without a seal of ours is neither written nor killed', async () => {
  const site = new Site(booted)
  site.listed = [{ uuid, run: 90, seal: 'forged' } as never]
  const life = site.live('serve')
  await until(() => site.log).toContain('asked what it runs')
  expect(site.log.filter(each => /^(killed|adopted)/.test(each))).toEqual([])
  await end(site, life)
})

test('a keeper lets go when the machine has heard a higher epoch', async () => {
  const site = new Site(booted)
  site.onLink = async () => {
    throw new EpochPassed(77)
  }
  await expect(site.live('serve')).rejects.toThrow(LetGo)
  expect(site.log).toContain('floored 77')
  expect(site.seen.of('stale')).toEqual([['stale', 'epoch']])
})

test('a machine is broken when it says an epoch that nobody can have drawn', async () => {
  const site = new Site(booted)
  site.onLink = async () => {
    throw new EpochPassed(Number.MAX_SAFE_INTEGER)
  }
  await expect(site.live('serve')).rejects.toThrow(RetryLater)
  expect(site.brief?.broken).toContain('an epoch of tomorrow')
})

test('a channel that breaks amid a start is made again, and the run is the same', async () => {
  const site = new Site({ ...booted, containers: [container] })
  let isBroken = true
  site.onStart = () => {
    if (isBroken) throw new Unreachable('broken pipe')
  }
  const life = site.live('serve')
  await until(() => site.log).toContain('started 100')
  isBroken = false
  await until(() => site.log.filter(each => each === 'connected').length).toBeGreaterThan(1)
  await until(() => site.log.filter(each => each === 'started 100').length).toBeGreaterThan(1)
  await end(site, life)
})

test('a machine that says that it is broken is written so, and asked to run nothing', async () => {
  const site = new Site(booted)
  const life = site.live('serve')
  await until(() => site.log).toContain('asked what it runs')
  site.line!.handlers.onBeat('a supervisor was lost')
  await until(() => site.brief?.broken).toBe('a supervisor was lost')
  await end(site, life)
})

test('a machine that boots is asked nothing before its probe succeeds', async () => {
  const site = new Site({ ...booted, state: 'booting' })
  site.hasBooted = false
  const life = site.live('serve')
  await until(() => site.log.filter(each => each === 'connected').length).toBeGreaterThan(1)
  expect(site.line).toBeUndefined()
  await end(site, life)
})

test('a machine that has served is asked what it runs, although its boot probe fails now', async () => {
  const site = new Site({ ...booted, containers: [{ ...container, run: 100 }] })
  site.hasBooted = false
  const life = site.live('serve')
  await until(() => site.log).toContain('started 100')
  await end(site, life)
})

test('a keeper with nothing to do rests until a good probe is due to be reported', async () => {
  const site = new Site(booted)
  const clock = new ManualClock()
  site.clock = clock
  const life = site.live('serve')
  await clock.whenSleeping(1_000)
  clock.advance(980)
  site.line!.handlers.onBeat(undefined)
  const before = site.log.length
  clock.advance(20)
  await clock.whenSleeping(1_000)
  expect(site.log.slice(before)).toEqual(['probed'])
  await end(site, life)
})

test('a keeper looks at each interval of probes while a container waits for its turn', async () => {
  const site = new Site({ ...booted, containers: [container] })
  const clock = new ManualClock()
  site.clock = clock
  site.startAnswer = { refused: 'busy', message: 'an earlier run has not ended' }
  const life = site.live('serve')
  await until(() => site.log).toContain('started 100')
  await clock.whenSleeping(20)
  site.startAnswer = 'started'
  clock.advance(20)
  await until(() => site.log.filter(each => each === 'started 100')).toHaveLength(2)
  await end(site, life)
})

test('a machine that boots is asked once in each interval of probes', async () => {
  const site = new Site({ ...booted, state: 'booting' })
  const clock = new ManualClock()
  site.clock = clock
  site.hasBooted = false
  const life = site.live('serve')
  for (let times = 1; times <= 8; times += 1) {
    await until(() => site.log.filter(each => each === 'connected')).toHaveLength(times)
    const restMs = await clock.sleepBetween(10, 19.999)
    clock.advance(restMs)
  }
  await end(site, life)
})

test('a machine that does not answer a start ends when it is to end', async () => {
  const site = new Site({ ...booted, containers: [container] })
  const answered = Promise.withResolvers<void>()
  site.onStart = () => answered.promise
  const life = site.live('serve')
  await until(() => site.log).toContain('started 100')
  site.ring()
  await end(site, life)
  expect(site.log).toContain('destroyed')
  answered.resolve()
})

test('a keeper does what was asked of it while it waited for the answer to a start', async () => {
  const site = new Site({ ...booted, containers: [container] })
  // Nothing but the ring wakes it.
  site.clock = new ManualClock()
  const answered = Promise.withResolvers<void>()
  site.onStart = () => answered.promise
  const life = site.live('serve')
  await until(() => site.log).toContain('started 100')
  site.cancelled = new Map([[uuid, 'its owner cancels it']])
  site.ring()
  answered.resolve()
  await until(() => site.log).toContain('killed 100')
  await end(site, life)
})
