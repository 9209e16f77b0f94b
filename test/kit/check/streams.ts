/** Checks event streams and the transcripts of clients: I4. */

import {
  type Evidence,
  opOf,
  type ParsedHistory,
  type StreamEvent,
  streamsOf,
  type Violation,
} from '../evidence/evidence.ts'
import type { Transcript } from '../evidence/history.ts'

/** I4: streams are 1..n, every transcript is a contiguous part of its stream, and all clients read the same. */
export function checkI4(evidence: Evidence, { transcripts }: ParsedHistory): Violation[] {
  const streams = streamsOf(evidence)
  const gaps = [...streams].flatMap(([user, ops]) =>
    [...ops].flatMap(([op, events]) => contiguous(events, 1, `stream of ${user}, op ${op}`)),
  )
  const read = transcripts.filter(({ status }) => status === 200)
  return [
    ...gaps,
    ...read.flatMap(transcript => checkTranscript(transcript, evidence)),
    ...read.flatMap(transcript => compareWithStream(transcript, streams, evidence)),
    ...agree(read, evidence),
  ]
}

function contiguous(events: readonly StreamEvent[], firstSeq: number, what: string): Violation[] {
  let progress = 0
  return events.flatMap(({ id, event, data }, i) => {
    const violations: Violation[] = []
    const { op, seq } = opOf(id)
    if (op !== opOf(events[0]!.id).op) violations.push(`I4 ${what}: ${id} is of another operation`)
    if (seq !== firstSeq + i) violations.push(`I4 ${what}: ${id} where ${firstSeq + i} was due`)
    if (data === '') violations.push(`I4 ${what}: ${id} has no data`)
    if (event === 'progress' && Number(data) < progress) violations.push(`I4 ${what}: progress fell at ${id}`)
    if (event === 'progress') progress = Math.max(progress, Number(data))
    return violations
  })
}

type ReadEvent = Transcript['events'][number]
const hasId = (event: ReadEvent): event is ReadEvent & { readonly id: string } => event.id !== undefined

function checkTranscript(transcript: Transcript, { expects }: Evidence): Violation[] {
  const { user, url, lastEventId, events } = transcript
  const what = `transcript of ${user} at ${url} after ${lastEventId ?? 'nothing'}`
  const numbered = events.filter(hasId)
  const violations: Violation[] = []
  for (const [i, { id, event }] of events.entries()) {
    if (id !== undefined) continue
    if (!expects.redisLoss) violations.push(`I4 ${what}: an event without id, though Redis lost nothing`)
    else if (i < events.length - 1 || event !== 'failed') violations.push(`I4 ${what}: it goes on after a loss`)
  }
  const [first] = numbered
  if (!first) return violations
  const { op, seq } = opOf(first.id)
  const after = lastEventId === undefined ? undefined : opOf(lastEventId)
  if (after && after.op !== op) violations.push(`I4 ${what}: it goes on with ${first.id}`)
  const due = (after?.seq ?? 0) + 1
  // A Last-Event-ID beyond the end of a stream restarts the stream.
  if (seq !== due && seq !== 1) violations.push(`I4 ${what}: it begins with ${first.id}`)
  // A compare that finds the lab of a lost stream restarts the stream, also for its present readers.
  const anew = expects.redisLoss ? numbered.findIndex(({ id }, i) => i > 0 && opOf(id).seq === 1) : -1
  if (anew < 0) return [...violations, ...contiguous(numbered, seq, what)]
  return [
    ...violations,
    ...contiguous(numbered.slice(0, anew), seq, what),
    ...contiguous(numbered.slice(anew), 1, `${what}, begun anew`),
  ]
}

/** If Redis lost data, a stream may restart under the same op: then only clients of one time can agree. */
function compareWithStream(
  { user, url, events }: Transcript,
  streams: ReturnType<typeof streamsOf>,
  { expects }: Evidence,
): Violation[] {
  if (expects.redisLoss) return []
  const wrong = events.filter(hasId).find(({ id, event, data }) => {
    const stream = streams.get(user)?.get(opOf(id).op)
    // The stream was trimmed or expired as a whole: I3 covers the operation.
    return stream && !stream.some(kept => kept.id === id && kept.event === event && kept.data === data)
  })
  if (!wrong) return []
  const kept = streams
    .get(user)
    ?.get(opOf(wrong.id).op)
    ?.find(({ id }) => id === wrong.id)
  return [`I4 ${user} was told ${describe(wrong)} at ${url}; the stream has ${kept ? describe(kept) : 'none'}`]
}

const describe = ({ id, event, data }: StreamEvent) => `${id} ${event} "${data}"`

function agree(transcripts: readonly Transcript[], { expects }: Evidence): Violation[] {
  if (expects.redisLoss) return []
  const first = new Map<string, string>()
  return transcripts.flatMap(({ user, url, events }) => {
    const wrong = events.filter(hasId).find(event => {
      const key = `${user} ${event.id}`
      const before = first.get(key) ?? describe(event)
      first.set(key, before)
      return before !== describe(event)
    })
    return wrong
      ? [`I4 ${user} was told ${describe(wrong)} at ${url}, and ${first.get(`${user} ${wrong.id}`)} before`]
      : []
  })
}
