/** A recorded past of apps: a file with PhApplications, their objects and what Redis knows of them, as a release left them. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ConfigInput } from '../../../../dev/stack/config.ts'
import type { KubeObject } from '../../../../src/base/domain.ts'
import type { RedisEntry } from '../../past/files.ts'

export interface AppsPast {
  readonly name: string
  /** By Redis' clock. */
  readonly recordedAtMs: number
  /** The installation, its namespace and the prefix of its keys have one name. */
  readonly installation: string
  readonly apps: NonNullable<ConfigInput['apps']>
  readonly objects: readonly KubeObject[]
  /** By key. */
  readonly redis: Readonly<Record<string, RedisEntry>>
  /** Somebody who had the app open: what a browser's cookies hold. */
  readonly visitor: {
    readonly user: string
    readonly appId: string
    readonly login: string
    readonly session: string
  }
}

const folder = fileURLToPath(new URL('../../../integration/past-apps', import.meta.url))
const fileOf = (name: string) => join(folder, `${name}.json`)

/** The names of all recorded pasts. */
export const appPasts = (): readonly string[] => readdirSync(folder).map(file => file.replace(/\.json$/, ''))

export const isAppsPast = (name: string): boolean => existsSync(fileOf(name))

export const readAppsPast = (name: string): AppsPast => JSON.parse(readFileSync(fileOf(name), 'utf8'))

/** @returns the size in bytes */
export function writeAppsPast(past: AppsPast): number {
  mkdirSync(folder, { recursive: true })
  const text = `${JSON.stringify(past, null, 1)}\n`
  writeFileSync(fileOf(past.name), text)
  return Buffer.byteLength(text)
}
