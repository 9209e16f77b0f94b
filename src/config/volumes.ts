/** Volumes of the block `lab`, and their mounts. A part of the schema in `lab.ts`. */
import { z } from 'zod'
import { absolutePath, dataKey, memory, objectName, relativePath } from './values.ts'

export const sizeLimit = memory
  .optional()
  .describe('a Kubernetes quantity, such as 1Gi, or bytes; default: the disk, or the memory, that the size may use')

const volumeName = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$/, { error: 'not a name of a volume' })

export const volume = z.strictObject({
  name: volumeName.describe('the name for mounts'),
  nfs: z
    .strictObject({
      server: z.string().min(1).describe('the host of the server'),
      path: absolutePath.describe('the exported path'),
      readOnly: z.boolean().default(false).describe('whether it is read-only'),
    })
    .optional()
    .describe('an export of an NFS server'),
  hostPath: z
    .strictObject({
      path: absolutePath.describe('the path on the node'),
      type: z
        .enum(['', 'DirectoryOrCreate', 'Directory', 'FileOrCreate', 'File', 'Socket'])
        .default('')
        .describe('the required kind of path, as in Kubernetes'),
    })
    .optional()
    .describe('a path of the node'),
  persistentVolumeClaim: z
    .strictObject({
      storageClassName: z.string().optional().describe('default: the cluster’s own'),
      accessModes: z
        .array(z.enum(['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod']))
        .min(1)
        .describe('access modes, as in Kubernetes'),
      size: memory.describe('a Kubernetes quantity, such as 10Gi, or bytes'),
      volumeName: objectName.optional().describe('name of the required PersistentVolume; default: any'),
    })
    .optional()
    .describe('a claim in the namespace of each lab, deleted with the lab'),
  emptyDir: z
    .strictObject({
      medium: z.enum(['disk', 'memory']).default('disk').describe('the medium; memory counts as the lab’s memory'),
      sizeLimit,
    })
    .optional()
    .describe('a folder that is empty at first and deleted with the lab'),
  configMap: z
    .strictObject({ name: objectName.describe('of a ConfigMap in the controller’s own namespace') })
    .optional()
    .describe('files that are copied from a ConfigMap at the creation of the lab'),
  files: z.record(dataKey, z.string()).optional().describe('files by name, with their text'),
})

export const mount = z.strictObject({
  volume: volumeName.describe('name of one of `lab.volumes`'),
  path: absolutePath.describe('path in the container; below `lab.homePrefix`, `{username}` is the user’s name'),
  subPath: relativePath
    .optional()
    .describe('folder in the volume; `{username}` is the user’s name. Default: the whole volume'),
  readOnly: z.boolean().default(false).describe('whether it is read-only'),
})
