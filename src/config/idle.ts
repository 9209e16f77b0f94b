/** The block `idle`: which labs, apps and notebooks end when nobody uses them, and after how long. */
import { z } from 'zod'
import { seconds } from './values.ts'

export const workloadKinds = ['lab', 'app', 'notebook', 'statefulset'] as const
export type WorkloadKind = (typeof workloadKinds)[number]

/** Where activity is looked for. `kernels`, `terminals` and `server` are Jupyter's own API. */
export const sourceNames = ['kernels', 'terminals', 'server', 'traffic', 'metric', 'json', 'cpu', 'push'] as const
export type SourceName = (typeof sourceNames)[number]

export const stampPolicies = ['always', 'onchange', 'off'] as const
export type StampPolicy = (typeof stampPolicies)[number]

const globs = z.array(z.string().min(1).max(256)).min(1)

const match = z
  .strictObject({
    kinds: z.array(z.enum(workloadKinds)).min(1).optional().describe('`lab`, `app`, `notebook`, `statefulset`'),
    sizes: globs.optional().describe('sizes of labs, such as `gpu-*`, and instance types of apps'),
    images: globs.optional().describe('references of the image, such as `*-gpu:*`'),
    users: globs.optional().describe('users, of labs and apps'),
    groups: globs.optional().describe('groups; one of the workload’s needs to match'),
    tenants: globs.optional().describe('LNamespaces that the workload is in'),
    namespaces: globs.optional().describe('namespaces'),
  })
  .describe('all that are given need to match, by `*` for any text; without one every workload matches')

const path = z.string().regex(/^\/[!-~]*$/, { error: 'not a path, such as /metrics' })
const portNumber = z.number().int().min(1).max(65535)

/** Where a sidecar is asked: a path of the same pod. */
const place = {
  port: portNumber.describe('port of the pod'),
  path: path.describe('path that is asked'),
}

const metric = z.strictObject({
  ...place,
  name: z
    .string()
    .regex(/^[a-zA-Z_:][a-zA-Z0-9_:]*$/, { error: 'not the name of a metric' })
    .describe('the metric, in the text format of Prometheus, such as `istio_requests_total`'),
  labels: z.record(z.string(), z.string()).default({}).describe('labels that a series needs to have'),
  is: z
    .enum(['counter', 'timestamp'])
    .default('counter')
    .describe('`counter`: it grows with activity; `timestamp`: seconds since 1970 of the last activity'),
})

const json = z.strictObject({
  ...place,
  pointer: z
    .string()
    .regex(/^(\/([^~/]|~[01])*)*$/, { error: 'not a JSON pointer, such as /lastHeartbeat' })
    .describe('JSON pointer to the value in the answer, such as `/lastHeartbeat`'),
  is: z
    .enum(['timestamp', 'counter'])
    .default('timestamp')
    .describe(
      '`timestamp`: text by RFC 3339, or seconds or milliseconds since 1970; `counter`: it grows with activity',
    ),
})

const cpu = z.strictObject({
  millicores: z.number().int().positive().describe('thousandths of a processor: who uses more is busy'),
})

const rule = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, { error: 'not a name of a-z, 0-9 and -' })
      .describe('name, as people read it where a workload was stopped'),
    match: match.prefault({}),
    sources: z
      .array(z.enum(sourceNames))
      .min(1)
      .default(['kernels', 'terminals', 'traffic', 'push'])
      .describe('where activity is looked for; the newest counts'),
    address: z
      .enum(['pod', 'service'])
      .default('pod')
      .describe(
        'where a notebook or a StatefulSet is asked: `pod`; `service`, for meshes that admit nobody at pods: the cluster IP of the Service of its name, within `network.clusterRanges`',
      ),
    metric: metric.optional().describe('needed by the source `metric`'),
    json: json.optional().describe('needed by the source `json`'),
    cpu: cpu.optional().describe('needed by the source `cpu`'),
    idleTimeoutSeconds: z
      .number()
      .positive()
      .optional()
      .describe('how long without activity before it is stopped; default: never'),
    maxAgeSeconds: z
      .number()
      .positive()
      .optional()
      .describe('age at which it is stopped even if it is busy; default: never'),
    warnSeconds: z.number().min(0).default(600).describe('warning before a stop; 0: none'),
    keepAlive: z
      .strictObject({
        maxSeconds: z
          .number()
          .min(0)
          .default(86_400)
          .describe('longest time that one request keeps it from being stopped for idleness; 0: requests are refused'),
      })
      .prefault({})
      .describe('requests of its user to keep it, never beyond `maxAgeSeconds`'),
    unreachable: z
      .strictObject({
        afterSeconds: seconds(3600).describe('how long it must give no answer'),
        // biome-ignore lint/suspicious/noThenProperty: the word of the seed's users; no promise is made of it
        then: z
          .enum(['report', 'stop'])
          .default('report')
          .describe('`report`: an event and a metric; `stop`: it is stopped too, as if it were idle'),
      })
      .prefault({})
      .describe('what follows when it gives no answer; without one nothing counts as idle'),
  })
  .check(({ value: each, issues }) => {
    for (const source of ['metric', 'json', 'cpu'] as const) {
      if (each.sources.includes(source) === (each[source] !== undefined)) continue
      const message = each[source] ? `is nothing without the source ${source}` : `is needed by the source ${source}`
      issues.push({ code: 'custom', input: each, path: [source], message })
    }
  })

export type IdleRule = z.infer<typeof rule>

const kindPolicy = (value: StampPolicy, of: string) =>
  z.enum(stampPolicies).default(value).describe(`annotations of ${of}`)

export const idle = z.strictObject({
  enabled: z.boolean().default(false).describe('stop what is idle, of the kinds that `run` names'),
  checkPeriodSeconds: seconds(60).describe('interval of checks of a workload'),
  restPeriodSeconds: seconds(300).describe(
    'interval of a lab while its end is further away than this; notebooks and StatefulSets have `checkPeriodSeconds` then too',
  ),
  probeTimeoutSeconds: seconds(10).describe('time for one check'),
  cpuPeriodSeconds: seconds(60).describe('interval of lists of what all pods use, where a rule has the source `cpu`'),
  annotations: z
    .strictObject({
      lab: kindPolicy('onchange', 'a lab’s pod'),
      app: kindPolicy('onchange', 'an app'),
      notebook: kindPolicy('always', 'a notebook'),
      statefulset: kindPolicy('always', 'a StatefulSet'),
    })
    .prefault({})
    .describe(
      'when a check writes its annotations: `always`; `onchange`: from five minutes after the start on, when activity moved by five minutes, and hourly; at a warning or a stop; `off`',
    ),
  credentialVariables: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/))
    .default(['JUPYTERHUB_API_TOKEN', 'JUPYTER_TOKEN'])
    .describe('variables of a lab’s env, the first of which is the token that its own API is asked with'),
  room: z.number().int().positive().default(256).describe('checks at once in this replica'),
  slowRoom: z
    .number()
    .int()
    .positive()
    .default(32)
    .describe('further checks at once, of what did not answer last time'),
  stopsPerMinute: z
    .number()
    .int()
    .positive()
    .default(20)
    .describe('stops of a kind within a minute, or a twentieth of all that run if that is more; others wait'),
  stampsPerSecond: z.number().positive().default(20).describe('writes of annotations by this replica'),
  rules: z.array(rule).default([]).describe('the first that matches decides; without one nothing is ever stopped'),
})

export type IdleConfig = z.infer<typeof idle>
