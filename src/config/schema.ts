/**
 * The one schema of the configuration: types, validation, defaults and, from the descriptions, the reference page.
 * Keys that the specification names keep its names. Unknown keys are refused everywhere. Times carry their unit.
 */
import { z } from 'zod'
import { audit } from './audit.ts'
import { form } from './form.ts'
import { identity } from './identity.ts'
import { images } from './images.ts'
import { lab } from './lab.ts'
import { limits, rates } from './limits.ts'
import { network } from './network.ts'
import { ms, objectName, seconds } from './values.ts'

const api = z.strictObject({
  host: z.string().default('0.0.0.0').describe('address to listen on'),
  port: z
    .number()
    .int()
    .min(0)
    .max(65535)
    .default(8080)
    .describe('port to listen on, 0 for any that is free; SKYLAB_PORT in the environment overrides it'),
  monitoringPort: z
    .number()
    .int()
    .min(0)
    .max(65535)
    .default(8081)
    .describe(
      'port of /healthz, /readyz and /metrics, on the same address, 0 for any that is free; keep it inside; SKYLAB_MONITORING_PORT in the environment overrides it',
    ),
  prefix: z
    .string()
    .regex(/^(\/[a-z0-9._-]+)+$/)
    .default('/nublado/spawner/v1')
    .describe('path under which the routes of SQR-066 stand'),
  createLocation: z
    .enum(['lab', 'user-status'])
    .default('lab')
    .describe(
      'where the 303 of a create leads: `lab`, the lab’s route of administrators (SQR-066), where a user gets 403; or `user-status`, which the user may read',
    ),
  tls: z
    .strictObject({
      certFile: z.string().describe('PEM: the certificate of the API, then those between it and its authority'),
      keyFile: z.string().describe('PEM: its private key. Both files are read again when they change'),
      clientCaFile: z
        .string()
        .optional()
        .describe(
          'PEM: authorities that vouch for clients; a client that shows no certificate of theirs is only not known',
        ),
      requireClientCertificate: z
        .boolean()
        .default(false)
        .describe('refuse connections without a certificate for which clientCaFile vouches'),
    })
    .optional()
    .describe('HTTPS on `port`; default: HTTP. `monitoringPort` has HTTP in any case'),
  heartbeatSeconds: seconds(15).describe('a comment line is sent on an event stream after so long a silence'),
  limits: limits.prefault({}),
  rates: rates.prefault({}).describe('How often one user may ask one replica'),
})

const redis = z.strictObject({
  url: z
    .string()
    .regex(/^rediss?:\/\/[^\s]+$/, { error: 'not a redis:// or rediss:// address' })
    .default('redis://127.0.0.1:6379')
    .describe(
      'address of the one Redis (7.0 or newer, no cluster), redis:// or rediss://; a password in it would be no secret',
    ),
  passwordFile: z
    .string()
    .optional()
    .describe('a file that holds the password and nothing else; default: none is sent'),
  usernameFile: z
    .string()
    .optional()
    .describe(
      'a file that holds the name of Redis’ user; default: the name in the address, or else Redis’ default user',
    ),
  caFile: z
    .string()
    .optional()
    .describe('PEM: the authorities that vouch for Redis, in place of the usual ones; takes rediss://'),
  keyPrefix: z
    .string()
    .regex(/^[A-Za-z0-9._-]+$/)
    .default('skylab')
    .describe('hash tag shared by all keys of this installation'),
  commandTimeoutMs: ms(1000).describe(
    'after which a command that was not answered has failed; a third of engine.leaseTtlMs at most',
  ),
  connectTimeoutMs: ms(2000).describe('after which a connection that does not come about is tried again'),
})

