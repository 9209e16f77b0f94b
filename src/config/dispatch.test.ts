import { describe, expect, it } from 'vitest'
import { parseGoDuration, parseGoSize } from './go-values.ts'
import { schemaProblems } from './problems.ts'
import { type Config, configSchema } from './schema.ts'

const least = { clusterId: 'zzzzz', tokenFile: 'token', Containers: { DispatchPrivateKey: 'key' } }
const ec2 = {
  ...{ Region: 'us-east-1', SubnetID: 'subnet-0123456789abcdef0', SecurityGroupIDs: ['sg-0123456789abcdef0'] },
}
const parse = ({ CloudVMs, ...dispatch }: { readonly CloudVMs?: object }) =>
  configSchema.safeParse({
    run: ['dispatch'],
    dispatch: { ...least, CloudVMs: { DriverParameters: ec2, ...CloudVMs }, ...dispatch },
  })
const dispatchOf = (dispatch: {
  readonly CloudVMs?: object
  readonly InstanceTypes?: object
  readonly active?: object
  readonly ended?: object
}): NonNullable<Config['dispatch']> => {
  const { data, error } = parse(dispatch)
  if (!data) throw error
  return data.dispatch!
}
const problemsOf = (dispatch: object) => {
  const { error } = parse(dispatch)
  return error ? schemaProblems(error) : []
}

describe('parseGoDuration', () => {
  it.each([
    ['0', 0],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['2h0m0.25s', 7_200_250],
    ['1500us', 2],
  ])('reads %s as %i ms', (text, ms) => {
    expect(parseGoDuration(text)).toBe(ms)
  })

  it.each(['', '10', '1d', 's', '-1s', '+1s', '1 s', '1e3s', '1m 30s', '1s1', `${'1'.repeat(64)}s`])(
    'refuses %j',
    text => {
      expect(parseGoDuration(text)).toBeUndefined()
    },
  )
})

describe('parseGoSize', () => {
  it.each([
    ['0', 0],
    ['128', 128],
    ['1K', 1000],
    ['1KiB', 1024],
    ['550MiB', 550 * 1024 ** 2],
    ['16GB', 16e9],
    ['1.5Gi', 1.5 * 1024 ** 3],
    ['2 GiB', 2 * 1024 ** 3],
    ['12B', 12],
  ])('reads %s as %i bytes', (text, bytes) => {
    expect(parseGoSize(text)).toBe(bytes)
  })

  it.each(['', 'GiB', '-1GiB', '1kB', '1GiBB', '1 G B', '9EiB', '1m'])('refuses %j', text => {
    expect(parseGoSize(text)).toBeUndefined()
  })
})

