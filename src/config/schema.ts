/**
 * The one schema of the configuration: types, validation, defaults and, from the descriptions, the reference page.
 * Keys that the specification names keep its names. Unknown keys are refused everywhere. Times carry their unit.
 */
import { z } from 'zod'
import { parseQuantity } from '../kube/quantity.ts'

const seconds = (value: number) => z.number().positive().default(value)
const ms = (value: number) => z.number().int().positive().default(value)

/** A quantity of memory; given out in bytes. */
const memory = z
  .union([z.string(), z.number().positive()], { error: 'not a Kubernetes quantity' })
  .transform((value, context) => {
    try {
      const bytes = Math.round(parseQuantity(value))
      if (bytes > 0) return bytes
      context.addIssue('must be more than nothing')
    } catch {
      context.addIssue('not a Kubernetes quantity')
    }
    return z.NEVER
  })
  .describe('a Kubernetes quantity, such as 4Gi, or bytes')

const cidr = z.union([z.cidrv4(), z.cidrv6()], { error: 'not a CIDR, such as 10.0.0.0/8' })

const resources = z.strictObject({
  cpu: z.number().positive().describe('CPUs'),
  memory,
})

const size = z.strictObject({
  limits: resources,
  requests: resources.optional().describe('default: a quarter of the limits'),
})

const toleration = z.strictObject({
  key: z.string().optional(),
  operator: z.enum(['Exists', 'Equal']).optional(),
  value: z.string().optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
  tolerationSeconds: z.number().int().optional(),
})

const api = z.strictObject({
  host: z.string().default('0.0.0.0').describe('address to listen on'),
  port: z.number().int().min(0).max(65535).default(8080).describe('SKYLAB_PORT in the environment overrides it'),
  prefix: z
    .string()
    .regex(/^(\/[a-z0-9._-]+)+$/)
    .default('/nublado/spawner/v1')
    .describe('path under which the routes of SQR-066 stand'),
  maxBodyBytes: z.number().int().positive().default(1_048_576),
  heartbeatSeconds: seconds(15).describe('a comment line on event streams that are silent'),
  writeTimeoutSeconds: seconds(10).describe('a reader that takes nothing for so long is cut'),
  maxStreamsPerUser: z.number().int().positive().default(20),
  maxRequestsPerUser: z
    .number()
    .int()
    .positive()
    .default(512)
    .describe('in flight at once, per replica; a Hub is one user'),
})

const redis = z.strictObject({
  url: z
    .string()
    .regex(/^rediss?:\/\/[^\s]+$/, { error: 'not a redis:// or rediss:// address' })
    .default('redis://127.0.0.1:6379')
    .describe('redis:// or rediss://'),
  passwordFile: z.string().optional(),
  keyPrefix: z
    .string()
    .regex(/^[A-Za-z0-9._-]+$/)
    .default('skylab')
    .describe('hash tag shared by all keys of this installation'),
  commandTimeoutMs: ms(1000),
  connectTimeoutMs: ms(2000),
})

const kubernetes = z.strictObject({
  kubeconfig: z.string().optional().describe('default: the pod’s own ServiceAccount; never ~/.kube/config unasked'),
  context: z.string().optional(),
  requestTimeoutSeconds: seconds(10),
  maxInFlight: z.number().int().positive().default(64).describe('requests of this replica at once'),
})

const identity = z.strictObject({
  provider: z.enum(['static']).default('static'),
  static: z
    .strictObject({ file: z.string().describe('YAML: tokens with user, scopes, UID, GID, groups and quota') })
    .optional(),
})

const images = z.strictObject({
  registry: z.string().default('registry.hub.docker.com'),
  docker: z.strictObject({ repository: z.string() }).default({ repository: 'lsstsqre/sciplat-lab' }),
  recommendedTag: z.string().default('recommended'),
  numReleases: z.number().int().min(0).default(1),
  numWeeklies: z.number().int().min(0).default(2),
  numDailies: z.number().int().min(0).default(3),
  pins: z.array(z.string()).default([]),
  cycle: z.number().int().nullable().default(null),
  aliasTags: z.array(z.string()).default([]),
  timeoutSeconds: seconds(5).describe('of one request to the registry'),
})

