/**
 * Queries by BigQuery's REST: `jobs.query`, and `jobs.getQueryResults` for what takes longer or has more pages. A query whose
 * answer was lost is sent again with the same `requestId`, so that it runs once.
 * https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/query
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { cleaned } from '../../base/reasons.ts'
import type { Answer } from '../../http/answer.ts'
import type { GoogleTokens } from '../../images/registry/google-tokens.ts'
import { isSuccess, jsonOf, RegistryError, type RegistryHttp } from '../../images/registry/http.ts'
import { mostAnswerBytes, mostReadBytes, TableTrouble, type TroubleReason } from '../table.ts'
import { answerSchema, errorSchema, type QueryAnswer, type ReadRow, rowsOf } from './parameters.ts'

export interface QueriesOptions {
  readonly endpoint: string
  readonly projectId: string
  readonly location?: string | undefined
  readonly http: Pick<RegistryHttp, 'send' | 'close'>
  readonly tokens: Pick<GoogleTokens, 'headers' | 'renew'>
  readonly clock: Clock
  /** Limit of one request; a query may take several. */
  readonly timeoutMs: number
}

export interface Query {
  readonly text: string
  readonly parameters: readonly object[]
  /** It must not run twice. What reads must: its former answer is old. */
  readonly isWrite: boolean
}

/** A query may take so many times the limit of a request. */
const patience = 6
/** Rows of one page. */
const pageRows = 10_000
/** Other writers of the same tables: BigQuery ends one of two transactions. */
const mostConflicts = 3

const byReason: Readonly<Record<string, TroubleReason>> = {
  accessDenied: 'AccessDenied',
  notFound: 'TableMissing',
  ...{ rateLimitExceeded: 'Unreachable', quotaExceeded: 'Unreachable', jobRateLimitExceeded: 'Unreachable' },
  ...{ backendError: 'Unreachable', internalError: 'Unreachable', jobBackendError: 'Unreachable' },
  ...{ timeout: 'TimedOut', stopped: 'TimedOut' },
}

export class Queries {
  readonly #options: QueriesOptions
  readonly #root: string
  /** The query whose answer is not known, with its id. */
  #unanswered: { readonly of: string; readonly id: string } | undefined

  constructor(options: QueriesOptions) {
    const { endpoint, projectId } = options
    this.#options = options
    this.#root = `${endpoint.replace(/\/+$/, '')}/bigquery/v2/projects/${encodeURIComponent(projectId)}/queries`
  }

  /** @throws {TableTrouble} */
  async rows(query: Query, signal: AbortSignal): Promise<readonly ReadRow[]> {
    for (let conflicts = 0; ; conflicts += 1) {
      try {
        return await this.#run(query, signal)
      } catch (error) {
        if (!(error instanceof Conflict)) throw troubleOf(error, signal)
        if (conflicts >= mostConflicts) throw new TableTrouble('TimedOut', error.message)
      }
    }
  }

  async close(): Promise<void> {
    await this.#options.http.close()
  }

