import { expect, it, test } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { systemClock } from '../../base/clock.ts'
import { ec2Parameters } from '../../config/dispatch-ec2.ts'
import type { CloudCall, Driver, Intent } from '../driver.ts'
import { AtQuota, CloudRefused, IntentOver, NoCapacity, RateLimited, Unanswered } from '../errors.ts'
import { createEc2Driver } from './driver.ts'
import { type Answer, done, listed, made, type ScriptedEc2, scriptedEc2, subnets } from './testing/scripted-ec2.ts'

const [first, second] = ['subnet-0000000a', 'subnet-0000000b'] as const
const secret = 'the-secret-of-the-machine'
const intent: Intent = {
  token: 't-1',
  providerType: 'm5.large',
  image: 'ami-12345678',
  tags: { InstanceSetID: 'ours' },
  initCommand: `echo ${secret} >/run/secret`,
  publicKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtleWtleWtleWtleWtleWtleWtleWtleWtleWtleWtl',
  addedScratchBytes: 0,
  preemptible: false,
}
const call: CloudCall = { signal: new AbortController().signal, agent: 'replica-1/7/2' }
const none: Answer = { code: 'InvalidInstanceID.NotFound' }

async function site(answers: Readonly<Record<string, readonly Answer[]>>, timeoutMs = 5_000) {
  const ec2 = await scriptedEc2(answers)
  const parameters = ec2Parameters.parse({
    ...{ Region: 'us-east-1', SubnetID: [first, second], SecurityGroupIDs: 'sg-12345678', Endpoint: ec2.url },
    ...{ AccessKeyID: 'AKIAIOSFODNN7EXAMPLE', SecretAccessKey: 'example' },
  })
  const sets = { tag: 'InstanceSetID', values: ['ours', 'former'] }
  const clock = new ManualClock({ runs: true })
  return { ec2, clock, driver: createEc2Driver({ parameters, sets, clock, timeoutMs }) }
}

const failure = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => Promise.reject(new Error('it succeeded')),
    error => error as Error,
  )
const subnetsOf = ({ requests }: ScriptedEc2) =>
  requests.map(({ parameters }) => parameters['NetworkInterface.1.SubnetId'] ?? '')

it.each([
  ['RequestLimitExceeded', 503, RateLimited],
  ['VcpuLimitExceeded', 400, AtQuota],
  ['MaxSpotInstanceCountExceeded', 400, AtQuota],
  ['IdempotentInstanceTerminated', 400, IntentOver],
  ['InternalError', 500, Unanswered],
  ['UnauthorizedOperation', 403, CloudRefused],
  ['InvalidAMIID.NotFound', 400, CloudRefused],
] as const)('create asks once, and throws what %s means', async (code, status, type) => {
  const { driver, ec2 } = await site({ RunInstances: [{ code, status }] })
  const error = await failure(driver.create(intent, [], call))
  expect(error).toBeInstanceOf(type)
  expect(ec2.actions).toEqual(['RunInstances'])
})

it.each(['cut', 'silent'] as const)('create knows nothing when the connection is %s', async answer => {
  const { driver, ec2 } = await site({ RunInstances: [answer] }, answer === 'silent' ? 100 : 5_000)
  const error = await failure(driver.create(intent, [], call))
  expect(error).toBeInstanceOf(Unanswered)
  expect(ec2.requests).toHaveLength(1)
  expect(`${error.message} ${JSON.stringify(error)} ${error.stack}`).not.toContain(secret)
})

test('create knows nothing when nobody listens', async () => {
  const parameters = ec2Parameters.parse({
    ...{ Region: 'us-east-1', SubnetID: first, SecurityGroupIDs: 'sg-12345678', Endpoint: 'http://127.0.0.1:1' },
    ...{ AccessKeyID: 'AKIAIOSFODNN7EXAMPLE', SecretAccessKey: 'example' },
  })
  const sets = { tag: 'InstanceSetID', values: ['ours'] }
  const driver = createEc2Driver({ parameters, sets, clock: systemClock })
  expect(await failure(driver.create(intent, [], call))).toBeInstanceOf(Unanswered)
})

