import { describe, expect, it } from 'vitest'
import { dispatch } from '../config/dispatch.ts'
import { rulesOf, typesOf } from './configured.ts'

const config = dispatch.parse({
  ...{ clusterId: 'zzzzz', tokenFile: 'token', Containers: { DispatchPrivateKey: 'key' } },
  CloudVMs: {
    ...{ Driver: 'loopback', DriverParameters: { Directory: '/nowhere' } },
    MaxInstances: 0,
    MaxConcurrentInstanceCreateOps: 0,
    TimeoutIdle: '2m',
  },
  InstanceTypes: {
    small: { VCPUs: 2, RAM: '8GiB', IncludedScratch: '1GB', Price: 0.1 },
    'm6i.large.spot': {
      ...{ ProviderType: 'm6i.large', VCPUs: 2, RAM: 1, IncludedScratch: '1GB', AddedScratch: '2GB', Price: 0.1 },
      ...{ Preemptible: true, GPU: { DeviceCount: 3 } },
    },
  },
  tenants: { physics: { maxInstances: 3 }, biology: {} },
})

describe('typesOf', () => {
  it('gives a type the name of its key where it has no other, and its disks together', () => {
    const types = typesOf(config, type => `of ${type}`)
    expect(types.get('small')).toEqual({
      ...{ name: 'small', providerType: 'small', group: 'of small', vcpus: 2, ramBytes: 8 * 1024 ** 3, gpus: 0 },
      ...{ scratchBytes: 1e9, addedScratchBytes: 0, preemptible: false, price: 0.1 },
    })
    expect(types.get('m6i.large.spot')).toMatchObject({
      ...{ providerType: 'm6i.large', group: 'of m6i.large', scratchBytes: 3e9, addedScratchBytes: 2e9 },
      ...{ preemptible: true, gpus: 3 },
    })
  })
})

describe('rulesOf', () => {
  it('lets as many containers share a machine as it may bear, where Arvados has no limit', () => {
    const most = (MaxRunningContainersPerInstance: number) =>
      rulesOf({ ...config, CloudVMs: { ...config.CloudVMs, MaxRunningContainersPerInstance } }).maxContainersPerMachine
    expect([0, 1, 4].map(most)).toEqual([10, 1, 4])
  })

  it('takes 0 for no limit, as Arvados does', () => {
    expect(rulesOf(config)).toEqual({
      ...{ maxInstances: Number.POSITIVE_INFINITY, maxConcurrentInstanceCreateOps: Number.POSITIVE_INFINITY },
      ...{ maximumPriceFactor: 1.5, maxDispatchAttempts: 10, supervisorFraction: 0.5, maxContainersPerMachine: 1 },
      ...{ reserveExtraRamBytes: 550 * 1024 ** 2, timeoutIdleMs: 120_000, timeoutBootingMs: 600_000 },
      timeoutProbeMs: 600_000,
      tenants: new Map([
        ['physics', { maxInstances: 3 }],
        ['biology', {}],
      ]),
    })
  })
})
