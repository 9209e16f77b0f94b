import { execFileSync } from 'node:child_process'
import { expect, it, test } from 'vitest'
import { type Ec2Parameters, ec2Parameters } from '../../config/dispatch-ec2.ts'
import type { Intent } from '../driver.ts'
import { CloudRefused } from '../errors.ts'
import { instanceOf, isOurs, quotaGroupOf, runRequest, tokenOf } from './requests.ts'
import { userData } from './user-data.ts'

const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtleWtleWtleWtleWtleWtleWtleWtleWtleWtleWtl dispatch@example'
const intent: Intent = {
  token: 't-1',
  providerType: 'm5.large',
  image: 'ami-12345678',
  tags: { InstanceSetID: 's', Intent: 'i' },
  initCommand: 'true',
  publicKey: key,
  addedScratchBytes: 0,
  preemptible: false,
}
const parameters = (over: object = {}): Ec2Parameters =>
  ec2Parameters.parse({ Region: 'us-east-1', SubnetID: 'subnet-12345678', SecurityGroupIDs: ['sg-12345678'], ...over })

test('tokenOf is the same for the same intent and subnet, and for nothing else', () => {
  const token = tokenOf(intent, 'subnet-a', 'machine')
  expect(token).toMatch(/^[0-9a-f]{64}$/)
  expect(tokenOf({ ...intent, image: 'other' }, 'subnet-a', 'machine')).toBe(token)
  const others = [
    tokenOf(intent, 'subnet-b', 'machine'),
    tokenOf(intent, 'subnet-a', 'interface'),
    tokenOf({ ...intent, token: 't-2' }, 'subnet-a', 'machine'),
  ]
  expect(new Set([token, ...others]).size).toBe(4)
})

test('runRequest asks for one machine with its tags, which ends when it turns itself off', () => {
  const request = runRequest(intent, 'subnet-a', undefined, parameters())
  expect(request).toMatchObject({
    MinCount: 1,
    MaxCount: 1,
    NetworkInterfaces: [{ SubnetId: 'subnet-a', Groups: ['sg-12345678'], AssociatePublicIpAddress: false }],
    InstanceInitiatedShutdownBehavior: 'terminate',
    MetadataOptions: { HttpTokens: 'required', HttpPutResponseHopLimit: 1 },
  })
  expect(request.TagSpecifications?.[0]?.Tags).toEqual([
    { Key: 'InstanceSetID', Value: 's' },
    { Key: 'Intent', Value: 'i' },
  ])
  expect(request).not.toHaveProperty('InstanceMarketOptions')
  expect(request).not.toHaveProperty('BlockDeviceMappings')
})

test('runRequest adds scratch space in whole GiB, spot, a profile and an interface where they are wanted', () => {
  const wanted = { ...intent, addedScratchBytes: 2 ** 31 + 1, preemptible: true }
  const request = runRequest(wanted, 'subnet-a', 'eni-1', parameters({ IAMInstanceProfile: 'compute' }))
  expect(request).toMatchObject({
    NetworkInterfaces: [{ DeviceIndex: 0, NetworkInterfaceId: 'eni-1' }],
    InstanceMarketOptions: { MarketType: 'spot' },
    IamInstanceProfile: { Name: 'compute' },
    BlockDeviceMappings: [{ Ebs: { VolumeSize: 3, VolumeType: 'gp2', DeleteOnTermination: true } }],
  })
})

it.each([
  ['m5.large', false, 'standard'],
  ['c5.large', true, 'standard-spot'],
  ['g4dn.xlarge', false, 'g'],
  ['vt1.3xlarge', false, 'g'],
  ['p4d.24xlarge', false, 'p'],
  ['inf2.xlarge', false, 'inf'],
])('quotaGroupOf %s, on spot: %s, is %s', (type, preemptible, group) => {
  expect(quotaGroupOf(type, preemptible, parameters().InstanceTypeQuotaGroups)).toBe(group)
})

test('isOurs believes only a tag that is there with one of our values', () => {
  const sets = { tag: 'InstanceSetID', values: ['now', 'before'] }
  expect(isOurs({ InstanceSetID: 'before' }, sets)).toBe(true)
  for (const tags of [{}, { InstanceSetID: 'no' }, { InstanceSetID: '' }, { instancesetid: 'now' }])
    expect(isOurs(tags, sets)).toBe(false)
})

it.each([
  ['pending', 'pending'],
  ['running', 'running'],
  ['shutting-down', 'stopping'],
  ['stopped', 'stopping'],
  ['terminated', 'gone'],
  ['a-state-of-tomorrow', 'stopping'],
] as const)('instanceOf says of %s: %s', (name, state) => {
  const from = {
    InstanceId: 'i-1',
    PrivateIpAddress: '10.0.0.1',
    PublicIpAddress: '203.0.113.1',
    State: { Name: name },
  }
  expect(instanceOf(from as never, 'private', 22)).toMatchObject({ state, address: '10.0.0.1:22' })
  expect(instanceOf(from as never, 'public', 2222).address).toBe('203.0.113.1:2222')
})

test('userData is a script with the command first and the key last, which a shell accepts', () => {
  const script = Buffer.from(userData("printf '%s' x >/run/secret", key, 'debian'), 'base64').toString()
  expect(script.indexOf('/run/secret')).toBeLessThan(script.indexOf('authorized_keys'))
  execFileSync('sh', ['-n'], { input: script })
})

it.each(['not a key', `${key}\ncommand`, "ssh-ed25519 AAAA' ; reboot '"])('userData refuses the key %j', publicKey => {
  expect(() => userData('true', publicKey, 'debian')).toThrow(CloudRefused)
})

test('userData refuses more than EC2 takes, without the text in its words', () => {
  const error = (() => {
    try {
      return userData(`echo secret ${'x'.repeat(17_000)}`, key, 'debian')
    } catch (thrown) {
      return thrown as Error
    }
  })() as Error
  expect(error.message).toMatch(/^the script for machines has \d+ bytes; EC2 takes 16384$/)
})
