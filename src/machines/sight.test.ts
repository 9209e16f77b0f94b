/** The metrics that a keeper reports, each at its time. */
import { expect, test } from 'vitest'
import { endedByCloud } from '../dispatch/endings.ts'
import { Unreachable } from '../ssh/errors.ts'
import { booted, container, end, ended, until } from './testing/life.ts'
import { Site } from './testing/site.ts'

const fresh = () => new Site({ containers: [container], createdMs: Date.now() - 60_000 })

test('a keeper tells the times and the end of a boot when a new machine is ready', async () => {
  const site = fresh()
  site.hasBooted = false
  const life = site.live()
  await until(() => site.log.filter(each => each === 'connected').length).toBeGreaterThan(1)
  expect(site.seen.of('ready', 'booted')).toEqual([])
  site.hasBooted = true
  await until(() => site.log).toContain('started 100')
  const [[, reached], ...others] = site.seen.of('reached') as [[string, number]]
  expect(reached).toBeGreaterThan(59)
  expect(reached).toBeLessThan(70)
  expect(others).toEqual([])
  // Since it was reached, not since it was asked for: the first attempt is half an interval of probes before the next.
  const [[, ready]] = site.seen.of('ready') as [[string, number]]
  expect(ready).toBeGreaterThan(0.009)
  expect(ready).toBeLessThan(10)
  expect(site.seen.of('booted')).toEqual([['booted', 'success']])
  await end(site, life)
  expect(site.seen.of('booted')).toHaveLength(1)
})

test('a keeper tells no boot when it takes over a machine that has served', async () => {
  const site = new Site({ ...booted, probedMs: 1 })
  const life = site.live('serve')
  await until(() => site.log).toContain('asked what it runs')
  await end(site, life)
  expect(site.seen.of('reached', 'ready', 'booted')).toEqual([])
})

test.each([
  ['failure', 'boot'],
  ['aborted', 'room'],
  ['disappeared', endedByCloud],
])('a keeper tells %s when a machine that was never ready ends for %j', async (outcome, ending) => {
  const site = new Site({ ...booted, state: 'booting' })
  site.isReachable = false
  const life = site.live('serve')
  await until(() => site.log).toContain('connected')
  await end(site, life, ending)
  expect(site.seen.of('booted')).toEqual([['booted', outcome]])
})

test('a keeper tells how long a machine took to go when it was to end', async () => {
  const site = new Site({ ...booted, state: 'shutdown', ending: 'idle', sinceMs: Date.now() - 30_000, probedMs: 1 })
  site.end()
  await site.live('destroy')
  const [[, gone]] = site.seen.of('gone') as [[string, number]]
  expect(gone).toBeGreaterThanOrEqual(30)
  expect(gone).toBeLessThan(40)
  expect(site.seen.of('vanished')).toEqual([['vanished', 'shutdown']])
})

test.each([
  ['running', { containers: [{ ...container, run: 100 }], probedMs: 1 }],
  ['idle', { containers: [], probedMs: 1 }],
  ['booting', { containers: [container], probedMs: 0 }],
])('a keeper tells that a machine was %s when the cloud has ended it', async (state, brief) => {
  const site = new Site({ ...booted, ...brief, state: 'shutdown', ending: endedByCloud })
  site.end()
  await site.live('destroy')
  expect(site.seen.of('vanished', 'gone')).toEqual([['vanished', state]])
})

test('a keeper tells nothing of an end when there never was a machine', async () => {
  const site = new Site({ ending: 'idle' })
  await site.live()
  expect(site.seen.of('vanished', 'gone', 'booted')).toEqual([])
})

test('a keeper tells how long a container has waited when its runner begins', async () => {
  const site = new Site({ ...booted, containers: [container] })
  const life = site.live('serve')
  await until(() => site.seen.of('began')).toHaveLength(1)
  const [[, waited]] = site.seen.of('began') as [[string, number]]
  expect(waited).toBeGreaterThanOrEqual(5)
  expect(waited).toBeLessThan(15)
  // It is asked for the same run again.
  site.line!.end.abort()
  await until(() => site.log.filter(each => each === 'started 100')).toHaveLength(2)
  await end(site, life)
  expect(site.seen.of('began')).toHaveLength(1)
})

test('a keeper tells no wait when a container has begun before', async () => {
  const site = new Site({ ...booted, containers: [container] })
  site.waitedMs = undefined
  const life = site.live('serve')
  await until(() => site.log).toContain('started 100')
  await end(site, life)
  expect(site.seen.of('began')).toEqual([])
})

test('a keeper tells how long a machine takes to say what it runs, and when it does not', async () => {
  const site = new Site(booted)
  let isSilent = true
  site.onList = async () => {
    if (isSilent) throw new Unreachable('no answer')
  }
  const life = site.live('serve')
  await until(() => site.seen.of('asked')).toEqual([['asked', false, expect.any(Number)]])
  isSilent = false
  await until(() => site.seen.of('asked')).toContainEqual(['asked', true, expect.any(Number)])
  await end(site, life)
})

test('an entry waits until it is stored, and nothing waits after the keeper has ended', async () => {
  const site = new Site({ ...booted, containers: [{ ...container, run: 100 }] })
  const stored = Promise.withResolvers<void>()
  site.onTell = () => stored.promise
  const life = site.live('serve')
  await until(() => site.log).toContain('started 100')
  const [waited] = [...site.seen.waits] as [() => number]
  expect(waited()).toBe(0)
  site.say(1, { kind: 'running', atMs: 1 })
  site.say(2, ended)
  await until(waited).toBeGreaterThan(0.02)
  stored.resolve()
  await until(() => site.log).toContain('acknowledged 2')
  await until(waited).toBe(0)
  await end(site, life)
  expect(site.seen.waits.size).toBe(0)
})
