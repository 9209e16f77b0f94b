/** Volumes of the block `lab`, and where they are mounted. A part of the schema in `lab.ts`. */
import { z } from 'zod'
import { absolutePath, dataKey, memory, objectName, relativePath } from './values.ts'

export const sizeLimit = memory
  .optional()
  .describe('a Kubernetes quantity, such as 1Gi, or bytes; default: the disk, or the memory, that the size may use')

const volumeName = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$/, { error: 'not a name of a volume' })

export const volume = z.strictObject({
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
      sizeLimit,
    })
    .optional()
    .describe('a folder that is empty at first and goes with the lab'),
  configMap: z
    .strictObject({ name: objectName.describe('of a ConfigMap in the controller’s own namespace') })
    .optional()
    .describe('files that are copied from a ConfigMap when the lab is asked for'),
  files: z.record(dataKey, z.string()).optional().describe('files by name, with their text'),
})

export const mount = z.strictObject({
  volume: volumeName.describe('name of one of `lab.volumes`'),
  path: absolutePath.describe(
    'where it stands in the container; below `lab.homePrefix`, `{username}` is the user’s name',
  ),
  subPath: relativePath.optional().describe('what of the volume; `{username}` is the user’s name. Default: all of it'),
  readOnly: z.boolean().default(false).describe('whether nothing can be written'),
})
