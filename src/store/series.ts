/** Reads streams with one series after another, whose followers go on from one to the next. */
import type { Connection, Entry } from './connection.ts'
import { pairs } from './fields.ts'
import type { StreamRead } from './streams.ts'

export interface StoredEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** Reads a stream that exists, although it may have no event yet. @throws {RetryLater} when Redis does not answer */
export async function readSeries(
  connection: Pick<Connection, 'run'>,
  key: string,
  series: number | undefined,
  afterSeq: number,
  limit: number,
): Promise<StreamRead<StoredEvent>> {
  return streamRead(await connection.run('read-series', [key], [series ?? '', afterSeq, limit]), series, afterSeq)
}

/** The events in an answer of `read-series` or `read-tenant`, which was asked for those after a place. */
export function streamRead(said: unknown, series: number | undefined, afterSeq: number): StreamRead<StoredEvent> {
  const [answer, ...rest] = said as [string]
  const place = { found: true, ended: false } as const
  // There is no event yet.
  if (answer === 'none') return { ...place, series: series ?? 0, lastSeq: afterSeq, events: [] }
  const [lastSeries, lastSeq, entries] = rest as unknown as [number, number, Entry[]]
  const events = entries.map(eventOf)
  const last = events.at(-1)
  if (!last) return { ...place, series: lastSeries, lastSeq, events }
  const [of = 0, seq = 0] = last.id.split('-').map(Number)
  const more = of < lastSeries || seq < lastSeq
  return { ...place, series: of, lastSeq: seq, events, ...(more && { more }) }
}

function eventOf([id, flat]: Entry): StoredEvent {
  const fields = pairs(flat)
  return { id, event: fields.get('event') ?? '', data: fields.get('data') ?? '' }
}
