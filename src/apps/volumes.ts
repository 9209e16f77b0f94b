/** The volumes of an app: of its group, and its own. Pure. */
import { asObjects, asText, type JsonObject } from '../base/json.ts'
import type { Pruned } from './allow.ts'
import type { AppGroup } from './groups.ts'
import { ownVolumePrefix } from './words.ts'

const groupVolume = `${ownVolumePrefix}group`
const folder = `${ownVolumePrefix}app`

export interface Storage {
  /** PRIMEHUB_APP_ROOT. */
  readonly root: string
  readonly volumes: readonly JsonObject[]
  readonly mounts: readonly JsonObject[]
  /** Those that hold the root. */
  readonly rootMounts: readonly JsonObject[]
}

/** Where the group has no volume that can be written, an app has a folder that ends with its pod. */
export function storageOf(id: string, { volume, volumes }: AppGroup): Storage {
  const holds = volume !== undefined && !volume.readOnly
  const own = { name: folder, mountPath: `/phapplications/${id}` }
  const shared = volume && { name: groupVolume, mountPath: volume.path, ...(volume.readOnly && { readOnly: true }) }
  const rootMount = shared && holds ? shared : own
  const data = volumes.map(({ claim, path, readOnly }, i) => {
    const name = `${ownVolumePrefix}data-${i}`
    return { volume: claimed(name, claim, readOnly), mount: { name, mountPath: path, ...(readOnly && { readOnly }) } }
  })
  return {
    root: holds ? `${volume.path}/phapplications/${id}` : own.mountPath,
    volumes: [
      ...(volume ? [claimed(groupVolume, volume.claim, volume.readOnly)] : []),
      ...data.map(({ volume: each }) => each),
      ...(holds ? [] : [{ name: folder, emptyDir: { sizeLimit: '5Gi' } }]),
    ],
    mounts: [...(shared ? [shared] : []), ...data.map(({ mount }) => mount), ...(holds ? [] : [own])],
    rootMounts: [rootMount],
  }
}

const claimed = (name: string, claimName: string, readOnly: boolean): JsonObject => ({
  name,
  persistentVolumeClaim: { claimName, ...(readOnly && { readOnly }) },
})

const bare = (path: unknown): string => asText(path).replace(/\/+$/, '')

/** The app's own mounts, but those of volumes that were left out, and those in the place of ours. */
export function ownMounts(
  { volumeMounts }: JsonObject,
  { volumes }: JsonObject,
  { mounts }: Storage,
  pruned: Pruned,
): readonly JsonObject[] {
  const names = new Set(asObjects(volumes).map(({ name }) => name))
  const taken = new Set(mounts.map(({ mountPath }) => bare(mountPath)))
  return asObjects(volumeMounts).filter(mount => {
    const fits = names.has(mount.name) && !taken.has(bare(mount.mountPath))
    if (!fits) pruned.add(`spec.podTemplate.spec.containers[0].volumeMounts: ${asText(mount.mountPath).slice(0, 100)}`)
    return fits
  })
}
