/** Checks between keys of the block `lab`: sizes, volumes and mounts, secrets, provisioning, tolerations. */

import type { Config } from '../config/schema.ts'
import { ownVolumePrefix, reservedVolumeNames } from '../labs/names.ts'
import { isWithin, userPlaceholder, withoutEnd } from '../labs/paths.ts'
import { isStricter, neededLevel } from '../labs/pod-security.ts'
import { givenVariables } from '../labs/provision.ts'
import { type ContainerSize, storageOf } from '../labs/quota.ts'
import { reservedFiles } from '../labs/token.ts'

type Lab = Config['lab']
type Mount = Lab['mounts'][number]
type Volume = Lab['volumes'][number]
type Toleration = Lab['tolerations'][number]

const kindsOfVolume = ['nfs', 'hostPath', 'persistentVolumeClaim', 'emptyDir', 'configMap', 'files'] as const

/** The limit of Kubernetes for a ConfigMap. */
const maxFilesBytes = 2 ** 20

/** Paths at which no container can have a volume. */
const neverMountable = { at: ['/', '/dev'], within: ['/proc', '/sys'] }

/** @returns one line for each violated condition of the block */
export function labProblems({ lab }: Config): string[] {
  return [
    ...sizeProblems(lab),
    ...volumeProblems(lab),
    ...pathProblems(lab),
    ...secretProblems(lab),
    ...nssProblems(lab),
    ...provisioningProblems(lab),
    ...lab.tolerations.flatMap(tolerationProblems),
    ...podSecurityProblems(lab),
  ]
}

function volumeProblems({ volumes }: Lab): string[] {
  const names = volumes.map(({ name }) => name)
  return volumes.flatMap((volume, index) => {
    const { name } = volume
    const key = `lab.volumes.${index}`
    return [
      ...kindProblems(key, volume),
      ...(names.indexOf(name) < index ? [`${key}.name: is listed twice`] : []),
      ...(name.startsWith(ownVolumePrefix) ? [`${key}.name: must not begin with ${ownVolumePrefix}`] : []),
      ...(reservedVolumeNames.includes(name) ? [`${key}.name: ${name} is reserved`] : []),
    ]
  })
}

function kindProblems(key: string, volume: Volume): string[] {
  const kinds = kindsOfVolume.filter(kind => volume[kind] !== undefined)
  if (kinds.length !== 1) return [`${key}: must have one of ${kindsOfVolume.join(', ')}`]
  const bytes = Object.entries(volume.files ?? {})
    .flat()
    .reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  return bytes > maxFilesBytes ? [`${key}.files: is more than ${maxFilesBytes} bytes`] : []
}

/** Conflicts between our own folders and mounts. */
function pathProblems(lab: Lab): string[] {
  const { at, within } = neverMountable
  const ours = { at: [...at, '/etc', '/tmp'], within: [...within, '/etc/passwd', '/etc/group'] }
  const andSecrets = { ...ours, within: [...ours.within, lab.secretsPath] }
  return [
    ...(isTaken(lab.secretsPath, ours) ? ['lab.secretsPath: this path is taken'] : []),
    ...(isTaken(lab.homePrefix, andSecrets) ? ['lab.homePrefix: this path is taken'] : []),
    ...mountProblems('lab.mounts', lab.mounts, lab, andSecrets),
    ...mountProblems('lab.provisioning.mounts', lab.provisioning?.mounts ?? [], lab, neverMountable),
  ]
}

/** Taken paths: exactly at them, or anywhere below them. */
interface Taken {
  readonly at: readonly string[]
  readonly within: readonly string[]
}

function isTaken(path: string, { at, within }: Taken): boolean {
  return at.some(taken => withoutEnd(taken) === withoutEnd(path)) || within.some(taken => isWithin(path, taken))
}

function mountProblems(key: string, mounts: readonly Mount[], { volumes, homePrefix }: Lab, taken: Taken): string[] {
  const names = volumes.map(({ name }) => name)
  const paths = mounts.map(({ path }) => path)
  return mounts.flatMap(({ volume, path }, index) => {
    const where = `${key}.${index}`
    const isOccupied = isTaken(path, { ...taken, at: [...taken.at, ...paths.slice(0, index)] })
    // Outside the home prefix, a user called `passwd` would have a mount over one of our files.
    const strays = path.includes(userPlaceholder) && !isWithin(path, homePrefix)
    return [
      ...(names.includes(volume) ? [] : [`${where}.volume: is not in lab.volumes`]),
      ...(isOccupied ? [`${where}.path: this path is taken`] : []),
      ...(strays ? [`${where}.path: may have ${userPlaceholder} below lab.homePrefix only`] : []),
    ]
  })
}

