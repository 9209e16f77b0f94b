/** What Redis was asked, by its own count; commands within scripts are counted too. */
import type { Redis } from 'ioredis'

/** How often each command was called. */
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
