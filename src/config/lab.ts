/** The block `lab`: how labs are made, and with what. */
import { z } from 'zod'
import { absolutePath, containerResources, dataKey, labelValue, memory, objectName, qualifiedName } from './values.ts'
import { mount, sizeLimit, volume } from './volumes.ts'

/** Names that secrets have. A value that is shown cannot be taken back; one that is not is only a nuisance. */
export const secretPatterns: readonly string[] = [
  '*TOKEN*',
  '*SECRET*',
  '*PASS*',
  '*_PWD',
  '*KEY*',
  '*CRED*',
  '*PAT',
  '*COOKIE*',
  '*AUTH*',
  '*JWT*',
  '*DSN*',
  '*CONNECTION_STRING*',
  '*WEBHOOK*',
]

const size = z.strictObject({
  ...containerResources,
  limits: containerResources.limits.describe('what a lab can use at most; a size fits a quota by them'),
  groups: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('of whom a user must be a member of one to have this size; default: everyone may'),
})

const toleration = z.strictObject({
  key: qualifiedName.optional().describe('of the taint; without one, any taint'),
  operator: z.enum(['Exists', 'Equal']).optional().describe('default: Equal'),
  value: labelValue.optional().describe('of the taint, for Equal'),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional().describe('default: all of them'),
  tolerationSeconds: z.number().int().optional().describe('how long NoExecute is put up with; default: for ever'),
})

const secret = z.strictObject({
  name: objectName.describe('of a Secret in the controller’s own namespace'),
  key: dataKey.describe('which of its keys is copied'),
  as: dataKey.optional().describe('name of the file in the lab; default: the same as `key`'),
  pull: z
    .boolean()
    .default(false)
    .describe('whether it is the pull secret: one Docker config.json at most, which becomes no file'),
})

const provisioning = z.strictObject({
  image: z.string().min(1).describe('reference of its image'),
  command: z.array(z.string()).optional().describe('default: the image’s own entry point'),
  args: z.array(z.string()).optional().describe('default: the image’s own'),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string())
    .default({})
    .describe('variables beside those that it is always given (provisioning.md); HOME of here goes before the user’s'),
  runAsRoot: z
    .boolean()
    .default(false)
    .describe('whether it runs as root, with the rights to make folders for others; default: as the user'),
  privileged: z.boolean().default(false).describe('whether it may do on the node whatever root may; needs `runAsRoot`'),
  mounts: z.array(mount).default([]).describe('volumes that it sees, beside the user’s home as the lab sees it'),
  resources: z
    .strictObject(containerResources)
    .optional()
    .describe('what it may use, a quota at most; default: the same as the lab, where the user has a quota'),
  imagePullPolicy: z
    .enum(['Always', 'IfNotPresent'])
    .default('IfNotPresent')
    .describe('whether nodes ask the registry for an image that they have'),
})

const nss = z.strictObject({
  passwd: z
    .string()
    .optional()
    .describe('lines of /etc/passwd before the user’s own; default: the few that most containers have'),
  group: z
    .string()
    .optional()
    .describe('lines of /etc/group before the user’s own; default: the few that most containers have'),
})