describe('the block dispatch', () => {
  it('is missing by default', () => {
    expect(configSchema.parse({}).dispatch).toBeUndefined()
  })

  it("has Arvados' defaults when it says nothing", () => {
    const { CloudVMs, Containers } = dispatchOf({})
    expect(CloudVMs).toEqual({
      ...{ Enable: true, Driver: 'ec2', DriverParameters: ec2, ImageID: '', InstanceInitCommand: '', SSHPort: 22 },
      ...{ BootProbeCommand: 'systemctl is-system-running', DeployRunnerBinary: '/proc/self/exe' },
      ...{ DeployRunnerDirectory: '/var/lib/skylab/bin', DeployPublicKey: true, ResourceTags: {} },
      ...{ TagKeyPrefix: 'Arvados', TagSecret: 'plain', PollInterval: 10_000, ProbeInterval: 10_000 },
      ...{ MaxProbesPerSecond: 10, SyncInterval: 60_000, TimeoutIdle: 60_000, TimeoutBooting: 600_000 },
      ...{ TimeoutProbe: 600_000, TimeoutShutdown: 10_000, TimeoutSignal: 5000, TimeoutTERM: 120_000 },
      ...{ TimeoutStaleRunLock: 5000, MaxCloudOpsPerSecond: 10, MaxConcurrentInstanceCreateOps: 1 },
      ...{ MaxInstances: 64, MaxRunningContainersPerInstance: 1, InitialQuotaEstimate: 0, SupervisorFraction: 0.5 },
    })
    expect(Containers).toEqual({
      ...{ DispatchPrivateKey: 'key', RuntimeEngine: 'docker', MaximumPriceFactor: 1.5, MaxDispatchAttempts: 10 },
      ...{ ReserveExtraRAM: 550 * 1024 ** 2, ShellAccess: { Admin: true, User: false } },
    })
  })

  it('holds of what waits or runs as much as the Redis of k8s/components has beside what has ended', () => {
    expect(dispatchOf({}).active).toEqual({ bytes: 64 * 1024 ** 2 })
    expect(dispatchOf({ active: { bytes: '16MiB' } }).active.bytes).toBe(16 * 1024 ** 2)
  })

  it('keeps of what has ended as much as the Redis of k8s/components holds', () => {
    expect(dispatchOf({}).ended).toEqual({ keepSeconds: 604_800, containers: 10_000, bytes: 128 * 1024 ** 2 })
    expect(dispatchOf({ ended: { bytes: '1GiB' } }).ended.bytes).toBe(1024 ** 3)
  })

  it("takes a type of machine with Arvados' keys", () => {
    const types = { small: { VCPUs: 2, RAM: '8GiB', Price: 0.1, GPU: { DeviceCount: 1, VRAM: '8MiB' } } }
    expect(dispatchOf({ InstanceTypes: types }).InstanceTypes.small).toMatchObject({
      ...{ ProviderType: '', VCPUs: 2, RAM: 8 * 1024 ** 3, IncludedScratch: 0, AddedScratch: 0 },
      ...{ Price: 0.1, Preemptible: false, GPU: { DeviceCount: 1, VRAM: 8 * 1024 ** 2 } },
    })
  })

  it.each([
    [{ clusterId: 'ZZZZZ' }, 'dispatch.clusterId: not five small letters and digits'],
    [{ tokenFile: undefined }, 'dispatch.tokenFile: is required'],
    [{ Containers: {} }, 'dispatch.Containers.DispatchPrivateKey: is required'],
    [{ CloudVMs: { PollInterval: '10' } }, 'dispatch.CloudVMs.PollInterval: not a time with its unit, such as 1m30s'],
    [{ CloudVMs: { PollInterval: 10 } }, 'dispatch.CloudVMs.PollInterval: not a time with its unit, such as 1m30s'],
    [{ CloudVMs: { PollInterval: 0 } }, 'dispatch.CloudVMs.PollInterval: must be at least 1ms'],
    [{ CloudVMs: { TimeoutProbe: '501h' } }, 'dispatch.CloudVMs.TimeoutProbe: is longer than 500h'],
    [{ CloudVMs: { SSHPort: '65536' } }, 'dispatch.CloudVMs.SSHPort: not a port'],
    [
      { CloudVMs: { MaxRunningContainersPerInstance: 101 } },
      'dispatch.CloudVMs.MaxRunningContainersPerInstance: Too big: expected number to be <=10',
    ],
    [{ CloudVMs: { Azure: 1 } }, 'dispatch.CloudVMs.Azure: unknown key'],
    [{ CloudVMs: { ResourceTags: { 'a\nb': 'c' } } }, 'dispatch.CloudVMs.ResourceTags.a\nb: not a permitted name'],
    [
      { Containers: { DispatchPrivateKey: 'key', ReserveExtraRAM: 'much' } },
      'dispatch.Containers.ReserveExtraRAM: not a size, such as 550MiB, or bytes',
    ],
    [{ InstanceTypes: { 'a b': { VCPUs: 1, RAM: 1, Price: 1 } } }, 'dispatch.InstanceTypes.a b: not a permitted name'],
    [{ InstanceTypes: { a: { VCPUs: 1, Price: 1 } } }, 'dispatch.InstanceTypes.a.RAM: is required'],
    [{ InstanceTypes: { a: { VCPUs: 1, RAM: 1, Price: 1, Cost: 1 } } }, 'dispatch.InstanceTypes.a.Cost: unknown key'],
    [{ active: { bytes: '15MiB' } }, 'dispatch.active.bytes: must be at least 16MiB'],
    [{ active: { mostBytes: 1 } }, 'dispatch.active.mostBytes: unknown key'],
    [{ ended: { bytes: '1MiB' } }, 'dispatch.ended.bytes: must be at least 16MiB'],
    [{ ended: { containers: 1 } }, expect.stringMatching(/^dispatch\.ended\.containers: .*100/)],
    [{ ended: { keepSeconds: 0.5 } }, expect.stringMatching(/^dispatch\.ended\.keepSeconds: /)],
    [{ ended: { days: 7 } }, 'dispatch.ended.days: unknown key'],
    [{ tenants: { a: { maxInstances: -1 } } }, expect.stringMatching(/^dispatch\.tenants\.a\.maxInstances: /)],
    [
      { CloudVMs: { DriverParameters: { ...ec2, Region: 'mars' } } },
      'dispatch.CloudVMs.DriverParameters.Region: not a region, such as us-east-1',
    ],
    [
      { CloudVMs: { DriverParameters: { ...ec2, Colour: 'red' } } },
      'dispatch.CloudVMs.DriverParameters.Colour: unknown key',
    ],
    [
      { CloudVMs: { DriverParameters: { ...ec2, AccessKeyID: 'A'.repeat(20) } } },
      'dispatch.CloudVMs.DriverParameters: has AccessKeyID without its secret',
    ],
    [{ CloudVMs: { Driver: 'azure' } }, expect.stringMatching(/^dispatch\.CloudVMs\.Driver: /)],
    [
      { CloudVMs: { Driver: 'loopback', DriverParameters: {} } },
      'dispatch.CloudVMs.DriverParameters.Directory: is required',
    ],
    [
      { CloudVMs: { Driver: 'loopback', DriverParameters: { Directory: '/tmp/x', Region: 'a' } } },
      'dispatch.CloudVMs.DriverParameters.Region: unknown key',
    ],
  ])('has a problem when it is %j', (dispatch, problem) => {
    expect(problemsOf(dispatch)).toEqual([problem])
  })

  it.each([
    [{ url: 'http://zzzzz.example.org' }, 'url: must be https, or http on a loopback address'],
    [{ url: 'https://me:secret@zzzzz.example.org' }, 'url: must be https'],
    [{ url: 'zzzzz' }, 'url: must be https'],
    [{ tokenFile: undefined }, 'tokenFile: is required'],
    [{ images: { busybox: 'busybox' } }, 'images.busybox: not a permitted name'],
    [{ images: { [`${'0'.repeat(32)}+1`]: '-v' } }, 'images.00000000000000000000000000000000+1: is not the name'],
    [{ maxWaiting: 0 }, 'maxWaiting: '],
    [{ unsupported: 'drop' }, 'unsupported: '],
    [{ StaleLockTimeout: '1' }, 'StaleLockTimeout: '],
    [{ token: 'x' }, 'token: unknown key'],
  ])('has a problem when the queue of Arvados is %j', (more, problem) => {
    const arvados = { url: 'https://zzzzz.example.org', tokenFile: 'arvados', ...more }
    const [first = ''] = problemsOf({ queue: { arvados } })
    expect(first.slice(0, `dispatch.queue.arvados.${problem}`.length)).toBe(`dispatch.queue.arvados.${problem}`)
  })

  it('idles not at all when TimeoutIdle is 0', () => {
    expect(dispatchOf({ CloudVMs: { TimeoutIdle: '0s' } }).CloudVMs.TimeoutIdle).toBe(0)
  })
})
