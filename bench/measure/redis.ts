/** Commands that Redis has run, by its own count; commands in scripts are counted too. */
import type { Redis } from 'ioredis'

/** Number of calls by command. */
export type Commands = Readonly<Record<string, number>>

export async function commandsOf(redis: Redis): Promise<Commands> {
  const stats = await redis.info('commandstats')
  return Object.fromEntries(
    [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name, calls]) => [name, Number(calls)]),
  )
}

export function commandsBetween(before: Commands, after: Commands): Commands {
  const calls = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)] as const)
  return Object.fromEntries(calls.filter(([name, count]) => count > 0 && name !== 'info'))
}
