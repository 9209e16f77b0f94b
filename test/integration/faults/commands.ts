/** The commands that Redis is sent, and by what each is known on the way. */
import { readdirSync, readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { defineCommands } from '../../../src/store/scripts.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { LostReply } from '../../kit/network/proxy.ts'

const folder = new URL('../../../src/store/commands/', import.meta.url)
const files = readdirSync(folder).filter(file => file.endsWith('.lua'))

/** All of them: one that is new is here on its first day. */
export const allCommands: readonly string[] = files.map(file => file.split('.')[0]!)

/** Sent by whoever reads the registry, or prepulls. */
export const commandsOfPrepulling = ['read-catalogue', 'end-refresh', 'read-prepulls', 'write-prepulls'] as const

/** Of a command: its source's first line, or, once Redis has that, the whole's hash. */
function tracesOf(command: string): readonly string[] {
  const file = files.find(name => name.startsWith(`${command}.`))
  const redis = new Redis({ lazyConnect: true })
  defineCommands(redis)
  const { sha } = (redis as unknown as { scriptsSet: Record<string, { sha: string }> }).scriptsSet[command] ?? {}
  redis.disconnect()
  if (!file || !sha) throw new Error(`no such command: ${command}`)
  return [sha, Buffer.from(readFileSync(new URL(file, folder), 'utf8').split('\n')[0]!).toString('latin1')]
}

/** Loses the next reply to a command, whichever replica sends it. Resolves once it was carried out and its reply is lost. */
export function loseReplyTo(fleet: Fleet, command: string): Promise<void> {
  const lost = new LostReply(tracesOf(command))
  for (const index of fleet.urls.keys()) fleet.proxies(index).redis.lose(lost)
  return lost.landed
}
