/**
 * The one schema of the configuration: types, validation, defaults and, from the descriptions, the reference page.
 * Keys of the specification keep its names. Unknown keys are refused everywhere. Names of times have their unit.
 */
import { z } from 'zod'
import { apps } from './apps.ts'
import { audit } from './audit.ts'
import { dispatch } from './dispatch.ts'
import { form } from './form.ts'
import { gateway } from './gateway.ts'
import { identity } from './identity.ts'
import { idle } from './idle.ts'
import { images } from './images.ts'
import { lab } from './lab.ts'
import { limits, rates } from './limits.ts'
import { network } from './network.ts'
import { tenants } from './tenants.ts'
import { ms, objectName, seconds } from './values.ts'

const api = z.strictObject({
  host: z.string().default('0.0.0.0').describe('address to listen on'),
  port: z
    .number()
    .int()
    .min(0)
    .max(65535)
    .default(8080)
    .describe('port to listen on, 0 for any free one; SKYLAB_PORT in the environment overrides it'),
  monitoringPort: z
    .number()
    .int()
    .min(0)
    .max(65535)
    .default(8081)
    .describe(
      'port of /healthz, /readyz and /metrics on the same address, 0 for any free one; do not expose it; SKYLAB_MONITORING_PORT overrides it',
    ),
  prefix: z
    .string()
    .regex(/^(\/[a-z0-9._-]+)+$/)
    .default('/nublado/spawner/v1')
    .describe('path prefix of the routes of SQR-066'),
  createLocation: z
    .enum(['lab', 'user-status'])
    .default('lab')
    .describe(
      'target of the 303 of a create: `lab` is the route of administrators (SQR-066; users get 403), `user-status` the route of users',
    ),
  tls: z
    .strictObject({
      certFile: z.string().describe('PEM: the certificate of the API, then intermediate certificates'),
      keyFile: z.string().describe('PEM: its private key. Both files are read again when they change'),
      clientCaFile: z
        .string()
        .optional()
        .describe(
          'PEM: authorities that sign certificates of clients; other clients are not refused, only not authenticated by certificate',
        ),
      requireClientCertificate: z
        .boolean()
        .default(false)
        .describe('refuse connections without a certificate signed by an authority of clientCaFile'),
    })
    .optional()
    .describe('HTTPS on `port`; default: HTTP. `monitoringPort` has HTTP in any case'),
  heartbeatSeconds: seconds(15).describe('silence of an event stream after which a comment line is sent'),
  warmUpRequests: z
    .number()
    .int()
    .min(0)
    .default(100)
    .describe(
      'made-up creates that a replica accepts before it is ready, so that its code is compiled when users come',
    ),
  limits: limits.prefault({}),
  rates: rates.prefault({}).describe('How often one user may ask one replica'),
})

const redis = z.strictObject({
  url: z
    .string()
    .regex(/^rediss?:\/\/[^\s]+$/, { error: 'not a redis:// or rediss:// address' })
    .default('redis://127.0.0.1:6379')
    .describe(
      'address of the one Redis (7.0 or newer, no cluster), redis:// or rediss://; do not put a password into it',
    ),
  passwordFile: z.string().optional().describe('a file with only the password; default: no password is sent'),
  usernameFile: z
    .string()
    .optional()
    .describe('a file with the name of Redis’ user; default: the name in the address, or else Redis’ default user'),
  caFile: z
    .string()
    .optional()
    .describe('PEM: the authorities for the certificate of Redis, in place of the usual ones; needs rediss://'),
  keyPrefix: z
    .string()
    .regex(/^[A-Za-z0-9._-]+$/)
    .default('skylab')
    .describe('hash tag shared by all keys of this installation'),
  commandTimeoutMs: ms(1000).describe(
    'time after which a command without an answer fails; at most a third of engine.leaseTtlMs',
  ),
  connectTimeoutMs: ms(2000).describe('time after which an attempt to connect is repeated'),
})

const kubernetes = z.strictObject({
  kubeconfig: z
    .string()
    .optional()
    .describe('a kubeconfig file; default: the pod’s own ServiceAccount, never ~/.kube/config'),
  context: z.string().optional().describe('the context in that file; default: its current one'),
  namespace: objectName
    .optional()
    .describe('the controller’s namespace, with configured secrets and prepulling; default: its pod’s, or skylab'),
  requirePolicy: z
    .boolean()
    .default(true)
    .describe(
      'whether Skylab creates nothing without working policies of k8s/base/policy.yaml, grants nothing without those of k8s/components/tenants, and looks at no notebook without that of k8s/components/notebooks: without them its token is worth the whole cluster',
    ),
  requestTimeoutSeconds: seconds(10).describe('time for one request to the Kubernetes API'),
  maxInFlight: z.number().int().positive().default(64).describe('requests to the Kubernetes API at once, per replica'),
})

