/** A load adds one number to all times of a past, and replaces all UIDs by one table. Pure. */
import type { RedisEntry, Times } from './files.ts'

/** The times of this commit. Each past keeps its own copy, so later changes of this table do not affect it. */
export const timesOfToday: Times = {
  fields: { lab: ['acceptedAt', 'deadline', 'failedAt'], catalogue: ['triedAt', 'readAt'] },
  scores: ['audit', 'deadlines', 'owned'],
}

const dayMs = 86_400_000

/** `lab` of `{skylab}:lab:ada`. */
export const kindOf = (key: string): string => /^\{.*?\}:([^:]+)/.exec(key)?.[1] ?? ''

const isTimeField = (times: Times, key: string, field: string) => (times.fields[kindOf(key)] ?? []).includes(field)

/** A key with its times moved. Its TTL counts from the moment of the recording, and stays. */
export function moveEntry(key: string, entry: RedisEntry, times: Times, byMs: number): RedisEntry {
  const moved = (value: Readonly<Record<string, string>>, isTime: (name: string) => boolean) =>
    Object.fromEntries(
      Object.entries(value).map(([name, text]) => [
        name,
        isTime(name) && text !== '' ? String(Number(text) + byMs) : text,
      ]),
    )
  if (entry.type === 'hash') return { ...entry, value: moved(entry.value, field => isTimeField(times, key, field)) }
  if (entry.type === 'zset') return { ...entry, value: moved(entry.value, () => times.scores.includes(kindOf(key))) }
  return entry
}

const kubernetesTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

/** A part of an object of Kubernetes with its times moved; they have whole seconds. */
export function moveTimes<T>(part: T, byMs: number): T {
  const move = (_: string, value: unknown) =>
    typeof value === 'string' && kubernetesTime.test(value)
      ? `${new Date(Date.parse(value) + byMs).toISOString().slice(0, 19)}Z`
      : value
  return JSON.parse(JSON.stringify(part), move)
}

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

/** A value with its UIDs replaced, anywhere in it. UUIDs that the table lacks, such as nonces, stay. */
export function exchangeUids<T>(value: T, table: ReadonlyMap<string, string>): T {
  return JSON.parse(JSON.stringify(value).replaceAll(uuid, uid => table.get(uid) ?? uid))
}

/** Values that look like times of the recording but are in no table, as `key field`. */
export function unknownTimes(entries: Readonly<Record<string, RedisEntry>>, times: Times, atMs: number): string[] {
  const looksLikeTime = (text: string) => /^\d{13}$/.test(text) && Math.abs(Number(text) - atMs) < 2 * dayMs
  const holds = (text: string) => (text.match(/\d+/g) ?? []).some(looksLikeTime)
  return Object.entries(entries).flatMap(([key, { type, value }]) => {
    if (type === 'hash') {
      return Object.entries(value).flatMap(([field, text]) =>
        holds(text) && !isTimeField(times, key, field) ? [`${key} ${field}`] : [],
      )
    }
    if (type === 'zset') {
      const isKnown = times.scores.includes(kindOf(key))
      return !isKnown && Object.values(value).some(holds) ? [key] : []
    }
    if (type === 'string') return holds(value) ? [key] : []
    return []
  })
}
