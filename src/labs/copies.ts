/** Selects, from the Secrets and ConfigMaps that the configuration names, the parts that a lab gets. Pure. */

import type { KubeObject } from '../base/domain.ts'
import { misconfigured } from '../base/errors.ts'
import { asObject, asText } from '../base/json.ts'
import type { Config } from '../config/schema.ts'
import type { LabSources } from './sources.ts'

/** The copies alone: `provisioned` is recorded elsewhere. */
export type LabCopies = Omit<LabSources, 'provisioned'>

/** The blocks that name objects to copy. */
export type CopyConfig = Pick<Config['lab'], 'secrets' | 'volumes'>

/** An object of the cluster; null if it does not exist; a text if it cannot be read, with the reason. */
export type FoundObject = KubeObject | null | string

/** Objects of the controller's own namespace, by name. */
export interface FoundObjects {
  readonly namespace: string
  readonly secrets: ReadonlyMap<string, FoundObject>
  readonly configMaps: ReadonlyMap<string, FoundObject>
}

/** Kubernetes allows 1 MiB of values in a Secret. The rest is for the user's token, which is in the same Secret. */
const maxSecretBytes = 2 ** 20 - 16 * 2 ** 10
/** Bytes of all copies together. Every creation sends them through Redis, sealed and then half as large again. */
const maxBytes = 2 * 2 ** 20

/** Names of the objects to copy, without repetitions. */
export function copiedNames({ secrets, volumes }: CopyConfig): { secrets: string[]; configMaps: string[] } {
  const configMaps = volumes.flatMap(({ configMap }) => (configMap ? [configMap.name] : []))
  return { secrets: [...new Set(secrets.map(({ name }) => name))], configMaps: [...new Set(configMaps)] }
}

/**
 * Copies what the configuration asks for (SQR-066, "Secrets" and "Mounts").
 * @throws {ApiError} 500 that names every missing object and key, and everything that is too large
 */
export function copyFound(config: CopyConfig, found: FoundObjects): LabCopies {
  const problems = new Set<string>()
  const secrets: [string, string][] = []
  let pullSecret: string | undefined
  for (const { name, key, as = key, pull } of config.secrets) {
    const value = secretValue(found, name, key, problems)
    if (value === undefined) continue
    if (!pull) secrets.push([as, value])
    else if (isJsonObject(value)) pullSecret = value
    else
      problems.add(`The key ${key} of the Secret ${name} in the namespace ${found.namespace} is no Docker config.json`)
  }
  const configMaps = copyConfigMaps(config, found, problems)
  checkSizes(secrets, pullSecret, configMaps, problems)
  if (problems.size > 0) throw misconfigured([...problems])
  return {
    secrets: Object.fromEntries(secrets),
    ...(pullSecret !== undefined && { pullSecret }),
    configMaps: Object.fromEntries(configMaps),
  }
}

function secretValue(found: FoundObjects, name: string, key: string, problems: Set<string>): string | undefined {
  const data = asObject(requireFound('Secret', name, found, problems)?.data)
  if (Object.hasOwn(data, key)) return asText(data[key])
  if (isObject(found.secrets.get(name))) {
    problems.add(`The Secret ${name} in the namespace ${found.namespace} has no key ${key}`)
  }
  return undefined
}

type CopiedMap = LabSources['configMaps'][string]

function copyConfigMaps({ volumes }: CopyConfig, found: FoundObjects, problems: Set<string>): [string, CopiedMap][] {
  return volumes.flatMap(({ name, configMap }): [string, CopiedMap][] => {
    const object = configMap && requireFound('ConfigMap', configMap.name, found, problems)
    if (!object) return []
    const { data, binaryData } = object as CopiedMap
    return [[name, { ...(data && { data }), ...(binaryData && { binaryData }) }]]
  })
}

function requireFound(
  kind: 'Secret' | 'ConfigMap',
  name: string,
  { namespace, secrets, configMaps }: FoundObjects,
  problems: Set<string>,
): KubeObject | undefined {
  const object = (kind === 'Secret' ? secrets : configMaps).get(name)
  if (isObject(object)) return object
  const why = object ?? 'is missing'
  problems.add(`The ${kind} ${name} in the namespace ${namespace} ${why}`)
  return undefined
}

function isObject(object: FoundObject | undefined): object is KubeObject {
  return typeof object === 'object' && object !== null
}

/** Kubernetes refuses a pull secret that is not a JSON object. */
function isJsonObject(base64: string): boolean {
  try {
    const value: unknown = JSON.parse(Buffer.from(base64, 'base64').toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function checkSizes(
  secrets: readonly [string, string][],
  pullSecret: string | undefined,
  configMaps: readonly [string, CopiedMap][],
  problems: Set<string>,
): void {
  const secretBytes = bytesOf(
    secrets.map(([, value]) => value),
    'base64',
  )
  if (secretBytes > maxSecretBytes) {
    problems.add(
      `The files of lab.secrets have ${secretBytes} bytes, but a lab’s Secret holds at most ${maxSecretBytes}`,
    )
  }
  const mapBytes = configMaps.map(
    ([, { data = {}, binaryData = {} }]) =>
      bytesOf(Object.values(data), 'utf8') + bytesOf(Object.values(binaryData), 'base64'),
  )
  const all = mapBytes.reduce((sum, bytes) => sum + bytes, secretBytes + bytesOf([pullSecret ?? ''], 'base64'))
  if (all > maxBytes) {
    problems.add(
      `The copies for lab.secrets and lab.volumes have ${all} bytes, but a creation keeps at most ${maxBytes}`,
    )
  }
}

function bytesOf(texts: readonly string[], encoding: 'base64' | 'utf8'): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text, encoding), 0)
}