const times = z.strictObject({
  spawnTimeoutSeconds: seconds(600).describe('time for a creation, from acceptance'),
  deleteTimeoutSeconds: seconds(180).describe('time for a deletion, from acceptance'),
  noRoomGraceSeconds: seconds(300).describe('how long a pod may wait for a node'),
  registryGraceSeconds: seconds(120).describe('how long pulling may fail with a temporary error'),
  crashLoopGraceSeconds: seconds(300).describe('how long a started lab may crash repeatedly'),
  unknownGraceSeconds: seconds(300).describe('how long a pod may be Unknown'),
  failedLabHours: z.number().positive().default(24).describe('how long a failed lab keeps its namespace'),
  tombstoneSeconds: seconds(600).describe('how long a finished deletion is remembered, and its events kept'),
  idempotencySeconds: seconds(600).describe('how long an Idempotency-Key is remembered'),
  compareIntervalSeconds: seconds(300).describe('interval of regular compares of records and cluster'),
  policyIntervalSeconds: seconds(120).describe(
    'interval of checks that k8s/base/policy.yaml, or the policy of k8s/components/notebooks, works',
  ),
  drainSeconds: seconds(25).describe('time from SIGTERM to the end of the process'),
})

const engine = z.strictObject({
  room: z.number().int().positive().default(24).describe('operations that act at once in this replica'),
  scanIntervalMs: ms(1000).describe('how often a replica looks for operations without an owner; at most `leaseTtlMs`'),
  leaseTtlMs: z
    .number()
    .int()
    .min(1000)
    .default(10_000)
    .describe('how long a lease lasts without an extension; an owner stops itself after two thirds of it'),
  maxAttempts: z
    .number()
    .int()
    .positive()
    .default(3)
    .describe('how many owners an act of an operation may kill before the operation fails'),
})

const sealing = z.strictObject({
  keyFiles: z
    .array(z.string())
    .default([])
    .describe(
      'files with 32 bytes in base64 each; all open, and the first seals once all replicas have it first. Add a new one last until all replicas have it. SKYLAB_SEALING_KEY comes before them',
    ),
})

const tracing = z.strictObject({
  endpoint: z
    .url({ protocol: /^https?$/, error: 'not an http:// or https:// address' })
    .optional()
    .describe(
      'receiver of traces, OTLP over HTTP, such as http://collector:4318/v1/traces; without it there are no traces',
    ),
  headersFile: z.string().optional().describe('YAML: headers by name for every export, such as a credential'),
  samplingRatio: z
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('part of the traces that begin here; a client decides for its own traces'),
  serviceName: z.string().min(1).default('skylab').describe('name of the replicas in traces'),
  maxQueuedSpans: z
    .number()
    .int()
    .positive()
    .default(4096)
    .describe('spans that may wait or be in transit; further ones are dropped, and counted'),
  timeoutSeconds: seconds(5).describe('time for one export with repeats; after it its spans are dropped, and counted'),
})

/** The features that a process can serve. Each further one comes with its own rights, and so with a Deployment of its own. */
const run = z
  .array(
    z.enum(['labs', 'tenants', 'notebooks', 'apps', 'gateway', 'dispatch'], {
      error: 'nothing of this name can be run; this release has: labs, tenants, notebooks, apps, gateway, dispatch',
    }),
  )
  .min(1, { error: 'names nothing to run' })
  .refine(names => new Set(names).size === names.length, { error: 'names something twice' })
  .refine(names => new Set(names).size <= 1, {
    error: 'names kinds that take processes of their own, since each has its own account',
  })

export const configSchema = z.strictObject({
  run: run.default(['labs']).describe('what this process serves'),
  installation: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/)
    .default('skylab')
    .describe('name of this installation, in a label of all its objects; objects with another name are foreign'),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('the lowest level that is logged'),
  api: api.prefault({}).describe('Addresses of the API, and the bounds on requests'),
  redis: redis.prefault({}).describe('The store of the records'),
  kubernetes: kubernetes.prefault({}).describe('The cluster, and the credentials for it'),
  identity: identity.prefault({}).describe('The source of identities'),
  images: images.prefault({}).describe('The images of labs'),
  lab: lab.prefault({}).describe('The pods of labs'),
  form: form.prefault({}).describe('The form in which users choose'),
  network: network.prefault({}).describe('Connections to and from labs'),
  times: times.prefault({}).describe('Time limits and intervals'),
  engine: engine.prefault({}).describe('How replicas share operations'),
  sealing: sealing.prefault({}).describe('The keys that seal plans in Redis'),
  tracing: tracing.prefault({}).describe('The receiver of traces, if any'),
  audit: audit.prefault({}).describe('The log of all changes'),
  tenants: tenants.prefault({}).describe('Namespaces that people make themselves, where `run` names tenants'),
  apps: apps.prefault({}).describe('Apps of groups, where `run` names apps'),
  gateway: gateway.prefault({}).describe('The way from browsers to apps, where `run` names gateway'),
  dispatch: dispatch.optional().describe('Containers on machines of a cloud, where `run` names dispatch'),
  idle: idle.prefault({}).describe('What ends when nobody uses it, of the kinds that `run` names'),
})

/** The configuration after validation, every default filled in. */
export type Config = z.infer<typeof configSchema>
