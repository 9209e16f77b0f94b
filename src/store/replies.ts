/**
 * The meanings of Redis' error replies. A reply begins with its code, since 7.0 also if a command within a script caused it.
 *
 * - `elsewhere`: this server is no longer a master, or loads data. The connection is renewed, since the address may lead to
 *   another server now, and the command is sent again.
 * - `passes`: the server is busy, or its replicas are late for a moment. The command is sent again.
 * - `someone`: an administrator has to put it right at Redis. No operation fails for it: it is logged, and tried again later.
 * - `cluster`: the server belongs to a Redis Cluster. Handled in the same way.
 *
 * Any other reply is a defect of ours.
 */
import { ReplyError } from 'ioredis'

export type Meaning = 'elsewhere' | 'passes' | 'someone' | 'cluster'

const meanings: ReadonlyMap<string, Meaning> = new Map([
  ...['READONLY', 'UNBLOCKED', 'MASTERDOWN', 'LOADING'].map(code => [code, 'elsewhere'] as const),
  ...['BUSY', 'UNKILLABLE', 'NOREPLICAS'].map(code => [code, 'passes'] as const),
  ...['OOM', 'MISCONF', 'NOAUTH', 'WRONGPASS', 'NOPERM', 'DENIED'].map(code => [code, 'someone'] as const),
  ...['MOVED', 'ASK', 'CROSSSLOT', 'CLUSTERDOWN', 'TRYAGAIN'].map(code => [code, 'cluster'] as const),
])

/** The message of servers before 7.2 for a right that a script lacks; later ones reply NOPERM. */
const inScript = /^ERR The user executing the script can't /

/** The server has become a replica. This was not found by an error reply. */
export class Demoted extends Error {
  override readonly name = 'Demoted'
}

/** The code of an error reply; undefined if there was no reply. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof ReplyError ? (/^\S+/.exec((error as Error).message)?.[0] ?? '') : undefined
}

/** The meaning of an error: `defect` for any other reply, undefined if there was no reply. */
export function meaningOf(error: unknown): Meaning | 'defect' | undefined {
  if (error instanceof Demoted) return 'elsewhere'
  if (error instanceof ReplyError && inScript.test((error as Error).message)) return 'someone'
  const code = codeOf(error)
  return code === undefined ? undefined : (meanings.get(code) ?? 'defect')
}
