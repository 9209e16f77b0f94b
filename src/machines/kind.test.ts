/** The life of a machine with its keeper. `testing/site.ts` plays Redis, the cloud and the runner. */
import { expect, test } from 'vitest'
import { LetGo, RetryLater } from '../base/errors.ts'
import { AtQuota, CloudRefused, IntentOver, RateLimited, Unanswered } from '../clouds/errors.ts'
import type { MachineBrief } from '../dispatch/container.ts'
import { Unreachable } from '../ssh/errors.ts'
import { EpochPassed } from './epoch.ts'
import { machineKindOf } from './kind.ts'
import type { MachineParts } from './shape.ts'
import { Site, uuid } from './testing/site.ts'

const container = { uuid, run: 0, supervisor: false }
const booted: Partial<MachineBrief> = { instance: 'i-1', address: 'i-1:22', state: 'idle' }
const ended = { kind: 'ended', atMs: 2, end: { exitCode: 0 } } as const
const patience = { timeout: 5_000, interval: 5 }

const until = (what: () => unknown) => expect.poll(what, patience)
/** Ends the machine, and waits until its life is over. */
async function end(site: Site, life: Promise<void>): Promise<void> {
  site.change({ ending: 'idle' })
  site.end()
  await life
}

test('a machine is created, runs its container, and ends when it is to', async () => {
  const site = new Site({ container })
  const life = site.live()
  await until(() => site.log).toContain('started 100')
  site.say(1, { kind: 'running', atMs: 1 })
  site.say(2, { kind: 'output', atMs: 1, stream: 'stdout', base64: 'aGk=' })
  site.say(3, { kind: 'output', atMs: 1, stream: 'stdout', base64: 'aGk=' })
  site.say(4, ended)
  await until(() => site.log).toContain('acknowledged 4')
  expect(site.told).toEqual([
    { what: 'running', atMs: 1, gatewayAddress: '' },
    { what: 'ended', atMs: 2, exitCode: 0 },
  ])
  await end(site, life)
  const order = ['create', 'connected', 'asked what it runs', 'started 100', 'told running', 'logged 2 3', 'told ended']
  expect(site.log.filter(each => [...order, 'destroyed', 'gone'].includes(each))).toEqual([
    ...order,
    'destroyed',
    'gone',
  ])
  expect(site.brief).toBeUndefined()
})

test('an entry is acknowledged only after it was told', async () => {
  const site = new Site({ ...booted, container: { ...container, run: 100 } })
  const life = site.live('serve')
  await until(() => site.log).toContain('started 100')
  site.say(1, { kind: 'running', atMs: 1 })
  await until(() => site.log).toContain('acknowledged 1')
  expect(site.log.indexOf('told running')).toBeLessThan(site.log.indexOf('acknowledged 1'))
  await end(site, life)
})

