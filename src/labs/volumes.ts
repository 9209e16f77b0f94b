/** Mounts of a lab and of its init container, and the objects behind them (SQR-066, "Mounts"). Pure. */

import type { KubeObject } from '../base/domain.ts'
import { formatBytes } from '../base/quantity.ts'
import type { Config } from '../config/schema.ts'
import type { LabChoice } from './choose.ts'
import type { LabNames } from './names.ts'
import { ownVolumePrefix, volumeObjectName } from './names.ts'
import { immutable, type Render } from './objects.ts'
import { isWithin, pathFor } from './paths.ts'
import { type LabSources, sourceOf } from './sources.ts'

type Volume = Config['lab']['volumes'][number]
type Mount = Config['lab']['mounts'][number]

/** An entry of `volumeMounts`. */
export interface VolumeMount {
  readonly name: string
  readonly mountPath: string
  readonly subPath?: string
  readonly readOnly?: boolean
}

/** The inputs of mounts. */
export interface MountSources {
  readonly lab: Pick<Config['lab'], 'volumes' | 'mounts' | 'tmp' | 'home' | 'secretsPath'>
  readonly names: LabNames
  readonly username: string
  /** Absolute path. */
  readonly home: string
  /** The init container; undefined once the user was provisioned. */
  readonly provisioning: Config['lab']['provisioning']
  /** The size bounds a folder that has no bound of its own. */
  readonly choice: Pick<LabChoice, 'quotas' | 'storage'>
}

const own = {
  home: `${ownVolumePrefix}home`,
  tmp: `${ownVolumePrefix}tmp`,
  nss: `${ownVolumePrefix}nss`,
  secrets: `${ownVolumePrefix}secrets`,
}

/** The mounts of the lab's container. */
export function labMounts(sources: MountSources): VolumeMount[] {
  const { lab, username } = sources
  return [
    ...homeMounts(sources).filter(({ name }) => name === own.home),
    { name: own.tmp, mountPath: '/tmp' },
    { name: own.nss, mountPath: '/etc/passwd', subPath: 'passwd', readOnly: true },
    { name: own.nss, mountPath: '/etc/group', subPath: 'group', readOnly: true },
    { name: own.secrets, mountPath: lab.secretsPath, readOnly: true },
    ...mountsOf(lab.mounts, username),
  ]
}

/**
 * The mounts of the init container, if there is one: the lab's home, and the configured mounts, which replace those at
 * the same path.
 */
export function provisionMounts(sources: MountSources): VolumeMount[] {
  if (!sources.provisioning) return []
  const configured = mountsOf(sources.provisioning.mounts, sources.username)
  const taken = new Set(configured.map(({ mountPath }) => mountPath))
  return [...homeMounts(sources).filter(({ mountPath }) => !taken.has(mountPath)), ...configured]
}

/** The mounts that hold the home: configured ones, or a folder that goes with the lab. */
function homeMounts({ lab, username, home }: MountSources): VolumeMount[] {
  const holding = mountsOf(lab.mounts, username).filter(({ mountPath }) => isWithin(home, mountPath))
  return holding.length > 0 ? holding : [{ name: own.home, mountPath: home }]
}

function mountsOf(mounts: readonly Mount[], username: string): VolumeMount[] {
  return mounts.map(({ volume, path, subPath, readOnly }) => ({
    name: volume,
    mountPath: pathFor(path, username),
    ...(subPath !== undefined && { subPath: pathFor(subPath, username) }),
    ...(readOnly && { readOnly }),
  }))
}

/** The `volumes` of the pod. Volumes that no container mounts are left out: a node would mount them all the same. */
export function podVolumes(sources: MountSources): object[] {
  const { lab, names, choice } = sources
  const mounts = [...labMounts(sources), ...provisionMounts(sources)]
  return [
    ...(mounts.some(({ name }) => name === own.home)
      ? [{ name: own.home, emptyDir: emptyDirOf(lab.home, choice) }]
      : []),
    { name: own.tmp, emptyDir: emptyDirOf(lab.tmp, choice) },
    { name: own.nss, configMap: { name: names.nss, defaultMode: 0o444 } },
    // The files belong to root; the kubelet adds the group's right to read.
    { name: own.secrets, secret: { secretName: names.lab, defaultMode: 0o400 } },
    ...mountedVolumes(lab, sources.provisioning).map(volume => ({
      name: volume.name,
      ...volumeSource(volume, sources),
    })),
  ]
}

/** The ConfigMaps behind volumes: copies, and files of the configuration. */
export function volumeConfigMaps(
  sources: MountSources,
  configMaps: LabSources['configMaps'],
  render: Render,
): KubeObject[] {
  return mountedVolumes(sources.lab, sources.provisioning).flatMap(({ name, configMap, files }) => {
    if (!configMap && !files) return []
    const content = configMap ? sourceOf(configMaps, name) : { data: files }
    return [render('v1', 'ConfigMap', volumeObjectName(sources.names, name), { immutable, ...content })]
  })
}

/** The PersistentVolumeClaims behind volumes. */
export function volumeClaims(sources: MountSources, render: Render): KubeObject[] {
  return mountedVolumes(sources.lab, sources.provisioning).flatMap(({ name, persistentVolumeClaim: claim }) => {
    if (!claim) return []
    const { accessModes, size, storageClassName, volumeName } = claim
    const spec = {
      accessModes,
      resources: { requests: { storage: formatBytes(size) } },
      ...(storageClassName !== undefined && { storageClassName }),
      ...(volumeName !== undefined && { volumeName }),
    }
    return [render('v1', 'PersistentVolumeClaim', volumeObjectName(sources.names, name), { spec })]
  })
}

/** The configured volumes that the lab or its init container mounts. A pod has no others. */
export function mountedVolumes(
  { volumes, mounts }: Pick<Config['lab'], 'volumes' | 'mounts'>,
  provisioning: Config['lab']['provisioning'],
): readonly Volume[] {
  const used = new Set([...mounts, ...(provisioning?.mounts ?? [])].map(({ volume }) => volume))
  return volumes.filter(({ name }) => used.has(name))
}

/** The source of a volume. The checks of the configuration require exactly one kind. */
function volumeSource(volume: Volume, { names, choice }: MountSources): object {
  const { name, nfs, hostPath, persistentVolumeClaim, emptyDir } = volume
  const objectName = volumeObjectName(names, name)
  if (nfs) return { nfs: { server: nfs.server, path: nfs.path, ...(nfs.readOnly && { readOnly: true }) } }
  if (hostPath) return { hostPath }
  if (persistentVolumeClaim) return { persistentVolumeClaim: { claimName: objectName } }
  if (emptyDir) return { emptyDir: emptyDirOf(emptyDir, choice) }
  return { configMap: { name: objectName, defaultMode: 0o444 } }
}

/** The default limit is the whole lab's limit of the same resource. */
function emptyDirOf({ medium, sizeLimit }: Partial<Config['lab']['tmp']>, choice: MountSources['choice']): object {
  const most = medium === 'memory' ? choice.quotas.limits.memory : choice.storage.limit
  return { ...(medium === 'memory' && { medium: 'Memory' }), sizeLimit: formatBytes(sizeLimit ?? most) }
}