const lab = z.strictObject({
  namespacePrefix: z
    .string()
    .regex(/^[a-z]([-a-z0-9]{0,30}[a-z0-9])?$/)
    .default('nublado'),
  command: z.array(z.string()).min(1).default(['jupyterhub-singleuser']),
  servicePrefix: z
    .string()
    .regex(/^\/([^\s]*\/)?$/)
    .default('/')
    .describe('where the lab answers when the request’s env has no JUPYTERHUB_SERVICE_PREFIX'),
  defaultSize: z.string().default('small'),
  sizes: z.record(z.string().regex(/^[a-z][a-z0-9-]*$/), size).prefault({
    small: { limits: { cpu: 1, memory: '4Gi' } },
    medium: { limits: { cpu: 2, memory: '8Gi' } },
    large: { limits: { cpu: 4, memory: '16Gi' } },
  }),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string())
    .default({})
    .describe('overrides what the controller and the request set'),
  secretPatterns: z
    .array(z.string())
    .default(['*TOKEN*', '*SECRET*', '*PASSWORD*', '*_KEY'])
    .describe('names of variables whose values are secret, any case, * for anything'),
  nodeSelector: z.record(z.string(), z.string()).default({}),
  tolerations: z.array(toleration).default([]),
  startupProbe: z.enum(['http', 'tcp', 'none']).default('http'),
  secretsPath: z.string().startsWith('/').default('/etc/skylab/secrets'),
  homePrefix: z.string().startsWith('/').default('/home'),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent']).default('IfNotPresent'),
  terminationGraceSeconds: z.number().int().min(0).default(30),
  application: z.string().default('nublado-users').describe('the Argo CD application that labs appear under'),
})

const network = z.strictObject({
  proxySelector: z.record(z.string(), z.string()).default({ app: 'jupyterhub', component: 'proxy' }),
  hubSelector: z.record(z.string(), z.string()).default({ app: 'jupyterhub', component: 'hub' }),
  clusterRanges: z
    .array(cidr)
    .default(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'])
    .describe('CIDRs of pods and services, where labs may not connect'),
  egressRanges: z.array(cidr).default([]).describe('CIDRs within those that labs may reach all the same'),
})

const times = z.strictObject({
  spawnTimeoutSeconds: seconds(600).describe('of a creation, from acceptance'),
  deleteTimeoutSeconds: seconds(180).describe('of a deletion, from acceptance'),
  noRoomGraceSeconds: seconds(300).describe('how long a pod may find no node'),
  registryGraceSeconds: seconds(120).describe('how long pulling may fail with what could pass'),
  crashLoopGraceSeconds: seconds(300).describe('how long a lab that ran may crash again and again'),
  unknownGraceSeconds: seconds(300).describe('how long a pod may be Unknown'),
  failedLabHours: z.number().positive().default(24).describe('how long a lab that failed keeps its namespace'),
  tombstoneSeconds: seconds(600).describe('how long a finished deletion is remembered, and its events kept'),
  idempotencySeconds: seconds(600),
  compareIntervalSeconds: seconds(300),
  policyIntervalSeconds: seconds(120).describe('how often it is asked whether k8s/policy.yaml is at work'),
  drainSeconds: seconds(25).describe('from SIGTERM to the end of the process'),
})

const engine = z.strictObject({
  room: z.number().int().positive().default(24).describe('operations that act at once in this replica'),
  scanIntervalMs: ms(1000),
  leaseTtlMs: z.number().int().min(1000).default(10_000),
  maxAttempts: z.number().int().positive().default(3).describe('acts of an operation that may kill their owner'),
})

const sealing = z.strictObject({
  keyFiles: z
    .array(z.string())
    .default([])
    .describe(
      '32 bytes in base64 each; the first seals, all open. A new one is put last until all replicas have it. SKYLAB_SEALING_KEY in the environment goes before them',
    ),
})

export const configSchema = z.strictObject({
  installation: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/)
    .default('skylab')
    .describe('name of this installation, a label on all it makes; what bears another is foreign'),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  api: api.prefault({}),
  redis: redis.prefault({}),
  kubernetes: kubernetes.prefault({}),
  identity: identity.prefault({}),
  images: images.prefault({}),
  lab: lab.prefault({}),
  network: network.prefault({}),
  times: times.prefault({}),
  engine: engine.prefault({}),
  sealing: sealing.prefault({}),
})

/** The configuration after validation, every default filled in. */
export type Config = z.infer<typeof configSchema>
