/** The block `dispatch`: containers on machines of a cloud. Keys that begin with a capital are Arvados', with its forms and defaults. */
import { z } from 'zod'
import { billingKey } from './billing.ts'
import { arvadosQueue } from './dispatch-arvados.ts'
import { ec2Parameters } from './dispatch-ec2.ts'
import { goDuration, goSize } from './go-values.ts'
import { absolutePath } from './values.ts'

const count = (value: number) => z.number().int().positive().default(value)
const countOrZero = (value: number) => z.number().int().nonnegative().default(value)
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u

/** Containers that share a machine: what each of them runs, 768 KiB at most, is in one list of its runner. */
export const mostPerMachine = 10

/** What a cloud takes as a tag or a name, and a log prints. */
const text = (most: number) =>
  z
    .string()
    .max(most)
    .refine(value => !unprintable.test(value), { error: 'contains a control character or an invisible one' })

const typeName = z
  .string()
  .regex(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/, { error: 'not a name of at most 63 characters' })

const gpu = z.strictObject({
  Stack: z.enum(['', 'cuda', 'rocm']).default('').describe('its software; it is not compared'),
  DriverVersion: text(64).default('').describe('its driver; it is not compared'),
  HardwareTarget: text(64).default('').describe('its capability; it is not compared'),
  DeviceCount: countOrZero(0).describe('GPUs of a machine'),
  VRAM: goSize.prefault(0).describe('memory of each; it is not compared'),
})

const instanceType = z.strictObject({
  ProviderType: text(128).default('').describe('the cloud’s name of the type; default: this name'),
  VCPUs: z.number().int().positive().describe('virtual processors'),
  RAM: goSize.describe('memory, such as 4GiB'),
  IncludedScratch: goSize.prefault(0).describe('disk that comes with it'),
  AddedScratch: goSize.prefault(0).describe('disk that is added to each'),
  Price: z.number().nonnegative().describe('for an hour: the cheapest type that fits is taken'),
  Preemptible: z.boolean().default(false).describe('whether the cloud may take it back'),
  GPU: gpu.prefault({}).describe('GPUs'),
})

export const dispatchDrivers = ['ec2', 'loopback'] as const
export type DispatchDriver = (typeof dispatchDrivers)[number]

export const loopbackParameters = z.strictObject({
  Directory: absolutePath.describe('a folder for its machines, which are processes of this host'),
})

