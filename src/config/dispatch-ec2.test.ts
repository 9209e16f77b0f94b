import { expect, it, test } from 'vitest'
import { ec2Parameters } from './dispatch-ec2.ts'

const least = { Region: 'eu-central-1', SubnetID: 'subnet-0123abcd', SecurityGroupIDs: ['sg-0123abcd'] }

test('ec2Parameters takes a block of Arvados', () => {
  const parsed = ec2Parameters.parse({
    ...{ AccessKeyID: 'AKIAIOSFODNN7EXAMPLE', SecretAccessKey: 'secret', Region: 'us-east-1', EBSVolumeType: 'gp2' },
    ...{
      SecurityGroupIDs: { 'sg-0123abcd': {}, 'sg-1123abcd': {} },
      SubnetID: 'subnet-0123abcd',
      AdminUsername: 'debian',
    },
  })
  expect(parsed.SecurityGroupIDs).toEqual(['sg-0123abcd', 'sg-1123abcd'])
  expect(parsed.SubnetID).toEqual(['subnet-0123abcd'])
  expect(parsed).toMatchObject({ AddressKind: 'private', SeparateNIC: false })
})

it.each([
  ['no subnet', { SubnetID: [] }],
  ['an id of something else', { SubnetID: 'sg-0123abcd' }],
  ['a region that is a host', { Region: 'evil.example' }],
  ['an access key without its secret', { AccessKeyID: 'AKIAIOSFODNN7EXAMPLE' }],
  ['a secret without an access key', { SecretAccessKeyFile: '/secret' }],
  ['two secrets', { AccessKeyID: 'AKIAIOSFODNN7EXAMPLE', SecretAccessKey: 'a', SecretAccessKeyFile: '/secret' }],
  ['an endpoint in the clear', { Endpoint: 'http://ec2.example.org' }],
  ['a user with a quote', { AdminUsername: "a'b" }],
  ['an interface before a public address', { SeparateNIC: true, AddressKind: 'public' }],
  ['an unknown key', { Surprise: 1 }],
])('ec2Parameters refuses %s', (_, over) => {
  expect(ec2Parameters.safeParse({ ...least, ...over }).success).toBe(false)
})

it.each(['SpotPriceUpdateInterval', 'EBSPrice'])('ec2Parameters says that %s is not supported', name => {
  const { error } = ec2Parameters.safeParse({ ...least, [name]: '24h' })
  expect(error?.issues[0]?.message).toMatch(/^is not supported: /)
})

test('ec2Parameters takes an endpoint of this machine in the clear', () => {
  expect(ec2Parameters.parse({ ...least, Endpoint: 'http://127.0.0.1:1' }).Endpoint).toBe('http://127.0.0.1:1')
})
