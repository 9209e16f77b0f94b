/** A recorded past: a folder with the state of one installation as a release left it. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, stringify } from 'yaml'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { formatTokens, type StaticTokens } from '../../../src/identity/tokens.ts'
import type { UserRecord } from '../fleet/users.ts'

/** One readable key of Redis. Scores are texts, since JSON may change the form of numbers. */
export type RedisEntry = {
  /** Null: for ever. */
  readonly ttlMs: number | null
} & (
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'hash'; readonly value: Readonly<Record<string, string>> }
  | { readonly type: 'zset'; readonly value: Readonly<Record<string, string>> }
  | { readonly type: 'set'; readonly value: readonly string[] }
  | { readonly type: 'stream'; readonly value: readonly StreamEntry[] }
)

export type StreamEntry = readonly [id: string, fields: Readonly<Record<string, string>>]

/** The values of Redis that are times in ms, by kind of key. All others stay unchanged, including ops. */
export interface Times {
  /** Fields of hashes. */
  readonly fields: Readonly<Record<string, readonly string[]>>
  /** Sorted sets whose scores are times. */
  readonly scores: readonly string[]
}

/** A user's request, and the last answer about the lab. */
export interface RecordedUser {
  readonly request: {
    readonly options: Readonly<Record<string, unknown>>
    readonly env: Readonly<Record<string, string>>
    /** The header `Idempotency-Key`. */
    readonly key?: string
  }
  /** The answer to `GET …/labs/USER`; null for the last user, since no replica runs after that request. */
  readonly answer: { readonly status: number; readonly body: unknown } | null
}

export interface About {
  readonly name: string
  /** By Redis' clock. */
  readonly recordedAtMs: number
  /** The values of Redis that are times. */
  readonly times: Times
  readonly users: Readonly<Record<string, RecordedUser>>
}

export interface Past {
  readonly about: About
  /** By key. */
  readonly redis: Readonly<Record<string, RedisEntry>>
  readonly cluster: readonly KubeObject[]
  /** An operator's file, without addresses. */
  readonly config: ConfigInput
  readonly tokens: readonly UserRecord[]
  /** The file's text. The key was made for the recording. */
  readonly sealingKey: string
}

const folder = fileURLToPath(new URL('../../integration/past', import.meta.url))

const files = {
  about: 'about.json',
  redis: 'redis.json',
  cluster: 'cluster.json',
  config: 'config.yaml',
  tokens: 'tokens.yaml',
  sealingKey: 'sealing.key',
} as const

/** The names of all recorded pasts. */
export const pasts = (): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap(entry => (entry.isDirectory() ? [entry.name] : []))

export const isRecorded = (name: string): boolean => existsSync(join(folder, name))

/** The files of a past, by name. */
export function textsOf(past: Past): Readonly<Record<string, string>> {
  const json = (value: unknown) => `${JSON.stringify(value, null, 1)}\n`
  const yaml = (value: unknown) => stringify(value, { version: '1.1' })
  return {
    [files.about]: json(past.about),
    [files.redis]: json(past.redis),
    [files.cluster]: json(past.cluster),
    [files.config]: yaml(past.config),
    [files.tokens]: formatTokens({ tokens: [...past.tokens] }),
    [files.sealingKey]: past.sealingKey,
  }
}

export function writePast(past: Past): void {
  const own = join(folder, past.about.name)
  mkdirSync(own, { recursive: true })
  for (const [file, text] of Object.entries(textsOf(past))) writeFileSync(join(own, file), text)
}

export function readPast(name: string): Past {
  const text = (file: string) => readFileSync(join(folder, name, file), 'utf8')
  const { tokens } = parse(text(files.tokens), { version: '1.1' }) as StaticTokens
  return {
    about: JSON.parse(text(files.about)),
    redis: JSON.parse(text(files.redis)),
    cluster: JSON.parse(text(files.cluster)),
    config: parse(text(files.config), { version: '1.1' }),
    tokens,
    sealingKey: text(files.sealingKey),
  }
}