const cloudVMs = z.strictObject({
  Enable: z.boolean().default(true).describe('as Arvados has it; a process that runs dispatch takes `true` only'),
  Driver: z.enum(dispatchDrivers).default('ec2').describe('the cloud; `loopback` runs all on this host, for demos'),
  DriverParameters: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('of the driver: its page has them (docs/dispatch-operators.md); `loopback` takes `Directory`'),
  ImageID: text(256).default('').describe('the image of its machines; EC2 needs one'),
  InstanceInitCommand: z
    .string()
    .max(8192)
    .default('')
    .describe('a shell script that a new machine runs at its first start, after that of Skylab'),
  SSHPort: z
    .union([z.string().regex(/^\d{1,5}$/, { error: 'not a port' }), z.number().int()], { error: 'not a port' })
    .transform(Number)
    .refine(port => port > 0 && port <= 65_535, { error: 'not a port' })
    .prefault('22')
    .describe('where machines listen for SSH'),
  BootProbeCommand: z
    .string()
    .min(1)
    .max(4096)
    .default('systemctl is-system-running')
    .describe('a command that succeeds once a machine may run containers'),
  DeployRunnerBinary: z
    .string()
    .default('/proc/self/exe')
    .describe('the program that is copied to machines; an empty one: their image has it'),
  DeployRunnerDirectory: absolutePath.default('/var/lib/skylab/bin').describe('where it is on a machine'),
  DeployPublicKey: z.boolean().default(true).describe('give new machines the public part of `DispatchPrivateKey`'),
  ResourceTags: z
    .record(text(128).min(1), text(256))
    .default({})
    .describe('tags of everything that is made in the cloud'),
  TagKeyPrefix: text(64)
    .default('Arvados')
    .describe('beginning of Skylab’s own tags; change it only while no machine is there'),
  TagSecret: z
    .enum(['plain', 'hmac'])
    .default('plain')
    .describe(
      'what the tag `InstanceSecret` has: the secret, as in Arvados, or its HMAC, by which nobody can be a machine; change it only while no machine is there',
    ),
  PollInterval: goDuration('10s').describe('longest time between two passes of the scheduler'),
  ProbeInterval: goDuration('10s').describe('interval of probes of one machine'),
  MaxProbesPerSecond: count(10).describe(
    'read for Arvados’ sake; no effect: machines tell by themselves that they are there',
  ),
  SyncInterval: goDuration('1m').describe('interval of comparing the cloud’s list with the records'),
  TimeoutIdle: goDuration('1m', { zero: true }).describe('how long a machine without a container is kept'),
  TimeoutBooting: goDuration('10m').describe('how long a new machine may take until its probe succeeds'),
  TimeoutProbe: goDuration('10m').describe('how long a machine may answer no probe; then it ends'),
  TimeoutShutdown: goDuration('10s').describe('after it a machine that is still listed is destroyed again'),
  TimeoutSignal: goDuration('5s').describe('interval of SIGTERM to a container that is to end'),
  TimeoutTERM: goDuration('2m').describe('how long it may take; then its machine gets nothing new, and ends'),
  TimeoutStaleRunLock: goDuration('5s').describe(
    'read for Arvados’ sake; no effect: the kernel of a machine says at once that a supervisor is gone',
  ),
  MaxCloudOpsPerSecond: countOrZero(10).describe('creations and ends of machines, of all replicas; 0: no limit'),
  MaxConcurrentInstanceCreateOps: countOrZero(1).describe('creations at once, of all replicas; 0: no limit'),
  MaxInstances: countOrZero(64).describe('machines at once; 0: no limit'),
  MaxRunningContainersPerInstance: z
    .number()
    .int()
    .nonnegative()
    .max(mostPerMachine)
    .default(1)
    .describe('containers that may share a machine, where it has room for them; 0: as many as fit, 10 at most'),
  InitialQuotaEstimate: countOrZero(0).describe(
    'machines at once until the first ones have started; 0: `MaxInstances`',
  ),
  SupervisorFraction: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe('part of `MaxInstances` for containers that run others; one may always run'),
})

const containers = z.strictObject({
  DispatchPrivateKey: z
    .string()
    .describe('a file with the private key by which machines are reached, in OpenSSH’s form, without a passphrase'),
  RuntimeEngine: z
    .enum(['docker', 'podman', 'process'])
    .default('docker')
    .describe('what runs a container on its machine; `process`: without an image, for demos'),
  MaximumPriceFactor: z
    .number()
    .min(1)
    .default(1.5)
    .describe('types up to this factor dearer than the cheapest may serve where that cannot be had'),
  MaxDispatchAttempts: count(10).describe('how often machines are asked to begin a container; then it is cancelled'),
  ReserveExtraRAM: goSize.prefault('550MiB').describe('memory of a machine beside what its container asks for'),
  ShellAccess: z
    .strictObject({
      Admin: z.boolean().default(true).describe('whether administrators may open a shell in any container'),
      User: z.boolean().default(false).describe('whether owners may open one in their own'),
    })
    .prefault({})
    .describe('who may open a shell, and the ports, of a running container'),
})

/** The largest container that is accepted must find its place in the share of its owner, which is an eighth. */
const leastActive = 16 * 2 ** 20

const active = z.strictObject({
  bytes: goSize
    .refine(bytes => bytes >= leastActive, { error: 'must be at least 16MiB' })
    .prefault('64MiB')
    .describe(
      'of the records of all containers that wait or run; one owner may have an eighth. More are refused: 429 or 503',
    ),
})

const mostKeptSeconds = 366 * 86_400

/** One output, with its record, must always find its place. */
const leastKept = 16 * 2 ** 20

