/** The life of a machine with its keeper. `testing/site.ts` plays Redis, the cloud and the runner. */
import { expect, test } from 'vitest'
import { RetryLater } from '../base/errors.ts'
import { AtQuota, CloudRefused, IntentOver, RateLimited, Unanswered } from '../clouds/errors.ts'
import { machineKindOf } from './kind.ts'
import type { MachineParts } from './shape.ts'
import { booted, container, end, ended, until } from './testing/life.ts'
import { Site } from './testing/site.ts'

test('a machine is created, runs its container, and ends when it is to', async () => {
  const site = new Site({ containers: [container] })
  const life = site.live()
  await until(() => site.log).toContain('started 100')
  site.say(1, { kind: 'running', atMs: 1 })
  site.say(2, { kind: 'output', atMs: 1, stream: 'stdout', base64: 'aGk=' })
  site.say(3, { kind: 'output', atMs: 1, stream: 'stdout', base64: 'aGk=' })
  site.say(4, ended)
  await until(() => site.log).toContain('acknowledged 4')
  expect(site.told).toEqual([
    { what: 'running', atMs: 1, gatewayAddress: '', gatewayPin: '' },
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
  const site = new Site({ containers: [container] })
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

test('the plan of a machine that cannot be opened ends nothing', async () => {
  const kind = machineKindOf({} as MachineParts, { longestRequestMs: 1 })
  const work = kind.begin({ claim: { record: { token: 't' } }, name: 'm', op: 1 } as never)
  await expect(work.isComplete()).rejects.toThrow('sealing.keyFiles')
})