test('nothing of a machine is told before what it runs is in the records', async () => {
  const site = new Site({ ...booted, container: { ...container, run: 100 } })
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

test('a creation without an answer is asked again, with the same token', async () => {
  const site = new Site()
  site.onCreate = async () => {
    throw new Unanswered('timeout')
  }
  await expect(site.live()).rejects.toThrow(RetryLater)
  expect(site.brief).toMatchObject({ instance: '', ending: '' })
})

test.each([
  ['a quota', new AtQuota('at quota', 'x'), [{ kind: 'AtQuota', group: 'group of small', count: 0 }]],
  ['a rate', new RateLimited('slower', 5), [{ kind: 'RateLimited', untilMs: 5 }]],
  ['a refusal', new CloudRefused('no such image'), [{ kind: 'NoCapacity', type: 'small' }]],
  ['an intent that is over', new IntentOver('it has ended'), []],
])('a machine ends without a call to the cloud when %s forbids its creation', async (_, error, outcomes) => {
  const site = new Site({ container })
  site.onCreate = async () => {
    throw error
  }
  await site.live()
  expect(site.outcomes).toEqual(outcomes)
  expect(site.log.at(-1)).toBe('gone')
  expect(site.log).not.toContain('destroyed')
  expect(site.events.map(([, text]) => text)).toContain(`There is no machine: ${error.message}`)
})

test('a defect of a driver ends no machine', async () => {
  const site = new Site()
  site.onCreate = async () => {
    throw new TypeError('x is undefined')
  }
  await expect(site.live()).rejects.toThrow(TypeError)
  expect(site.brief?.ending).toBe('')
})

test('a keeper asks for the same run again when the channel ended after the start', async () => {
  const site = new Site({ ...booted, container })
  const life = site.live('serve')
  await until(() => site.log.filter(each => each === 'started 100')).toHaveLength(1)
  site.nextRun = 200
  site.line!.end.abort()
  await until(() => site.log.filter(each => each === 'started 100')).toHaveLength(2)
  expect(site.log).not.toContain('started 200')
  await end(site, life)
})

test('a start that the machine refuses is proof that the run did not begin', async () => {
  const site = new Site({ ...booted, container })
  site.startAnswer = { refused: 'broken', message: 'the disk is full' }
  const life = site.live('serve')
  await until(() => site.brief?.broken).toBe('the disk is full')
  expect(site.told).toEqual([{ what: 'lacks', why: 'the disk is full' }])
  await end(site, life)
})

test('a run that ended before Redis went back is not run again', async () => {
  const site = new Site({ ...booted, container: { ...container, run: 100 } })
  site.startAnswer = { refused: 'run', message: 'it was here', end: { atMs: 5, exitCode: 3 } }
  const life = site.live('serve')
  await until(() => site.told).toEqual([{ what: 'ended', atMs: 5, exitCode: 3 }])
  await end(site, life)
})

test('a machine on hold is asked to run nothing new', async () => {
  const site = new Site({ ...booted, idleBehavior: 'hold', container })
  const life = site.live('serve')
  await until(() => site.log).toContain('asked what it runs')
  site.ring()
  await until(() => site.log.length).toBeGreaterThan(2)
  expect(site.log.some(each => each.startsWith('started'))).toBe(false)
  await end(site, life)
})

test('a container is killed again and again, and its machine ends when it does not end', async () => {
  const site = new Site({ ...booted, container: { ...container, run: 100 } })
  const life = site.live('serve')
  await until(() => site.log).toContain('started 100')
  site.cancelled = 'asked for'
  site.ring()
  await until(() => site.brief?.ending).toBe('a container does not end')
  expect(site.log.filter(each => each === 'killed 100').length).toBeGreaterThan(1)
  site.end()
  await life
  expect(site.log.at(-1)).toBe('gone')
})

test('a container that is to be killed is free when its machine never had the run', async () => {
  const site = new Site({ ...booted, container: { ...container, run: 100 } })
  site.cancelled = 'asked for'
  site.killAnswer = 'unknown'
  const life = site.live('serve')
  await until(() => site.told).toEqual([{ what: 'lacks' }])
  await end(site, life)
})

test('a run that the container has no more is killed, and told to nobody', async () => {
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

test('what a machine runs in truth takes the place of what the records have, and is not killed', async () => {
  const site = new Site({ ...booted, container: { ...container, run: 100 } })
  site.listed = [{ uuid: 'clust-dz642-000000000000002', run: 90, seal: 's' } as never]
  const life = site.live('serve')
  await until(() => site.log).toContain('asked what it runs')
  expect(site.told).toEqual([{ what: 'lacks' }])
  expect(site.log.some(each => each.startsWith('killed'))).toBe(false)
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
})

test('a machine is broken when it says an epoch that nobody can have drawn', async () => {
  const site = new Site(booted)
  site.onLink = async () => {
    throw new EpochPassed(Number.MAX_SAFE_INTEGER)
  }
  await expect(site.live('serve')).rejects.toThrow(RetryLater)
  expect(site.brief?.broken).toContain('an epoch of tomorrow')
})

test('a machine is destroyed again when the cloud still shows it', async () => {
  const site = new Site({ ...booted, ending: 'idle' })
  const life = site.live('destroy')
  await until(() => site.log.filter(each => each === 'destroyed').length).toBeGreaterThan(2)
  expect(site.log).not.toContain('gone')
  site.end()
  await life
  expect(site.log.at(-1)).toBe('gone')
})

test('an operation ends when an owner before buried the machine', async () => {
  const site = new Site({ ...booted, ending: 'idle' })
  site.end()
  await site.live('destroy')
  await site.live('gone')
  expect(site.log.filter(each => each === 'gone')).toHaveLength(1)
})

test('a machine on hold is not destroyed, whatever became of its operation', async () => {
  const site = new Site({ ...booted, idleBehavior: 'hold' })
  await expect(site.live('destroy')).rejects.toThrow(RetryLater)
  expect(site.log).not.toContain('destroyed')
})

test('a refusal of the cloud to end a machine holds no slot, and is no end', async () => {
  const site = new Site({ ...booted, ending: 'idle' })
  site.onDestroy = async () => {
    throw new CloudRefused('it is protected')
  }
  await expect(site.live('destroy')).rejects.toThrow('it is protected')
  expect(site.events.map(([, text]) => text)).toContain('Asked the cloud to end i-1: idle')
  expect(site.log).not.toContain('gone')
})

test('a creation ends without a call when another record has its machine', async () => {
  const site = new Site()
  site.isTaken = true
  await site.live()
  expect(site.log).not.toContain('destroyed')
  expect(site.log.at(-1)).toBe('gone')
})

test('a channel that breaks amid a start is made again, and the run is the same', async () => {
  const site = new Site({ ...booted, container })
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

test('the plan of a machine that cannot be opened ends nothing', async () => {
  const kind = machineKindOf({} as MachineParts, { longestRequestMs: 1 })
  const work = kind.begin({ claim: { record: { token: 't' } }, name: 'm', op: 1 } as never)
  await expect(work.isComplete()).rejects.toThrow('sealing.keyFiles')
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
  const site = new Site({ ...booted, container: { ...container, run: 100 } })
  site.hasBooted = false
  const life = site.live('serve')
  await until(() => site.log).toContain('started 100')
  await end(site, life)
})
