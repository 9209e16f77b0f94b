/** The token with which a lab's own API is asked: a value of the lab's env. Pure. */
import type { KubeObject } from '../base/domain.ts'
import { asObject, type JsonObject } from '../base/json.ts'

/** Characters that a header of a request can hold. */
const form = /^[\x21-\x7e]{1,4096}$/

/**
 * The value of the first of these variables that the env has.
 * @param objects of a plan, or as the cluster shows them
 * @param name of the ConfigMap and of the Secret with the env
 * @returns undefined if there is none, or none that a header can hold
 */
export function credentialIn(
  objects: readonly KubeObject[],
  name: string,
  variables: readonly string[],
): string | undefined {
  const envs = objects.filter(({ metadata }) => metadata.name === name).map(envOf)
  for (const variable of variables) {
    const value = envs.map(env => env[variable]).find(each => each !== undefined)
    if (typeof value === 'string' && form.test(value)) return value
  }
  return undefined
}

function envOf({ kind, data, stringData }: KubeObject): JsonObject {
  const values = asObject(data)
  if (kind === 'ConfigMap') return values
  if (kind !== 'Secret') return {}
  const decoded = Object.entries(values).map(([key, text]) => [key, Buffer.from(String(text), 'base64').toString()])
  return { ...Object.fromEntries(decoded), ...asObject(stringData) }
}
