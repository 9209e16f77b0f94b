/** The block `apps`: the groups that have apps, and what an app may use. */
import { z } from 'zod'
import { toleration } from './tolerations.ts'
import { appDomain, containerResources, labelValue, objectName, qualifiedName, seconds } from './values.ts'

const selector = z
  .record(qualifiedName, labelValue)
  .refine(labels => Object.keys(labels).length > 0, { error: 'without a label it would be every pod' })

const claim = {
  claim: objectName.describe('a PersistentVolumeClaim in the namespace of the group'),
  readOnly: z.boolean().default(false).describe('whether apps can only read it'),
}

const group = z.strictObject({
  namespace: objectName.describe(
    'the namespace of its apps; without other groups there, apps can use its Secrets and claims',
  ),
  volume: z
    .strictObject({
      ...claim,
      path: z
        .string()
        .regex(/^(\/[A-Za-z0-9._-]+)+$/)
        .describe('where it is mounted, such as /project/physics'),
    })
    .optional()
    .describe('the volume of the group; without it an app has a folder that ends with its pod'),
  volumes: z
    .array(
      z.strictObject({
        ...claim,
        name: objectName.describe('name of the data volume'),
        path: z
          .string()
          .regex(/^(\/[A-Za-z0-9._-]+)+$/)
          .describe('where it is mounted'),
      }),
    )
    .default([])
    .describe('data volumes of the group'),
  quota: z
    .record(z.string().regex(/^[A-Za-z0-9][-A-Za-z0-9_./]{0,252}$/), z.union([z.string(), z.number()]))
    .default({})
    .describe(
      'what its apps may take together, such as `requests.nvidia.com/gpu`: a ResourceQuota of its namespace, or counted by Skylab where other groups have that too; without an entry nothing is bounded',
    ),
})

const instanceType = z.strictObject({
  ...containerResources,
  resources: z
    .record(qualifiedName, z.number().int().positive())
    .default({})
    .describe('extended resources, such as `nvidia.com/gpu`'),
  nodeSelector: z.record(qualifiedName, labelValue).default({}).describe('labels of the nodes'),
  tolerations: z.array(toleration).default([]).describe('taints that its pods tolerate'),
})

export const apps = z.strictObject({
  publicUrl: z
    .url({ protocol: /^https?$/, error: 'not an http:// or https:// address' })
    .optional()
    .describe('the public address of the platform, without a path: PRIMEHUB_URL, and the beginning of `status.url`'),
  appDomain: appDomain.describe(
    'a domain below which each app has a host of its own, for `status.url`; the same as `gateway.appDomain`. Default: all apps share the host of `publicUrl`',
  ),
  groups: z
    .record(z.string().min(1).max(253), group)
    .default({})
    .describe('groups by name, each with a namespace; an LNamespace is a group of its name'),
  instanceTypes: z
    .record(z.string().regex(/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/), instanceType)
    .prefault({ small: { limits: { cpu: 1, memory: '2Gi' }, requests: { cpu: 0.1, memory: '512Mi' } } })
    .describe('resources of apps by name of the instance type'),
  defaultInstanceType: z.string().default('small').describe('instance type of an app that names none'),
  initAsRoot: z
    .boolean()
    .default(true)
    .describe('make the folder of an app as root; false, for Pod Security `restricted`: by fsGroup'),
  gateway: z
    .strictObject({
      namespace: objectName.optional().describe('namespace of the gateway; default: that of this process'),
      selector: selector.default({ 'app.kubernetes.io/name': 'skylab-gateway' }).describe('labels of its pods'),
    })
    .prefault({})
    .describe('the pods that reach the web interface of apps'),
  labs: z
    .boolean()
    .default(false)
    .describe(
      'let in labs of this `installation` whose users are in the group; the labs need `network.appsOfGroups` too',
    ),
  rest: z
    .strictObject({
      templateNamespace: objectName
        .optional()
        .describe('the namespace of the templates by which REST makes apps; without it there are none'),
    })
    .optional()
    .describe('serve REST at /apps/v1, on `api.port`, for callers whom `identity` knows'),
  policyIntervalSeconds: seconds(60).describe('interval of checks that the admission policy of apps works'),
  room: z.number().int().positive().default(16).describe('apps that this replica writes at once'),
})

export type AppsConfig = z.infer<typeof apps>
