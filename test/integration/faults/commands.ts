/** The commands that Redis gets, and the traces by which a proxy recognizes them. */
import { readdirSync, readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { defineCommands } from '../../../src/store/scripts.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { LostReply } from '../../kit/network/proxy.ts'

const folder = new URL('../../../src/store/commands/', import.meta.url)
const files = readdirSync(folder).filter(file => file.endsWith('.lua'))

/** All commands, including any new one. */
export const allCommands: readonly string[] = files.map(file => file.split('.')[0]!)

/** Sent only by replicas that read the registry or prepull. */
export const commandsOfPrepulling = ['read-catalogue', 'end-refresh', 'read-prepulls', 'write-prepulls'] as const

/**
 * Sent only by replicas that serve tenants: `test/integration/store/tenants.test.ts` repeats them, and `store/bills.test.ts` has what
 * those of bills guarantee.
 */
export const commandsOfTenants = [
  ...['read-series', 'read-tenant', 'tell-tenant', 'put-bill', 'take-bills', 'end-bill', 'mark-bills'],
] as const

/** Sent only by replicas that stop idle labs: `test/integration/store/idle-*.test.ts` has what each of them guarantees. */
export const commandsOfIdleness = [
  ...['muster-due', 'enrol-due', 'take-due', 'dismiss-due', 'count-workloads', 'find-activities', 'raise-floor'],
  ...['read-activity', 'read-idle-lab', 'end-check', 'touch-activity', 'keep-activity', 'cull-lab', 'request-stop'],
  ...['judge-usage', 'tell-stop', 'withdraw-stop'],
] as const

/**
 * Sent only by gateways and by replicas that serve apps: `test/integration/store/app-*.test.ts` has what each of them guarantees.
 */
export const commandsOfApps = [
  ...['put-entry', 'remove-entry', 'complete-entries', 'revoke-entries', 'tell-app'],
  ...['create-login', 'remove-login', 'create-session', 'check-sessions', 'extend-sessions'],
  ...['ask-start', 'take-intents', 'end-intent', 'begin-recheck', 'end-recheck', 'use-once'],
  ...['make-code', 'use-code'],
] as const

/** Sent by replicas that serve dispatch, whatever happens: `dispatch/killed.ts` loses a reply to each. */
export const commandsOfKeepers = [
  ...['read-groups', 'read-queue', 'read-dispatch', 'write-decisions', 'reserve-cloud-op'],
  ...['read-machine', 'keep-machine', 'send-container', 'tell-container', 'append-log', 'end-machine'],
] as const

/** Sent by them for clients and for Arvados, by sweeps, after a loss, and where the cloud teaches something: `test/integration/store/` has what each of them guarantees. */
export const commandsOfDispatch = [
  ...commandsOfKeepers,
  ...['accept-container', 'change-container', 'read-container', 'list-containers', 'count-containers', 'read-log'],
  ...['set-behavior', 'draw-op', 'draw-ops', 'explain-groups', 'forget-machines', 'read-throttle', 'doubt-machines'],
  ...['adopt-instance', 'adopt-container', 'floor-epoch', 'set-throttle', 'keep-ended', 'list-ended'],
  ...['mirror-container', 'read-mirrored', 'settle-mirrored', 'note-overload', 'watch-machines'],
] as const

/** Traces of a command: its source's first line, or the hash of the whole once Redis has the script. */
function tracesOf(command: string): readonly string[] {
  const file = files.find(name => name.startsWith(`${command}.`))
  const redis = new Redis({ lazyConnect: true })
  defineCommands(redis)
  const { sha } = (redis as unknown as { scriptsSet: Record<string, { sha: string }> }).scriptsSet[command] ?? {}
  redis.disconnect()
  if (!file || !sha) throw new Error(`no such command: ${command}`)
  return [sha, Buffer.from(readFileSync(new URL(file, folder), 'utf8').split('\n')[0]!).toString('latin1')]
}

/** The loss of the next reply to a command, for proxies. */
export const lossOf = (command: string): LostReply => new LostReply(tracesOf(command))

/** Loses the next reply to a command, sent by any replica. Resolves once Redis carried it out and the reply is lost. */
export function loseReplyTo(fleet: Fleet, command: string): Promise<void> {
  const lost = lossOf(command)
  for (const index of fleet.urls.keys()) fleet.proxies(index).redis.lose(lost)
  return lost.landed
}