function secretProblems({ secrets }: Lab): string[] {
  const problems: string[] = []
  const files = new Set(reservedFiles)
  let hasPull = false
  for (const [index, { key, as, pull }] of secrets.entries()) {
    const where = `lab.secrets.${index}`
    if (pull) {
      if (hasPull) problems.push(`${where}.pull: there is a pull secret already`)
      if (as !== undefined) problems.push(`${where}.as: a pull secret cannot be a file`)
      hasPull = true
      continue
    }
    const file = as ?? key
    if (files.has(file))
      problems.push(`${where}.as: ${file} ${reservedFiles.includes(file) ? 'is reserved' : 'is listed twice'}`)
    files.add(file)
  }
  return problems
}

/** Programs would skip other lines, or misread them. */
const nssLines = {
  passwd: /^[^:\p{Cc}]+:[^:\p{Cc}]*:\d+:\d+:[^:\p{Cc}]*:[^:\p{Cc}]*:[^:\p{Cc}]*$/u,
  group: /^[^:\p{Cc}]+:[^:\p{Cc}]*:\d+:[^:\p{Cc}]*$/u,
}

function nssProblems({ nss }: Lab): string[] {
  return (['passwd', 'group'] as const).flatMap(file => {
    const lines = (nss[file] ?? '').replace(/\n$/, '').split('\n')
    const bad = nss[file] ? lines.findIndex(line => !nssLines[file].test(line)) : -1
    return bad < 0 ? [] : [`lab.nss.${file}: line ${bad + 1} is not valid in /etc/${file}`]
  })
}

function provisioningProblems({ provisioning, defaultStorage }: Lab): string[] {
  if (!provisioning) return []
  const { privileged, runAsRoot, env, resources } = provisioning
  const key = 'lab.provisioning'
  return [
    ...(privileged && !runAsRoot ? [`${key}.privileged: needs ${key}.runAsRoot`] : []),
    ...givenVariables
      .filter(name => Object.hasOwn(env, name))
      .map(name => `${key}.env.${name}: is set by Skylab and cannot be changed`),
    ...(resources ? requestProblems(`${key}.resources`, resources, defaultStorage) : []),
  ]
}

function sizeProblems({ sizes, defaultSize, defaultStorage }: Lab): string[] {
  return [
    ...(Object.hasOwn(sizes, defaultSize) ? [] : ['lab.defaultSize: is not in lab.sizes']),
    ...Object.entries(sizes).flatMap(([name, size]) => requestProblems(`lab.sizes.${name}`, size, defaultStorage)),
  ]
}

function requestProblems(key: string, size: ContainerSize, defaultStorage: number): string[] {
  const { limits, requests } = size
  const storage = storageOf(size, defaultStorage)
  const excessive = (['cpu', 'memory'] as const).filter(kind => requests && requests[kind] > limits[kind])
  return [...excessive, ...(storage.request > storage.limit ? ['storage'] : [])].map(
    kind => `${key}.requests.${kind}: is more than limits.${kind}`,
  )
}

/** At a stricter level no lab could be created. */
function podSecurityProblems(lab: Lab): string[] {
  const needed = neededLevel(lab, lab.provisioning)
  if (lab.podSecurity === undefined || !isStricter(lab.podSecurity, needed)) return []
  return [`lab.podSecurity: this configuration needs ${needed}`]
}

/** The conditions of Kubernetes: it would refuse every lab that violates them. */
function tolerationProblems({ key, operator = 'Equal', value, effect, tolerationSeconds }: Toleration, index: number) {
  const where = `lab.tolerations.${index}`
  return [
    ...(key === undefined && operator !== 'Exists' ? [`${where}.operator: must be Exists when key is absent`] : []),
    ...(value && operator === 'Exists' ? [`${where}.value: is not allowed with the operator Exists`] : []),
    ...(tolerationSeconds !== undefined && effect !== 'NoExecute'
      ? [`${where}.tolerationSeconds: is allowed with the effect NoExecute only`]
      : []),
  ]
}
