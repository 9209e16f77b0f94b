/** The view of a lab as text, stored as an annotation of its namespace, and parsed from there. Pure. */
import type { LabOptions, LabView, Resources } from '../base/domain.ts'
import { invalid } from '../base/errors.ts'
import type { JsonObject } from '../base/json.ts'
import { asObject, asObjects } from '../base/json.ts'
import { isServicePrefix, labPort } from './env.ts'
import type { LabNames } from './names.ts'

/** Kubernetes allows 256 KiB of annotations on an object; the rest is for the other annotations. */
const maxBytes = 240 * 1024

/**
 * The view as an annotation.
 * @throws {ApiError} 422 when it is too large for an annotation, which only a large env can cause
 */
export function viewText(view: LabView): string {
  const text = JSON.stringify(view)
  if (Buffer.byteLength(text) > maxBytes) throw invalid(`is larger than ${maxBytes} bytes`, 'body', 'env')
  return text
}

/** The address of a lab. Its host is computed and never taken from a record. */
export function labAddress({ lab, namespace }: Pick<LabNames, 'lab' | 'namespace'>, servicePrefix: string): string {
  return `http://${lab}.${namespace}:${labPort}${servicePrefix}`
}

/** The service prefix of an address, or `/` without one. The host is ignored. */
export function servicePrefixOf(address: string): string {
  const [, path = ''] = /^http:\/\/[^/]+(\/.*)$/s.exec(address) ?? []
  return isServicePrefix(path) ? path : '/'
}

/** @returns the view, or null if the text is not one: every account that may change a namespace may change this text */
export function parseView(text: string | undefined): LabView | null {
  const view = parsed(text)
  const { username, uid, gid, internalUrl } = view
  const quotas = asObject(view.quotas)
  if (typeof username !== 'string' || typeof internalUrl !== 'string') return null
  if (!isNumber(uid) || !isNumber(gid) || !isResources(quotas.limits) || !isResources(quotas.requests)) return null
  return {
    username,
    options: optionsOf(asObject(view.options)),
    env: textsOf(asObject(view.env)),
    uid,
    gid,
    groups: asObjects(view.groups).flatMap(({ name, id }) =>
      typeof name === 'string' && isNumber(id) ? [{ name, id }] : [],
    ),
    quotas: { limits: resourcesOf(quotas.limits), requests: resourcesOf(quotas.requests) },
    internalUrl,
  }
}

function parsed(text: string | undefined): JsonObject {
  try {
    return asObject(JSON.parse(text ?? ''))
  } catch {
    return {}
  }
}

const optionTypes: Readonly<Record<keyof LabOptions, 'boolean' | 'string'>> = {
  enable_debug: 'boolean',
  image_list: 'string',
  image_dropdown: 'string',
  image_tag: 'string',
  image_type: 'string',
  reset_user_env: 'boolean',
  size: 'string',
}

function optionsOf(found: JsonObject): LabOptions {
  const known = Object.entries(found).filter(([name, value]) => typeof value === optionTypes[name as keyof LabOptions])
  return Object.fromEntries(known)
}

function textsOf(found: JsonObject): Record<string, string> {
  const texts = Object.entries(found).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return Object.fromEntries(texts)
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isResources(value: unknown): value is Resources {
  const { cpu, memory } = asObject(value)
  return isNumber(cpu) && isNumber(memory)
}

function resourcesOf({ cpu, memory }: Resources): Resources {
  return { cpu, memory }
}