export const lab = z.strictObject({
  namespacePrefix: z
    .string()
    .regex(/^[a-z]([-a-z0-9]{0,30}[a-z0-9])?$/)
    .default('nublado')
    .describe(
      'a user’s namespace is this, a hyphen and the user’s name; two installations on one cluster take different ones',
    ),
  command: z
    .array(z.string())
    .min(1)
    .default(['jupyterhub-singleuser'])
    .describe('what the lab’s container runs; it listens on port 8888'),
  servicePrefix: z
    .string()
    .regex(/^\/([^\s]*\/)?$/)
    .default('/')
    .describe('where the lab answers when the request’s env has no JUPYTERHUB_SERVICE_PREFIX'),
  defaultSize: z.string().default('small').describe('size of a lab whose request names none; one of `sizes`'),
  sizes: z
    .record(z.string().regex(/^[a-z][a-z0-9-]*$/), size)
    .prefault({
      small: { limits: { cpu: 1, memory: '4Gi' } },
      medium: { limits: { cpu: 2, memory: '8Gi' } },
      large: { limits: { cpu: 4, memory: '16Gi' } },
    })
    .describe('what labs may use, by name; bots are promised small, medium and large'),
  defaultStorage: memory
    .prefault('20Gi')
    .describe('what of the node’s disk a lab can fill whose size does not say so: with its home, /tmp and all else'),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string())
    .default({})
    .describe('variables of every lab; they override what the controller and the request set'),
  secretPatterns: z
    .array(z.string())
    .default([...secretPatterns])
    .describe('names of variables whose values are secret, any case, * for anything'),
  token: z
    .enum(['none', 'bearer'])
    .optional()
    .describe(
      'what a lab gets of its user’s token, as the file `token`: nothing, or the token; default: `bearer` with the provider gafaelfawr, else `none` (identity.md)',
    ),
  secrets: z.array(secret).default([]).describe('secrets that every lab gets, beside its `token`'),
  secretsPath: absolutePath
    .default('/etc/skylab/secrets')
    .describe(
      'folder in the lab where the secrets stand as files, with the user’s token in the file `token` where `token` says so',
    ),
  volumes: z
    .array(volume)
    .default([])
    .describe('what labs mount; each of exactly one kind. One that nothing mounts is left out'),
  mounts: z
    .array(mount)
    .default([])
    .describe('what of `volumes` stands where; a home that none of them holds is a folder that goes with the lab'),
  tmp: z
    .strictObject({
      medium: z.enum(['disk', 'memory']).default('disk').describe('where it is; memory counts as the lab’s'),
      sizeLimit,
    })
    .prefault({})
    .describe('the folder /tmp'),
  home: z.strictObject({ sizeLimit }).prefault({}).describe('the home of a user, where none of `mounts` holds it'),
  nss: nss.prefault({}).describe('what /etc/passwd and /etc/group begin with'),
  provisioning: provisioning
    .optional()
    .describe(
      'a container that prepares what a user needs, run before the first lab until it has once succeeded: see provisioning.md',
    ),
  nodeSelector: z.record(qualifiedName, labelValue).default({}).describe('labels of the nodes that labs may run on'),
  affinity: z
    .partialRecord(z.enum(['nodeAffinity', 'podAffinity', 'podAntiAffinity']), z.record(z.string(), z.unknown()))
    .default({})
    .describe('rules about nodes and other pods, as Kubernetes has them'),
  tolerations: z
    .array(toleration)
    .default([])
    .describe('taints of nodes that labs put up with, as Kubernetes has them'),
  hostUsers: z
    .boolean()
    .optional()
    .describe(
      'false gives each lab a user namespace of its own (Kubernetes 1.33 or newer); default: as the cluster has it (security.md)',
    ),
  runtimeClassName: objectName
    .optional()
    .describe('the RuntimeClass of labs, such as that of gVisor; default: the node’s own'),
  podSecurity: z
    .enum(['restricted', 'baseline', 'privileged'])
    .optional()
    .describe(
      'what the namespaces of labs enforce of the Pod Security Standards; default: the strictest that what is configured permits',
    ),
  annotations: z.record(qualifiedName, z.string()).default({}).describe('annotations of the lab’s pod, beside our own'),
  startupProbe: z
    .enum(['http', 'tcp', 'none'])
    .default('http')
    .describe('by what a lab is known to answer: `GET <service prefix>/api`, an open port, or its process alone'),
  homePrefix: absolutePath.default('/home').describe('what the paths of homes begin with'),
  homeScheme: z
    .enum(['username', 'initialThenUsername'])
    .default('username')
    .describe('what follows: the user’s name, or its first letter and the name'),
  imagePullPolicy: z
    .enum(['Always', 'IfNotPresent'])
    .default('IfNotPresent')
    .describe('whether nodes ask the registry for an image that they have'),
  terminationGraceSeconds: z
    .number()
    .int()
    .min(0)
    .default(30)
    .describe('from the signal to end to the end of a lab that does not heed it'),
  application: labelValue.default('nublado-users').describe('the Argo CD application that labs appear under'),
})
