import { describe, expect, it } from 'vitest'
import { configSchema } from '../config/schema.ts'
import { configWarnings, crossProblems } from './checks.ts'

const type = { VCPUs: 2, RAM: '8GiB', Price: 0.1 }
const least = { clusterId: 'zzzzz', tokenFile: 'token', managementTokenFile: 'management' }
const ec2 = {
  ...{ Region: 'us-east-1', SubnetID: 'subnet-0123456789abcdef0', SecurityGroupIDs: ['sg-0123456789abcdef0'] },
}
const cloudVMs = { ImageID: 'ami-1', TagSecret: 'hmac', DriverParameters: ec2 }
const arvados = (more: object = {}) => ({
  queue: {
    arvados: {
      ...{
        url: 'https://zzzzz.example.org',
        tokenFile: 'arvados',
        images: { [`${'0'.repeat(32)}+1`]: 'busybox' },
        ...more,
      },
    },
  },
})
const identity = { provider: 'static', static: { file: 'tokens.yaml' } }

function parsed(dispatch: object, vms: object = {}, more: object = {}) {
  return configSchema.parse({
    ...{ run: ['dispatch'], identity },
    dispatch: {
      ...{ ...least, InstanceTypes: { small: type }, Containers: { DispatchPrivateKey: 'key' } },
      ...{ CloudVMs: { ...cloudVMs, ...vms }, ...dispatch },
    },
    ...more,
  })
}

describe('crossProblems of dispatch', () => {
  it('has none when all is there', () => {
    expect(crossProblems(parsed({}))).toEqual([])
    expect(configWarnings(parsed({}))).toEqual([])
    expect(crossProblems(parsed(arvados()))).toEqual([])
    expect(configWarnings(parsed(arvados()))).toEqual([])
  })

  it('has problems of amounts when nobody is in a tenant, or the bills are in another database', () => {
    const billing = { driver: 'bigquery', bigquery: { projectId: 'p', dataset: 'd' } }
    expect(crossProblems(parsed({ billAmounts: true }, {}, { tenants: { billing } }))).toEqual([
      'dispatch.billAmounts: needs dispatch.tenantsKeyPrefix: without it no container is of a tenant',
      'dispatch.billAmounts: needs tenants.billing with driver: postgres, not bigquery',
    ])
    const postgres = { host: 'db', database: 'bills', user: 'skylab' }
    const whole = { tenants: { billing: { driver: 'postgres', postgres } } }
    expect(crossProblems(parsed({ billAmounts: true, tenantsKeyPrefix: 't' }, {}, whole))).toEqual([])
  })

  it('has a problem when the block is missing', () => {
    expect(crossProblems(configSchema.parse({ run: ['dispatch'], identity }))).toEqual([
      'dispatch: is required by a process that runs dispatch',
    ])
  })

  it('has a problem when callers cannot be known', () => {
    expect(crossProblems(parsed({}, {}, { identity: { provider: 'oidc' } }))).toEqual([
      'identity.oidc: is required by the provider oidc',
    ])
  })

  it.each([
    [{ InstanceTypes: {} }, {}, 'dispatch.InstanceTypes: no type of machine, so no container would ever run'],
    [{}, { Enable: false }, 'dispatch.CloudVMs.Enable: is false, and run names dispatch'],
    [
      { billAmounts: true, tenantsKeyPrefix: 't' },
      {},
      'dispatch.billAmounts: needs tenants.billing with driver: postgres',
    ],
    [{}, { ImageID: '' }, 'dispatch.CloudVMs.ImageID: is required by the driver ec2'],
    [
      {},
      { ProbeInterval: '11m', TimeoutBooting: '20m' },
      'dispatch.CloudVMs.ProbeInterval: is not less than dispatch.CloudVMs.TimeoutProbe, so every machine would be taken for dead',
    ],
    [
      {},
      { TimeoutBooting: '10s' },
      'dispatch.CloudVMs.ProbeInterval: is not less than dispatch.CloudVMs.TimeoutBooting, so no machine would ever be ready',
    ],
    [
      {},
      { TimeoutSignal: '2m' },
      'dispatch.CloudVMs.TimeoutSignal: is not less than dispatch.CloudVMs.TimeoutTERM, so no container would get a second SIGTERM',
    ],
    [
      {},
      { TagKeyPrefix: 'Our', ResourceTags: { ArvadosIntent: 'a', OurIntent: 'b' } },
      'dispatch.CloudVMs.ResourceTags.OurIntent: is a tag of Skylab’s own',
    ],
    [
      {},
      { ResourceTags: { Billing: 'a', 'ArvadosBilling-fund': 'b' } },
      'dispatch.CloudVMs.ResourceTags.ArvadosBilling-fund: is a tag of Skylab’s own',
    ],
    [
      { billingTags: ['fund', `a${'b'.repeat(62)}`] },
      { TagKeyPrefix: 'O'.repeat(60) },
      `dispatch.billingTags.1: is more than 128 characters with ${'O'.repeat(60)}Billing- before it`,
    ],
    [{ tokenFile: 'key' }, {}, 'dispatch.Containers.DispatchPrivateKey: is the file of dispatch.tokenFile too'],
    [{ previousTokenFiles: ['token'] }, {}, 'dispatch.previousTokenFiles.0: is the file of dispatch.tokenFile too'],
    [arvados({ images: {} }), {}, 'dispatch.queue.arvados.images: is empty, so no container of Arvados could be run'],
    [arvados({ tokenFile: 'token' }), {}, 'dispatch.queue.arvados.tokenFile: is the file of dispatch.tokenFile too'],
  ])('has a problem when the block is %j and machines are %j', (dispatch, vms, problem) => {
    expect(crossProblems(parsed(dispatch, vms))).toEqual([problem])
  })

  it('has a problem when a file seals plans too', () => {
    expect(crossProblems(parsed({}, {}, { sealing: { keyFiles: ['token'] } }))).toEqual([
      'dispatch.tokenFile: is also a file of sealing.keyFiles',
    ])
  })
})

