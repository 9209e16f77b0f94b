/** Loads what Redis knew of apps under the keys of a test, with its times moved to now. */
import type { RedisEntry } from '../../past/files.ts'
import { writeEntry } from '../../past/load.ts'
import type { Store } from '../../store/store.ts'
import type { AppsPast } from './files.ts'

export async function loadApps(past: AppsPast, { redis, prefix }: Store): Promise<void> {
  const [seconds, micros] = await redis.time()
  const byMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000) - past.recordedAtMs
  const writes = redis.multi()
  for (const [recorded, entry] of Object.entries(past.redis)) {
    const key = recorded.replace(`{${past.installation}}:`, `{${prefix}}:`)
    writeEntry(writes, key, moved(recorded, entry, byMs))
    if (entry.ttlMs !== null) writes.pexpire(key, entry.ttlMs)
  }
  for (const [error] of (await writes.exec()) ?? []) if (error) throw error
}

const times = ['createdMs', 'expiresMs']

/** What is a time: two fields of logins, the ends of a user's logins, and the first number of an intent. */
function moved(key: string, entry: RedisEntry, byMs: number): RedisEntry {
  const later = (text: string) => String(Number(text) + byMs)
  const change = (of: Readonly<Record<string, string>>, to: (name: string, value: string) => string) =>
    Object.fromEntries(Object.entries(of).map(([name, value]) => [name, to(name, value)]))
  if (entry.type === 'zset' && key.includes(':gw:logins-of:'))
    return { ...entry, value: change(entry.value, (_, score) => later(score)) }
  if (entry.type !== 'hash') return entry
  if (key.endsWith(':app-intents'))
    return { ...entry, value: change(entry.value, (_, text) => text.replace(/^\d+/, later)) }
  if (!key.includes(':gw:login:')) return entry
  return { ...entry, value: change(entry.value, (name, text) => (times.includes(name) ? later(text) : text)) }
}
