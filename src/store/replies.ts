/**
 * The meanings of Redis' error replies. A reply begins with its code, also one that a command within a script has caused
 * (since 7.0).
 *
 * - `elsewhere`: this server is no master any more, or loads data. The connection is made anew, since the address may
 *   lead to another server by now, and the command is sent again.
 * - `passes`: the server is busy, or its replicas are late for a moment. The command is sent again.
 * - `someone`: an administrator has to put it right, at Redis. Nothing fails for that: it is told, and tried again later.
 * - `cluster`: the server is one of a Redis Cluster. Likewise.
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

/** A right that a script lacks, as servers before 7.2 say it; later ones have NOPERM. */
const inScript = /^ERR The user executing the script can't /

/** Told by other means than a reply: the server has become a replica. */
export class Demoted extends Error {
  override readonly name = 'Demoted'
}

/** The code of an error reply; undefined where there was no reply. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof ReplyError ? (/^\S+/.exec((error as Error).message)?.[0] ?? '') : undefined
}

/** The meaning of what came instead of an answer: a `defect`, or undefined where there was no reply. */
export function meaningOf(error: unknown): Meaning | 'defect' | undefined {
  if (error instanceof Demoted) return 'elsewhere'
  if (error instanceof ReplyError && inScript.test((error as Error).message)) return 'someone'
  const code = codeOf(error)
  return code === undefined ? undefined : (meanings.get(code) ?? 'defect')
}
