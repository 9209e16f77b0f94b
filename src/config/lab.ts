/** The block `lab`: how labs are made, and with what. */
import { z } from 'zod'
import {
  absolutePath,
  containerResources,
  dataKey,
  labelValue,
  memory,
  objectName,
  qualifiedName,
  relativePath,
} from './values.ts'

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

const volumeName = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$/, { error: 'not a name of a volume' })

const volume = z.strictObject({
  name: volumeName.describe('by which mounts know it'),
  nfs: z
    .strictObject({
      server: z.string().min(1).describe('its host'),
      path: absolutePath.describe('what it exports'),
      readOnly: z.boolean().default(false).describe('whether nothing can be written'),
    })
    .optional()
    .describe('an export of an NFS server'),
  hostPath: z
    .strictObject({
      path: absolutePath.describe('on the node'),
      type: z
        .enum(['', 'DirectoryOrCreate', 'Directory', 'FileOrCreate', 'File', 'Socket'])
        .default('')
        .describe('what must be there, as Kubernetes has it'),
    })
    .optional()
    .describe('a path of the node'),
  persistentVolumeClaim: z
    .strictObject({
      storageClassName: z.string().optional().describe('default: the cluster’s own'),
      accessModes: z
        .array(z.enum(['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod']))
        .min(1)
        .describe('as Kubernetes has them'),
      size: memory.describe('a Kubernetes quantity, such as 10Gi, or bytes'),
      volumeName: objectName.optional().describe('the one PersistentVolume that it must be; default: any'),
    })
    .optional()
    .describe('a claim that is made in the namespace of each lab, and goes with it'),
  emptyDir: z
    .strictObject({
      medium: z.enum(['disk', 'memory']).default('disk').describe('where it is; memory counts as the lab’s'),
      sizeLimit: memory.optional().describe('a Kubernetes quantity, such as 1Gi, or bytes; default: none'),
    })
    .optional()
    .describe('a folder that is empty at first and goes with the lab'),
  configMap: z
    .strictObject({ name: objectName.describe('of a ConfigMap in the controller’s own namespace') })
    .optional()
    .describe('files that are copied from a ConfigMap when the lab is asked for'),
  files: z.record(dataKey, z.string()).optional().describe('files by name, with their text'),
})

const mount = z.strictObject({
  volume: volumeName.describe('name of one of `lab.volumes`'),
  path: absolutePath.describe(
    'where it stands in the container; below `lab.homePrefix`, `{username}` is the user’s name',
  ),
  subPath: relativePath.optional().describe('what of the volume; `{username}` is the user’s name. Default: all of it'),
  readOnly: z.boolean().default(false).describe('whether nothing can be written'),
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
    .describe('variables beside those that it is always given (provisioning.md)'),
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
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string())
    .default({})
    .describe('variables of every lab; they override what the controller and the request set'),
  secretPatterns: z
    .array(z.string())
    .default(['*TOKEN*', '*SECRET*', '*PASSWORD*', '*_KEY'])
    .describe('names of variables whose values are secret, any case, * for anything'),
  secrets: z.array(secret).default([]).describe('secrets that every lab gets, beside the user’s token'),
  secretsPath: absolutePath
    .default('/etc/skylab/secrets')
    .describe('folder in the lab where the secrets stand as files, the notebook token in the file `token`'),
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
      sizeLimit: memory.optional().describe('a Kubernetes quantity, such as 1Gi, or bytes; default: none'),
    })
    .prefault({})
    .describe('the folder /tmp'),
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
