/** What keys of the block `lab` demand of each other: volumes and mounts, secrets. */
import type { Config } from './schema.ts'

type Mount = Config['lab']['mounts'][number]

const kindsOfVolume = ['nfs', 'hostPath', 'persistentVolumeClaim', 'emptyDir', 'configMap', 'files'] as const

/** Volumes that every lab has, by names that begin like no configured one may. */
export const ownVolumePrefix = 'skylab-'

/** @returns one line for each demand of volumes and mounts that is not met */
export function volumeProblems({ lab }: Config): string[] {
  const problems: string[] = []
  const names = new Set<string>()
  for (const [index, volume] of lab.volumes.entries()) {
    const key = `lab.volumes.${index}`
    const kinds = kindsOfVolume.filter(kind => volume[kind] !== undefined)
    if (kinds.length !== 1) problems.push(`${key}: must have one of ${kindsOfVolume.join(', ')}`)
    if (names.has(volume.name)) problems.push(`${key}.name: stands twice`)
    if (volume.name.startsWith(ownVolumePrefix)) problems.push(`${key}.name: must not begin with ${ownVolumePrefix}`)
    names.add(volume.name)
  }
  return [
    ...problems,
    ...mountProblems('lab.mounts', lab.mounts, names, reservedPaths(lab)),
    ...mountProblems('lab.provisioning.mounts', lab.provisioning?.mounts ?? [], names, []),
  ]
}

/** What stands there in every lab. */
function reservedPaths(lab: Config['lab']): string[] {
  return ['/', '/etc', '/etc/passwd', '/etc/group', '/tmp', '/proc', '/dev', '/sys', lab.secretsPath]
}

function mountProblems(
  key: string,
  mounts: readonly Mount[],
  names: ReadonlySet<string>,
  reserved: readonly string[],
): string[] {
  const problems: string[] = []
  const taken = new Set(reserved.map(plain))
  for (const [index, { volume, path }] of mounts.entries()) {
    if (!names.has(volume)) problems.push(`${key}.${index}.volume: is none of lab.volumes`)
    if (taken.has(plain(path))) problems.push(`${key}.${index}.path: something else stands there`)
    taken.add(plain(path))
  }
  return problems
}

const plain = (path: string) => path.replace(/\/+$/, '') || '/'

/** @returns one line for each demand of secrets that is not met */
export function secretProblems({ lab }: Config): string[] {
  const problems: string[] = []
  const files = new Set(['token'])
  let hasPull = false
  for (const [index, { key, as = key, pull }] of lab.secrets.entries()) {
    if (pull && hasPull) problems.push(`lab.secrets.${index}.pull: there is a pull secret already`)
    hasPull ||= pull
    if (pull) continue
    const where = `lab.secrets.${index}.as`
    if (files.has(as)) problems.push(`${where}: ${as} ${as === 'token' ? 'is reserved' : 'stands twice'}`)
    files.add(as)
  }
  return problems
}