test('create needs someone when the file of the secret is away', async () => {
  const parameters = ec2Parameters.parse({
    ...{ Region: 'us-east-1', SubnetID: first, SecurityGroupIDs: 'sg-12345678', Endpoint: 'http://127.0.0.1:1' },
    ...{ AccessKeyID: 'AKIAIOSFODNN7EXAMPLE', SecretAccessKeyFile: '/nowhere/secret' },
  })
  const sets = { tag: 'InstanceSetID', values: ['ours'] }
  const driver = createEc2Driver({ parameters, sets, clock: systemClock })
  const error = await failure(driver.create(intent, [], call))
  expect(error).toBeInstanceOf(CloudRefused)
  expect(error.message).toContain('/nowhere/secret')
})

test('create tries the next subnet when the first has no capacity, each with a token of its own', async () => {
  const { driver, ec2 } = await site({
    RunInstances: [{ code: 'InsufficientInstanceCapacity', status: 500 }, made('i-2')],
  })
  const noted: string[] = []
  const note = (place: string) => void noted.push(place)
  expect((await driver.create(intent, [], { ...call, note })).id).toBe('i-2')
  expect(subnetsOf(ec2)).toEqual([first, second])
  expect(noted).toEqual([first, second])
  const tokens = ec2.requests.map(({ parameters }) => parameters.ClientToken)
  expect(new Set(tokens).size).toBe(2)
})

test('create says what a subnet lacked when EC2 wants a slower pace before the next one', async () => {
  const dry = { code: 'InsufficientInstanceCapacity', status: 500 }
  const { driver, ec2 } = await site({ RunInstances: [dry, { code: 'RequestLimitExceeded', status: 503 }] })
  expect(await failure(driver.create(intent, [], call))).toBeInstanceOf(NoCapacity)
  expect(subnetsOf(ec2)).toEqual([first, second])
})

test('create has no capacity when no subnet has', async () => {
  const full = { code: 'InsufficientFreeAddressesInSubnet' }
  const { driver, ec2 } = await site({ RunInstances: [full] })
  expect(await failure(driver.create(intent, [], call))).toBeInstanceOf(NoCapacity)
  expect(subnetsOf(ec2)).toEqual([first, second])
})

test('create begins where the last attempt was, with the same token, and with the same request', async () => {
  const { driver, ec2 } = await site({
    RunInstances: [{ code: 'InsufficientInstanceCapacity', status: 500 }, 'cut', made('i-2')],
  })
  expect(await failure(driver.create(intent, [], call))).toBeInstanceOf(Unanswered)
  await driver.create({ ...intent, place: second }, [], call)
  expect(subnetsOf(ec2)).toEqual([first, second, second])
  expect(ec2.requests[2]?.parameters).toEqual(ec2.requests[1]?.parameters)
})

test('create does not ask before the place is noted', async () => {
  const { driver, ec2 } = await site({ RunInstances: [made('i-1')] })
  const fenced = new Error('fenced')
  const note = () => Promise.reject(fenced)
  await expect(driver.create(intent, [], { ...call, note })).rejects.toBe(fenced)
  expect(ec2.requests).toEqual([])
})

test('create finds the machine of its token when the parameters have changed since', async () => {
  const { driver, ec2 } = await site({
    RunInstances: [{ code: 'IdempotentParameterMismatch' }],
    DescribeInstances: [listed([]), listed([{ id: 'i-1' }]), listed([{ id: 'i-1', state: 'terminated' }])],
  })
  expect(await failure(driver.create(intent, [], call))).toBeInstanceOf(Unanswered)
  expect((await driver.create(intent, [], call)).id).toBe('i-1')
  expect(await failure(driver.create(intent, [], call))).toBeInstanceOf(IntentOver)
  const [run, look] = ec2.requests
  expect(look?.parameters).toMatchObject({
    'Filter.1.Name': 'client-token',
    'Filter.1.Value.1': run?.parameters.ClientToken,
  })
})

