/** The block `lab`: the settings of labs. */
import { z } from 'zod'
import { toleration } from './tolerations.ts'
import { absolutePath, containerResources, dataKey, labelValue, memory, objectName, qualifiedName } from './values.ts'
import { mount, sizeLimit, volume } from './volumes.ts'

/** Typical names of secrets. It errs on the side of hiding: a shown value cannot be taken back. */
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
  limits: containerResources.limits.describe('the maximum for a lab; a size fits a quota by its limits'),
  groups: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('a user needs to be a member of one of these groups to have this size; default: all users may'),
})

const secret = z.strictObject({
  name: objectName.describe('of a Secret in the controller’s own namespace'),
  key: dataKey.describe('the key that is copied'),
  as: dataKey.optional().describe('name of the file in the lab; default: the same as `key`'),
  pull: z
    .boolean()
    .default(false)
    .describe('whether it is the pull secret: at most one Docker config.json, which does not become a file'),
})

const provisioning = z.strictObject({
  image: z.string().min(1).describe('reference of its image'),
  command: z.array(z.string()).optional().describe('default: the image’s own entry point'),
  args: z.array(z.string()).optional().describe('default: the image’s own'),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string())
    .default({})
    .describe('variables in addition to the fixed ones (provisioning.md); HOME here overrides the user’s'),
  runAsRoot: z
    .boolean()
    .default(false)
    .describe('whether it runs as root, with the rights to make folders for others; default: as the user'),
  privileged: z.boolean().default(false).describe('whether it has all rights of root on the node; needs `runAsRoot`'),
  mounts: z.array(mount).default([]).describe('mounts in addition to the user’s home, which is mounted as in the lab'),
  resources: z
    .strictObject(containerResources)
    .optional()
    .describe('what it may use, a quota at most; default: the same as the lab, where the user has a quota'),
  imagePullPolicy: z
    .enum(['Always', 'IfNotPresent'])
    .default('IfNotPresent')
    .describe('whether nodes ask the registry for an image that they already have'),
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
      'a user’s namespace is this, a hyphen and the user’s name; two installations on one cluster need different ones',
    ),
  command: z
    .array(z.string())
    .min(1)
    .default(['jupyterhub-singleuser'])
    .describe('the command of the lab’s container, which must listen on port 8888'),
  servicePrefix: z
    .string()
    .regex(/^\/([^\s]*\/)?$/)
    .default('/')
    .describe('path prefix of the lab if the request’s env has no JUPYTERHUB_SERVICE_PREFIX'),
  defaultSize: z.string().default('small').describe('size of a lab whose request names none; one of `sizes`'),
  sizes: z
    .record(z.string().regex(/^[a-z][a-z0-9-]*$/), size)
    .prefault({
      small: { limits: { cpu: 1, memory: '4Gi' } },
      medium: { limits: { cpu: 2, memory: '8Gi' } },
      large: { limits: { cpu: 4, memory: '16Gi' } },
    })
    .describe('resources of labs, by name of the size; bots rely on small, medium and large'),
  defaultStorage: memory
    .prefault('20Gi')
    .describe('maximum of the node’s disk for a lab, with home, /tmp and everything else, if its size sets none'),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string())
    .default({})
    .describe('variables of every lab; they override those of the controller and of the request'),
  secretPatterns: z
    .array(z.string())
    .default([...secretPatterns])
    .describe('names of variables with secret values, in any case, * for any text'),
  token: z
    .enum(['none', 'bearer'])
    .optional()
    .describe(
      'whether a lab gets its user’s token as the file `token` (identity.md); default: `bearer` with the provider gafaelfawr, else `none`',
    ),
  secrets: z.array(secret).default([]).describe('secrets of every lab, in addition to its `token`'),
  secretsPath: absolutePath
    .default('/etc/skylab/secrets')
    .describe(
      'folder in the lab with the secrets as files, and the user’s token in the file `token` if `token` is `bearer`',
    ),
  volumes: z
    .array(volume)
    .default([])
    .describe('volumes of labs, each of exactly one kind; a volume without a mount is left out'),
  mounts: z
    .array(mount)
    .default([])
    .describe('where to mount `volumes`; without a mount for the home, it is a folder that is deleted with the lab'),
  tmp: z
    .strictObject({
      medium: z.enum(['disk', 'memory']).default('disk').describe('the medium; memory counts as the lab’s memory'),
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
    .describe('rules about nodes and other pods, as in Kubernetes'),
  tolerations: z.array(toleration).default([]).describe('taints of nodes that labs tolerate, as in Kubernetes'),
  hostUsers: z
    .boolean()
    .optional()
    .describe(
      'false gives each lab a user namespace of its own (Kubernetes 1.33 or newer; security.md); default: the cluster’s setting',
    ),
  runtimeClassName: objectName
    .optional()
    .describe('the RuntimeClass of labs, such as gVisor’s; default: the node’s own'),
  podSecurity: z
    .enum(['restricted', 'baseline', 'privileged'])
    .optional()
    .describe(
      'level of the Pod Security Standards in namespaces of labs; default: the strictest that the configuration permits',
    ),
  annotations: z
    .record(qualifiedName, z.string())
    .default({})
    .describe('annotations of the lab’s pod, in addition to Skylab’s own'),
  startupProbe: z
    .enum(['http', 'tcp', 'none'])
    .default('http')
    .describe(
      'how Skylab checks that a lab has started: `GET <service prefix>/api`, an open port, or only its process',
    ),
  homePrefix: absolutePath.default('/home').describe('prefix of the paths of homes'),
  homeScheme: z
    .enum(['username', 'initialThenUsername'])
    .default('username')
    .describe('the path after the prefix: the user’s name, or its first letter and the name'),
  imagePullPolicy: z
    .enum(['Always', 'IfNotPresent'])
    .default('IfNotPresent')
    .describe('whether nodes ask the registry for an image that they already have'),
  terminationGraceSeconds: z.number().int().min(0).default(30).describe('time from SIGTERM to SIGKILL of a lab'),
  application: labelValue.default('nublado-users').describe('the Argo CD application that shows the labs'),
})