describe('configWarnings of dispatch', () => {
  it.each([
    [{ managementTokenFile: undefined }, {}, /^dispatch\.managementTokenFile: is missing/],
    [
      {},
      { Driver: 'loopback', DriverParameters: { Directory: '/tmp/x' } },
      /^dispatch\.CloudVMs\.Driver: loopback runs what users send/,
    ],
    [
      {},
      { DriverParameters: { ...ec2, AccessKeyID: 'A'.repeat(20), SecretAccessKey: 'not-a-secret' } },
      /^dispatch\.CloudVMs\.DriverParameters\.SecretAccessKey: is a secret in the configuration/,
    ],
    [{}, { DeployPublicKey: false }, /^dispatch\.CloudVMs\.DeployPublicKey: has no effect/],
    [{ tenants: { physics: { maxInstances: 2 } } }, {}, /^dispatch\.tenants\.physics: has no effect without/],
    [{ billingTags: ['fund'] }, {}, /^dispatch\.billingTags: has no effect without/],
    [{}, { TagSecret: 'plain' }, /^dispatch\.CloudVMs\.TagSecret: is plain/],
    [
      { Containers: { DispatchPrivateKey: 'key', RuntimeEngine: 'process' } },
      {},
      /^dispatch\.Containers\.RuntimeEngine: process runs commands on machines without an image/,
    ],
    [{ InstanceTypes: { free: { ...type, Price: 0 } } }, {}, /^dispatch\.InstanceTypes\.free\.Price: is 0/],
  ])('has one when the block is %j and machines are %j', (dispatch, vms, warning) => {
    expect(configWarnings(parsed(dispatch, vms))).toEqual([expect.stringMatching(warning)])
  })

  it('has one when images of Arvados are named and machines run none', () => {
    const process = { Containers: { DispatchPrivateKey: 'key', RuntimeEngine: 'process' } }
    expect(configWarnings(parsed({ ...arvados(), ...process }))).toContain(
      'dispatch.queue.arvados.images: has no effect, since the engine process runs no images',
    )
  })

  it.each([
    [{}, {}, 'dispatch.tenantsKeyPrefix: has no effect, since dispatch.tenants names no LNamespace'],
    [
      { physics: {} },
      {},
      'tenants.rest.usernameTemplate: is missing, so nobody is known to be in an LNamespace of dispatch.tenants',
    ],
    [{ physics: {} }, { usernameTemplate: 'oidc:{username}' }, undefined],
    [{ physics: {} }, { groupTemplate: 'oidc:{group}' }, undefined],
  ])('has one of members when tenants are %j and names %j', (tenants, rest, warning) => {
    const config = parsed({ tenants, tenantsKeyPrefix: 'skylab-tenants' }, {}, { tenants: { rest } })
    expect(configWarnings(config)).toEqual(warning === undefined ? [] : [warning])
  })

  it('has one when the block is there for nothing', () => {
    const others = configWarnings(parsed({}, {}, { run: ['notebooks'] }))
    expect(others).toContain('dispatch: has no effect, since run does not name dispatch')
  })
})
