/** What keys of the block `lab` demand of each other: sizes, volumes and mounts, secrets, provisioning, tolerations. */

import type { Config } from '../config/schema.ts'
import { ownVolumePrefix, reservedVolumeNames } from '../labs/names.ts'
import { isWithin, userMark, withoutEnd } from '../labs/paths.ts'
import { isStricter, neededLevel } from '../labs/pod-security.ts'
import { givenVariables } from '../labs/provision.ts'
import { type ContainerSize, storageOf } from '../labs/quota.ts'

type Lab = Config['lab']
type Mount = Lab['mounts'][number]
type Volume = Lab['volumes'][number]
type Toleration = Lab['tolerations'][number]

const kindsOfVolume = ['nfs', 'hostPath', 'persistentVolumeClaim', 'emptyDir', 'configMap', 'files'] as const

/** Kubernetes takes no more in a ConfigMap. */
const maxFilesBytes = 2 ** 20

/** Where no container can have a volume. */
const ofEveryContainer = { at: ['/', '/dev'], within: ['/proc', '/sys'] }

/** @returns one line for each demand of the block that is not met */
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
      ...(names.indexOf(name) < index ? [`${key}.name: stands twice`] : []),
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

/** What stands where: our own folders, and mounts. */
function pathProblems(lab: Lab): string[] {
  const { at, within } = ofEveryContainer
  const ours = { at: [...at, '/etc', '/tmp'], within: [...within, '/etc/passwd', '/etc/group'] }
  const andSecrets = { ...ours, within: [...ours.within, lab.secretsPath] }
  return [
    ...(stands(lab.secretsPath, ours) ? ['lab.secretsPath: something else stands there'] : []),
    ...(stands(lab.homePrefix, andSecrets) ? ['lab.homePrefix: something else stands there'] : []),
    ...mountProblems('lab.mounts', lab.mounts, lab, andSecrets),
    ...mountProblems('lab.provisioning.mounts', lab.provisioning?.mounts ?? [], lab, ofEveryContainer),
  ]
}

/** Paths that are taken: by what stands at them alone, or with all that would be within. */
interface Taken {
  readonly at: readonly string[]
  readonly within: readonly string[]
}

function stands(path: string, { at, within }: Taken): boolean {
  return at.some(taken => withoutEnd(taken) === withoutEnd(path)) || within.some(taken => isWithin(path, taken))
}

function mountProblems(key: string, mounts: readonly Mount[], { volumes, homePrefix }: Lab, taken: Taken): string[] {
  const names = volumes.map(({ name }) => name)
  const paths = mounts.map(({ path }) => path)
  return mounts.flatMap(({ volume, path }, index) => {
    const where = `${key}.${index}`
    const isTaken = stands(path, { ...taken, at: [...taken.at, ...paths.slice(0, index)] })
    // Elsewhere a user called `passwd` would have a mount over a file of ours.
    const strays = path.includes(userMark) && !isWithin(path, homePrefix)
    return [
      ...(names.includes(volume) ? [] : [`${where}.volume: is none of lab.volumes`]),
      ...(isTaken ? [`${where}.path: something else stands there`] : []),
      ...(strays ? [`${where}.path: may have ${userMark} below lab.homePrefix only`] : []),
    ]
  })
}

function secretProblems({ secrets }: Lab): string[] {
  const problems: string[] = []
  const files = new Set(['token'])
  let hasPull = false
  for (const [index, { key, as, pull }] of secrets.entries()) {
    const where = `lab.secrets.${index}`
    if (pull) {
      if (hasPull) problems.push(`${where}.pull: there is a pull secret already`)
      if (as !== undefined) problems.push(`${where}.as: a pull secret becomes no file`)
      hasPull = true
      continue
    }
    const file = as ?? key
    if (files.has(file)) problems.push(`${where}.as: ${file} ${file === 'token' ? 'is reserved' : 'stands twice'}`)
    files.add(file)
  }
  return problems
}

/** Lines that programs would skip, or take for others. */
const nssLines = {
  passwd: /^[^:\p{Cc}]+:[^:\p{Cc}]*:\d+:\d+:[^:\p{Cc}]*:[^:\p{Cc}]*:[^:\p{Cc}]*$/u,
  group: /^[^:\p{Cc}]+:[^:\p{Cc}]*:\d+:[^:\p{Cc}]*$/u,
}

function nssProblems({ nss }: Lab): string[] {
  return (['passwd', 'group'] as const).flatMap(file => {
    const lines = (nss[file] ?? '').replace(/\n$/, '').split('\n')
    const bad = nss[file] ? lines.findIndex(line => !nssLines[file].test(line)) : -1
    return bad < 0 ? [] : [`lab.nss.${file}: line ${bad + 1} is none of /etc/${file}`]
  })
}

function provisioningProblems({ provisioning, defaultStorage }: Lab): string[] {
  if (!provisioning) return []
  const { privileged, runAsRoot, env, resources } = provisioning
  const key = 'lab.provisioning'
  return [
    ...(privileged && !runAsRoot ? [`${key}.privileged: is nothing without ${key}.runAsRoot`] : []),
    ...givenVariables.filter(name => Object.hasOwn(env, name)).map(name => `${key}.env.${name}: is given to it anyway`),
    ...(resources ? requestProblems(`${key}.resources`, resources, defaultStorage) : []),
  ]
}

function sizeProblems({ sizes, defaultSize, defaultStorage }: Lab): string[] {
  return [
    ...(Object.hasOwn(sizes, defaultSize) ? [] : ['lab.defaultSize: is none of lab.sizes']),
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

/** No lab would be made. */
function podSecurityProblems(lab: Lab): string[] {
  const needed = neededLevel(lab, lab.provisioning)
  if (lab.podSecurity === undefined || !isStricter(lab.podSecurity, needed)) return []
  return [`lab.podSecurity: what is configured needs ${needed}`]
}

/** As Kubernetes has them: it would refuse every lab. */
function tolerationProblems({ key, operator = 'Equal', value, effect, tolerationSeconds }: Toleration, index: number) {
  const where = `lab.tolerations.${index}`
  return [
    ...(key === undefined && operator !== 'Exists' ? [`${where}.operator: must be Exists without a key`] : []),
    ...(value && operator === 'Exists' ? [`${where}.value: is not for the operator Exists`] : []),
    ...(tolerationSeconds !== undefined && effect !== 'NoExecute'
      ? [`${where}.tolerationSeconds: is for the effect NoExecute alone`]
      : []),
  ]
}