test('create refuses an intent without the tag of our set', async () => {
  const { driver, ec2 } = await site({ RunInstances: [made('i-1')] })
  expect(await failure(driver.create({ ...intent, tags: {} }, [], call))).toBeInstanceOf(CloudRefused)
  expect(ec2.requests).toEqual([])
})

test('each request names replica, operation and epoch', async () => {
  const { driver, ec2 } = await site({ DescribeInstances: [listed([])] })
  await driver.list({ ...call, agent: 'replica-1/7/2\r\nX-Evil: é' })
  expect(ec2.requests[0]?.agent).toMatch(/^skylab replica-1\/7\/2\?\?X-Evil: \? aws-sdk-js\//)
})

test('waits grow for creations and for other calls apart', async () => {
  const limited = { code: 'RequestLimitExceeded', status: 503 }
  const { driver, clock } = await site({
    RunInstances: [limited, limited, made('i-1'), limited],
    DescribeInstances: [limited],
  })
  const waitMs = async (work: Promise<unknown>) => ((await failure(work)) as RateLimited).untilMs - clock.wallMs()
  const create = () => driver.create(intent, [], call)
  expect(await waitMs(create())).toBeLessThanOrEqual(1_000)
  clock.advance(1_000)
  const longer = await waitMs(create())
  expect(longer).toBeGreaterThan(1_500)
  expect(longer).toBeLessThanOrEqual(2_500)
  expect(await waitMs(driver.list(call))).toBeLessThanOrEqual(1_000)
  clock.advance(2_500)
  await create()
  expect(await waitMs(create())).toBeLessThanOrEqual(1_000)
})

test('create asks nothing while EC2 wants a pause, and no pause grows by it', async () => {
  const { driver, ec2, clock } = await site({
    RunInstances: [{ code: 'RequestLimitExceeded', status: 503 }, made('i-1')],
  })
  const untilMs = async () => ((await failure(driver.create(intent, [], call))) as RateLimited).untilMs
  const first = await untilMs()
  clock.advance(500)
  // Two clocks are read for it, one after the other.
  expect(Math.abs((await untilMs()) - first)).toBeLessThan(100)
  expect(ec2.actions).toEqual(['RunInstances'])
  clock.advance(500)
  expect((await driver.create(intent, [], call)).id).toBe('i-1')
})

test('an answer of another kind ends the waits, and no answer does not', async () => {
  const limited = { code: 'RequestLimitExceeded', status: 503 }
  const { driver, clock } = await site({
    RunInstances: [limited, 'cut', limited, { code: 'VcpuLimitExceeded' }, limited],
  })
  const waitMs = async () => {
    const { untilMs } = (await failure(driver.create(intent, [], call))) as RateLimited
    const ms = untilMs - clock.wallMs()
    clock.advance(2_500)
    return ms
  }
  expect(await waitMs()).toBeLessThanOrEqual(1_000)
  await waitMs()
  expect(await waitMs()).toBeGreaterThan(1_500)
  await waitMs()
  expect(await waitMs()).toBeLessThanOrEqual(1_000)
})

const writes: readonly (readonly [string, (driver: Driver, how: CloudCall) => Promise<unknown>])[] = [
  ['create', (driver, how) => driver.create(intent, [], how)],
  ['destroy', (driver, how) => driver.destroy('i-1', how)],
  ['setTags', (driver, how) => driver.setTags('i-1', { Name: 'x' }, how)],
]

it.each(writes)(
  '%s checks the lease last before it changes something, and throws what the check throws',
  async (_, act) => {
    const { driver, ec2 } = await site({ DescribeInstances: [listed([{ id: 'i-1' }])], RunInstances: [made('i-1')] })
    const passed: string[] = []
    const expired = new Error('expired')
    const failpoint = (place: string) => void passed.push(place)
    const check = () => {
      passed.push('check')
      throw expired
    }
    await expect(act(driver, { ...call, failpoint, check })).rejects.toBe(expired)
    expect(passed).toEqual(['before-send', 'check'])
    expect(ec2.actions.filter(action => action !== 'DescribeInstances')).toEqual([])
  },
)

test('list reads all pages, and has each machine of our sets once', async () => {
  const foreign = { id: 'i-3', tags: { InstanceSetID: 'theirs' } }
  const former = { id: 'i-4', tags: { InstanceSetID: 'former' } }
  const { driver, ec2 } = await site({
    DescribeInstances: [listed([{ id: 'i-1' }, { id: 'i-2' }], 'next'), listed([{ id: 'i-2' }, foreign, former])],
  })
  expect((await driver.list(call)).map(({ id }) => id)).toEqual(['i-1', 'i-2', 'i-4'])
  expect(ec2.requests.map(({ parameters }) => parameters.NextToken)).toEqual([undefined, 'next'])
})

test('list is no list when one page fails', async () => {
  const { driver } = await site({ DescribeInstances: [listed([{ id: 'i-1' }], 'next'), 'cut'] })
  expect(await failure(driver.list(call))).toBeInstanceOf(Unanswered)
})

type Act = (driver: Driver, id: string) => Promise<void>
const acts: readonly (readonly [string, Act])[] = [
  ['destroy', (driver, id) => driver.destroy(id, call)],
  ['setTags', (driver, id) => driver.setTags(id, { Name: 'x' }, call)],
]

it.each(acts)('%s sends nothing when the tags, read right before, lack our set', async (_, act) => {
  for (const tags of [{}, { InstanceSetID: 'theirs' }, { Name: 'skylab' }]) {
    const { driver, ec2 } = await site({ DescribeInstances: [listed([{ id: 'i-1', tags }])] })
    const error = await failure(act(driver, 'i-1'))
    expect(error).toBeInstanceOf(CloudRefused)
    expect(ec2.actions).toEqual(['DescribeInstances'])
  }
})

it.each(acts)('%s sends nothing when the answer is about another machine', async (_, act) => {
  const { driver, ec2 } = await site({ DescribeInstances: [listed([{ id: 'i-2' }])] })
  await act(driver, 'i-1').catch(() => {})
  expect(ec2.actions).toEqual(['DescribeInstances'])
})

test('destroy asks for one end, and for none when the machine has ended', async () => {
  const ended = listed([{ id: 'i-1', state: 'terminated' }])
  const { driver, ec2 } = await site({
    DescribeInstances: [listed([{ id: 'i-1' }]), ended, none],
    TerminateInstances: [done('TerminateInstances')],
  })
  for (let count = 0; count < 3; count++) await driver.destroy('i-1', call)
  expect(ec2.actions.filter(action => action === 'TerminateInstances')).toHaveLength(1)
})

test('missing is true when EC2 has no such machine, and has our subnets', async () => {
  const { driver } = await site({ DescribeInstances: [none], DescribeSubnets: [subnets(first, second)] })
  expect(await driver.find('i-1', call)).toBe('unknown')
  expect(await driver.missing?.('i-1', call)).toBe(true)
})

test('missing is false when a machine of this id is there without our tag', async () => {
  const { driver } = await site({ DescribeInstances: [listed([{ id: 'i-1', tags: {} }])] })
  expect(await driver.find('i-1', call)).toBe('unknown')
  expect(await driver.missing?.('i-1', call)).toBe(false)
})

test('missing needs someone when the account lacks our subnets: it may be another one', async () => {
  const { driver } = await site({ DescribeInstances: [none], DescribeSubnets: [{ code: 'InvalidSubnetID.NotFound' }] })
  await expect(driver.missing?.('i-1', call)).rejects.toBeInstanceOf(CloudRefused)
})

test('missing is false when some of our subnets are not in the answer', async () => {
  const { driver } = await site({ DescribeInstances: [none], DescribeSubnets: [subnets(second)] })
  expect(await driver.missing?.('i-1', call)).toBe(false)
})

test('missing is an error when EC2 does not answer', async () => {
  const { driver } = await site({ DescribeInstances: ['cut'] })
  await expect(driver.missing?.('i-1', call)).rejects.toBeInstanceOf(Unanswered)
})
