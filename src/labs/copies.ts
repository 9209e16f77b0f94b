/** From the Secrets and ConfigMaps that the configuration names to what a lab is given of them. Pure. */

import type { KubeObject } from '../base/domain.ts'
import { misconfigured } from '../base/errors.ts'
import { asObject, asText } from '../base/json.ts'
import type { Config } from '../config/schema.ts'
import type { LabSources } from './sources.ts'

/** The copies alone: whether the user was provisioned is recorded elsewhere. */
export type LabCopies = Omit<LabSources, 'provisioned'>

/** The blocks that name objects to copy. */
export type CopyConfig = Pick<Config['lab'], 'secrets' | 'volumes'>

/** An object as the cluster has it; null where there is none, or in words why the controller cannot know. */
export type FoundObject = KubeObject | null | string

/** What stands in the controller's own namespace, by name. */
export interface FoundObjects {
  readonly namespace: string
  readonly secrets: ReadonlyMap<string, FoundObject>
  readonly configMaps: ReadonlyMap<string, FoundObject>
}

/** Kubernetes takes 1 MiB of values in a Secret; what is left of it is for the user's token, which is in there too. */
const maxSecretBytes = 2 ** 20 - 16 * 2 ** 10
/** Of all copies together: they go through Redis with every creation, sealed, and half as large again. */
const maxBytes = 2 * 2 ** 20

/** Names of the objects that are copied, each once. */
export function copiedNames({ secrets, volumes }: CopyConfig): { secrets: string[]; configMaps: string[] } {
  const configMaps = volumes.flatMap(({ configMap }) => (configMap ? [configMap.name] : []))
  return { secrets: [...new Set(secrets.map(({ name }) => name))], configMaps: [...new Set(configMaps)] }
}

/**
 * Copies what the configuration asks for (SQR-066, "Secrets" and "Mounts").
 * @throws {ApiError} 500 that names every object and key that is missing, and what is larger than can be kept
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
  const data = asObject(standing('Secret', name, found, problems)?.data)
  if (Object.hasOwn(data, key)) return asText(data[key])
  if (isObject(found.secrets.get(name))) {
    problems.add(`The Secret ${name} in the namespace ${found.namespace} has no key ${key}`)
  }
  return undefined
}

type CopiedMap = LabSources['configMaps'][string]

function copyConfigMaps({ volumes }: CopyConfig, found: FoundObjects, problems: Set<string>): [string, CopiedMap][] {
  return volumes.flatMap(({ name, configMap }): [string, CopiedMap][] => {
    const object = configMap && standing('ConfigMap', configMap.name, found, problems)
    if (!object) return []
    const { data, binaryData } = object as CopiedMap
    return [[name, { ...(data && { data }), ...(binaryData && { binaryData }) }]]
  })
}

function standing(
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

/** Kubernetes refuses any other pull secret. */
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
      `The files of lab.secrets come to ${secretBytes} bytes, of which a lab’s Secret holds ${maxSecretBytes}`,
    )
  }
  const mapBytes = configMaps.map(
    ([, { data = {}, binaryData = {} }]) =>
      bytesOf(Object.values(data), 'utf8') + bytesOf(Object.values(binaryData), 'base64'),
  )
  const all = mapBytes.reduce((sum, bytes) => sum + bytes, secretBytes + bytesOf([pullSecret ?? ''], 'base64'))
  if (all > maxBytes) {
    problems.add(
      `What lab.secrets and lab.volumes copy comes to ${all} bytes, of which ${maxBytes} are kept of a creation`,
    )
  }
}

function bytesOf(texts: readonly string[], encoding: 'base64' | 'utf8'): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text, encoding), 0)
}
