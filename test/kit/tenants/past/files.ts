/** A recorded past of tenants: a file with the definition, the LNamespaces and all their objects as a release left them. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { KubeObject } from '../../../../src/base/domain.ts'

export interface TenantsPast {
  readonly name: string
  /** The definition of the resource. */
  readonly definition: KubeObject
  /** In an order in which they can be made again: LNamespaces, then Namespaces, then all else. */
  readonly objects: readonly KubeObject[]
  /** What people may do, in words: see `grants`. */
  readonly granted: readonly string[]
}

const folder = fileURLToPath(new URL('../../../integration/past-tenants', import.meta.url))
const fileOf = (name: string) => join(folder, `${name}.json`)

/** The names of all recorded pasts. */
export const tenantPasts = (): readonly string[] => readdirSync(folder).map(file => file.replace(/\.json$/, ''))

export const isTenantsPast = (name: string): boolean => existsSync(fileOf(name))

export const readTenantsPast = (name: string): TenantsPast => JSON.parse(readFileSync(fileOf(name), 'utf8'))

/** @returns the size in bytes */
export function writeTenantsPast(past: TenantsPast): number {
  mkdirSync(folder, { recursive: true })
  const text = `${JSON.stringify(past, null, 1)}\n`
  writeFileSync(fileOf(past.name), text)
  return Buffer.byteLength(text)
}