const ended = z.strictObject({
  keepSeconds: z
    .number()
    .int()
    .min(60)
    .max(mostKeptSeconds)
    .default(7 * 86_400)
    .describe('how long a container that has ended is kept, with its events and its output'),
  containers: z
    .number()
    .int()
    .min(100)
    .max(1_000_000)
    .default(10_000)
    .describe('ended containers that are kept; the one that ended first is dropped first'),
  bytes: goSize
    .refine(bytes => bytes >= leastKept, { error: 'must be at least 16MiB' })
    .prefault('128MiB')
    .describe(
      'of outputs, also of what runs, and of ended containers: the output that ended first is dropped first, and without outputs that container; Redis needs up to 1.7 times as much',
    ),
})

const tunnels = z.strictObject({
  perUser: count(32).describe('shells, requests and WebSockets of one user that one replica carries at once'),
  perReplica: count(500).describe('the same of all users'),
  idleSeconds: count(600).describe('how long one lives without a byte either way'),
})

const tenant = z.strictObject({
  maxInstances: z
    .number()
    .int()
    .nonnegative()
    .optional()
    .describe('its machines at once; default: no limit of its own'),
  maxPricePerHour: z.number().nonnegative().optional().describe('price of its machines together, for an hour'),
})

const fields = z.strictObject({
  clusterId: z
    .string()
    .regex(/^[a-z0-9]{5}$/, { error: 'not five small letters and digits' })
    .describe('beginning of the names of containers, such as `zzzzz` of `zzzzz-dz642-…`'),
  tokenFile: z
    .string()
    .describe('a file with a secret of this installation, which marks its machines and seals what they run'),
  previousTokenFiles: z
    .array(z.string())
    .default([])
    .describe('the ones before: their machines stay this installation’s, and their containers go on'),
  managementTokenFile: z
    .string()
    .optional()
    .describe('a file with the token of the management API; without one nobody may use that'),
  InstanceTypes: z.record(typeName, instanceType).default({}).describe('the types of machines, by name'),
  CloudVMs: cloudVMs.prefault({}).describe('the machines'),
  Containers: containers.describe('the containers'),
  active: active.prefault({}).describe('what Redis holds of containers that wait or run'),
  ended: ended.prefault({}).describe('what Redis keeps of containers that have ended'),
  tunnels: tunnels.prefault({}).describe('shells in running containers, and their ports'),
  queue: z
    .strictObject({ arvados: arvadosQueue.optional().describe('containers of Arvados’ queue, beside those of REST') })
    .prefault({})
    .describe('where containers come from, beside REST'),
  tenants: z
    .record(z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/), tenant)
    .default({})
    .describe(
      'limits of tenants: LNamespaces by name, of which only these count, and `default` for whoever is in none of them; `{}` is no limit',
    ),
  billingTags: z
    .array(z.string().regex(billingKey, { error: 'not a key of billing' }))
    .max(10, { error: 'names more than 10 keys' })
    .default([])
    .describe(
      'keys of the billing of tenants that become tags of their machines, after `TagKeyPrefix` and `Billing-`; needs `tenantsKeyPrefix`',
    ),
  billAmounts: z
    .boolean()
    .default(false)
    .describe(
      'write what each ended container of a tenant has cost into `…_machines`, beside the table of `tenants.billing`, which this process then needs too, with `driver: postgres`; needs `tenantsKeyPrefix`',
    ),
  tenantsKeyPrefix: z
    .string()
    .regex(/^[A-Za-z0-9._-]+$/)
    .optional()
    .describe(
      '`redis.keyPrefix` of the process that serves tenants, which tells who is in which; without it all owners are of the tenant `default`. `tenants.rest` must have its templates here too',
    ),
})

/** Each driver has parameters of its own. Their problems have their keys, as all others. */
const parametersOf = { ec2: ec2Parameters, loopback: loopbackParameters } as const satisfies Record<
  DispatchDriver,
  z.ZodType
>

export const dispatch = fields.check(({ value, issues }) => {
  const { Driver, DriverParameters } = value.CloudVMs
  const { error } = parametersOf[Driver].safeParse(DriverParameters)
  for (const issue of error?.issues ?? []) {
    issues.push({ ...issue, input: undefined, path: ['CloudVMs', 'DriverParameters', ...issue.path] } as never)
  }
})

export type DispatchConfig = z.infer<typeof fields>
