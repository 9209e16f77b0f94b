/** Asks a workload for its activity, at the address of its pod alone: one connection at a time, and one deadline. */
import type { Clock } from '../../base/clock.ts'
import { outcomeWithin } from '../../base/deadline.ts'
import { reasonOf } from '../../base/reasons.ts'
import { type Answer, AnswerError } from '../../http/answer.ts'
import { HttpClient } from '../../http/exchange.ts'
import { type CounterEvidence, FailedLook, type Look, MalformedAnswer, nothing, type Seen } from './evidence.ts'
import { isCredential, type ProbeTarget, type Question, questionsFor, type Sources } from './questions.ts'

export interface ProbeOptions extends Sources {
  /** Limit of the whole look: connections, requests and answers. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Of one answer. */
const maxBytes = 1024 * 1024
/** More than all answers of a look together. */
const maxConnectionBytes = 6 * maxBytes

/**
 * One look at a workload. Every failure is a look too.
 * @throws the reason of `signal`, when it is aborted
 */
export async function probe(clock: Clock, target: ProbeTarget, options: ProbeOptions): Promise<Look> {
  // A client of its own: a connection that is kept could lead to the pod that had the address before.
  const http = new HttpClient({ maxConnections: 1, connections: { literal: true, maxConnectionBytes } })
  try {
    const { timeoutMs, signal } = options
    const outcome = await outcomeWithin(clock, timeoutMs, signal, ends => look(http, target, options, ends))
    return outcome instanceof Error ? failedLook(outcome, target) : outcome
  } finally {
    await http.close()
  }
}

async function look(http: HttpClient, target: ProbeTarget, options: ProbeOptions, signal: AbortSignal): Promise<Seen> {
  const readings: Record<string, number> = {}
  let newest: Seen = { kind: 'seen', ...nothing, source: undefined }
  for (const question of questionsFor(target, options)) {
    const { source, key } = question
    const { busy, ageMs, reading } = await ask(http, question, signal)
    // Counters are not asked then, so their readings of before stay.
    if (busy) return { kind: 'seen', busy, ageMs, source, readings: options.readings ?? {} }
    if (key !== undefined && reading !== undefined) readings[key] = reading
    if (ageMs !== undefined && ageMs < (newest.ageMs ?? Number.POSITIVE_INFINITY)) newest = { ...newest, ageMs, source }
  }
  return { ...newest, readings }
}

async function ask(http: HttpClient, question: Question, signal: AbortSignal): Promise<CounterEvidence> {
  const { url, optional } = question
  const headers = { ...question.headers, 'Accept-Encoding': 'identity' }
  const answer = await http.exchange({ method: 'GET', url, headers, maxBytes, signal })
  if (optional && answer.status === 404) return nothing
  requireReadable(answer)
  return question.read({ body: answer.body.toString(), date: answer.header('date') })
}

function requireReadable({ status, header }: Answer): void {
  const words = `it answers ${status}`
  if (status === 401 || status === 403) throw new FailedLook('denied', words)
  if (status !== 200) throw new FailedLook('unreachable', words)
  if (!['', 'identity'].includes(header('content-encoding').toLowerCase())) {
    throw new FailedLook('unreachable', 'its answer is compressed, which was not asked for')
  }
}

function failedLook(error: Error, { credential }: ProbeTarget): Look {
  if (error instanceof FailedLook) {
    const { kind, message } = error
    return { kind, words: kind === 'denied' ? message + credentialNote(credential) : message }
  }
  const isOurs = error instanceof MalformedAnswer || error instanceof AnswerError
  return { kind: 'unreachable', words: isOurs ? error.message : reasonOf(error).words }
}

function credentialNote(credential: string | undefined): string {
  if (!credential) return ', asked without a credential'
  return isCredential(credential) ? '' : ', asked without its credential, which no header can contain'
}
