/** The words of a runner, as scripts take them. A machine may lie: anything impossible is left out, or bounded. Pure. */
import type { Entry } from '../../dispatch/protocol.ts'
import type { Told } from './keeping-words.ts'

export type SpoolEntry = readonly [seq: number, entry: Extract<Entry, { kind: 'output' | 'lost' }>]
export type Piece = readonly [first: number, seq: number, stream: string, base64: string, bytes: number]

/** Neither fractions nor numbers that are none. */
export const whole = (ms: number): string => String(Number.isFinite(ms) ? Math.max(0, Math.trunc(ms)) : 0)

/** @returns undefined if it is no uuid of a container */
export function opOf(uuid: string): number | undefined {
  const [, digits] = /^[a-z0-9]+-dz642-([0-9a-z]{15})$/.exec(uuid) ?? []
  const op = digits === undefined ? Number.NaN : Number.parseInt(digits, 36)
  return Number.isSafeInteger(op) ? op : undefined
}

/** Arguments of `tell-container`. The machine's words are checked: it may lie. */
export function wordsOf(told: Told): readonly (string | number)[] {
  if (told.what === 'lacks') return ['lacks', 0, '', told.why?.toWellFormed() || 'its machine does not have it']
  if (told.what === 'running')
    return ['running', whole(told.atMs), told.gatewayAddress.toWellFormed(), told.gatewayPin ?? '']
  const { atMs, exitCode, reason, timedOut } = told
  const code = Number.isSafeInteger(exitCode) ? String(exitCode) : ''
  const why = (reason ?? '').toWellFormed().slice(0, longestReason) || 'it ended without an exit code'
  return [timedOut ? 'late' : 'ended', whole(atMs), code, why]
}

const longestReason = 1_000
/** The most bytes that one entry may report as lost: a machine may lie. */
const mostLost = 2 ** 40

/** Output of one stream in a row becomes one piece, with the places of its first and last entries. Places only rise. */
export function piecesOf(entries: readonly SpoolEntry[], most: number): Piece[] {
  const found: Piece[] = []
  let last = 0
  let open: { first: number; seq: number; stream: string; parts: Buffer[]; size: number } | undefined
  const close = () => {
    // Two streams of nothing would have the same place.
    if (open && open.size > 0)
      found.push([open.first, open.seq, open.stream, Buffer.concat(open.parts).toString('base64'), open.size])
    open = undefined
  }
  for (const [seq, entry] of entries) {
    if (!Number.isSafeInteger(seq) || seq <= last) continue
    last = seq
    if (entry.kind === 'lost') {
      close()
      found.push([seq, seq, '', '', Math.min(mostLost, Math.max(0, Math.trunc(entry.bytes) || 0))])
      continue
    }
    const stream = entry.stream === 'stderr' ? 'stderr' : 'stdout'
    const bytes = Buffer.from(entry.base64, 'base64')
    if (open && (open.stream !== stream || open.size + bytes.length > most)) close()
    open ??= { first: seq, seq, stream, parts: [], size: 0 }
    open.seq = seq
    open.parts.push(bytes)
    open.size += bytes.length
  }
  close()
  return found
}