const kubernetes = z.strictObject({
  kubeconfig: z
    .string()
    .optional()
    .describe('a file; default: the pod’s own ServiceAccount, never ~/.kube/config unasked'),
  context: z.string().optional().describe('which context of that file; default: its current one'),
  namespace: objectName
    .optional()
    .describe(
      'the controller’s own, where configured secrets are read and prepulling runs; default: its pod’s, or skylab',
    ),
  requirePolicy: z
    .boolean()
    .default(true)
    .describe(
      'whether nothing is made unless the policies of k8s/base/policy.yaml are at work and let labs of this configuration pass: without them the controller’s token is worth the whole cluster',
    ),
  requestTimeoutSeconds: seconds(10).describe('of one request to the Kubernetes API'),
  maxInFlight: z.number().int().positive().default(64).describe('requests to the Kubernetes API at once, per replica'),
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
  idempotencySeconds: seconds(600).describe('how long an Idempotency-Key is remembered'),
  compareIntervalSeconds: seconds(300).describe('how often records and cluster are compared without an occasion'),
  policyIntervalSeconds: seconds(120).describe('how often it is asked whether k8s/base/policy.yaml is at work'),
  drainSeconds: seconds(25).describe('from SIGTERM to the end of the process'),
})

const engine = z.strictObject({
  room: z.number().int().positive().default(24).describe('operations that act at once in this replica'),
  scanIntervalMs: ms(1000).describe('how often a replica looks for operations that nobody owns; `leaseTtlMs` at most'),
  leaseTtlMs: z
    .number()
    .int()
    .min(1000)
    .default(10_000)
    .describe(
      'how long an operation stays with an owner that does not extend its lease; an owner stops itself at two thirds of it',
    ),
  maxAttempts: z
    .number()
    .int()
    .positive()
    .default(3)
    .describe('how many owners an act of an operation may kill before the operation is given up'),
})

const sealing = z.strictObject({
  keyFiles: z
    .array(z.string())
    .default([])
    .describe(
      'files with 32 bytes in base64 each; all open, and the first seals once all replicas have it first. A new one is put last until all replicas have it. SKYLAB_SEALING_KEY in the environment goes before them',
    ),
})

const tracing = z.strictObject({
  endpoint: z
    .url({ protocol: /^https?$/, error: 'not an http:// or https:// address' })
    .optional()
    .describe(
      'where traces are sent as OTLP over HTTP, such as http://collector:4318/v1/traces; without it none are made',
    ),
  headersFile: z.string().optional().describe('YAML: headers by name that go with every export, such as a credential'),
  samplingRatio: z
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('part of the traces that begin here; what a client decided for its own holds'),
  serviceName: z.string().min(1).default('skylab').describe('as which the replicas appear in traces'),
  maxQueuedSpans: z
    .number()
    .int()
    .positive()
    .default(4096)
    .describe('spans that may wait or be on their way; more are dropped, and counted'),
  timeoutSeconds: seconds(5).describe(
    'of one export with its repetitions; after it, its spans are dropped, and counted',
  ),
})

export const configSchema = z.strictObject({
  installation: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/)
    .default('skylab')
    .describe('name of this installation, a label on all it makes; what bears another is foreign'),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('the least that is logged'),
  api: api.prefault({}).describe('Where requests are answered, and the bounds on them'),
  redis: redis.prefault({}).describe('Where the records are'),
  kubernetes: kubernetes.prefault({}).describe('Which cluster, and as whom'),
  identity: identity.prefault({}).describe('Who may ask'),
  images: images.prefault({}).describe('What labs are made of'),
  lab: lab.prefault({}).describe('How labs are made'),
  form: form.prefault({}).describe('The form by which users choose'),
  network: network.prefault({}).describe('Who reaches labs, and what labs reach'),
  times: times.prefault({}).describe('How long things may take, and how often they are looked at'),
  engine: engine.prefault({}).describe('How operations are shared among replicas'),
  sealing: sealing.prefault({}).describe('The keys that plans are sealed with while they are in Redis'),
  tracing: tracing.prefault({}).describe('Where traces go, if anywhere'),
  audit: audit.prefault({}).describe('The log of who did what to whom'),
})

/** The configuration after validation, every default filled in. */
export type Config = z.infer<typeof configSchema>