  async #run({ text, parameters, isWrite }: Query, signal: AbortSignal): Promise<readonly ReadRow[]> {
    const { location, timeoutMs } = this.#options
    const requestId = isWrite ? this.#idOf(JSON.stringify([text, parameters])) : undefined
    const body = JSON.stringify({
      ...{ query: text, useLegacySql: false, parameterMode: 'NAMED', queryParameters: parameters },
      ...(requestId !== undefined && { requestId }),
      ...{ timeoutMs: waitMs(timeoutMs), maxResults: pageRows },
      ...(location !== undefined && { location }),
    })
    try {
      const rows = await this.#pages(await this.#ask('POST', new URL(this.#root), signal, body), signal)
      if (isWrite) this.#unanswered = undefined
      return rows
    } catch (error) {
      // It has an answer, which the same id would only repeat.
      const isAnswered = error instanceof Conflict || (error instanceof TableTrouble && error.reason !== 'TimedOut')
      if (isWrite && isAnswered) this.#unanswered = undefined
      throw error
    }
  }

  #idOf(asked: string): string {
    if (this.#unanswered?.of !== asked) this.#unanswered = { of: asked, id: randomUUID() }
    return this.#unanswered.id
  }

  /** Waits for the query, and reads all pages. */
  async #pages(first: QueryAnswer, signal: AbortSignal): Promise<readonly ReadRow[]> {
    const { clock, timeoutMs } = this.#options
    const endMs = clock.monotonicMs() + patience * timeoutMs
    const rows: ReadRow[] = []
    let bytes = 0
    for (let answer = first; ; ) {
      for (const row of rowsOf(answer)) {
        rows.push(row)
        bytes += JSON.stringify(row).length
      }
      if (bytes > mostReadBytes) throw new TableTrouble('Refused', `an answer has more than ${mostReadBytes} bytes`)
      if (answer.jobComplete && !answer.pageToken) return rows
      if (clock.monotonicMs() >= endMs) throw new TableTrouble('TimedOut', 'the query goes on')
      answer = await this.#more(answer, signal)
    }
  }

  async #more({ jobReference, pageToken }: QueryAnswer, signal: AbortSignal): Promise<QueryAnswer> {
    if (!jobReference) throw new TableTrouble('Refused', 'an answer names no job')
    const { jobId, location } = jobReference
    const query = new URLSearchParams({
      ...{ timeoutMs: String(waitMs(this.#options.timeoutMs)), maxResults: String(pageRows) },
      ...(location && { location }),
      ...(pageToken && { pageToken }),
    })
    return this.#ask('GET', new URL(`${this.#root}/${encodeURIComponent(jobId)}?${query}`), signal)
  }

  /** Asks once more with a new token if the first one is refused. */
  async #ask(method: 'GET' | 'POST', url: URL, signal: AbortSignal, body?: string): Promise<QueryAnswer> {
    const { http, tokens } = this.#options
    const send = async () => {
      const headers = { ...(await tokens.headers(signal)), 'Content-Type': 'application/json' }
      return http.send({ method, url, headers, maxBytes: mostPageBytes, signal, ...(body !== undefined && { body }) })
    }
    let answer = await send()
    if (answer.status === 401) {
      await tokens.renew()
      answer = await send()
    }
    if (!isSuccess(answer)) throw failureOf(answer)
    return jsonOf(answer, answerSchema)
  }
}

const mostPageBytes = 16 * mostAnswerBytes

/** BigQuery answers a little later than this. */
const waitMs = (timeoutMs: number): number => Math.max(500, Math.round(timeoutMs * 0.7))

/** Another transaction has changed the same tables. */
class Conflict extends Error {}

function failureOf(answer: Answer): Error {
  const { status, url } = answer
  let parsed: ReturnType<typeof errorSchema.parse> | undefined
  try {
    parsed = jsonOf(answer, errorSchema)
  } catch {
    parsed = undefined
  }
  const reason = parsed?.error.errors?.[0]?.reason ?? ''
  const message = parsed?.error.message ?? ''
  const detail = cleaned(`${url.host} answered ${status} ${reason} ${message}`)
  if (/aborted due to concurrent|concurrent update|serialize access/i.test(message)) return new Conflict(detail)
  const byStatus: TroubleReason = status === 401 || status === 403 ? 'AccessDenied' : 'Refused'
  return new TableTrouble(byReason[reason] ?? byStatus, detail)
}

function troubleOf(error: unknown, signal: AbortSignal): Error {
  if (signal.aborted) return signal.reason as Error
  if (error instanceof TableTrouble) return error
  if (error instanceof RegistryError) {
    const isLate = /in time|no answer within/.test(error.message)
    return new TableTrouble(isLate ? 'TimedOut' : 'Unreachable', cleaned(error.message), { cause: error })
  }
  return error as Error
}
