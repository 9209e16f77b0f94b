/**
 * BigQuery as its REST speaks it: `jobs.query`, `jobs.getQueryResults`, and Google's tokens. It knows the two statements of the
 * program and carries them out in SQLite; whether BigQuery itself takes their text, no test here shows. Requests that the API
 * would refuse are refused. `next` scripts what goes wrong.
 */
import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { z } from 'zod'
import { statementsOf } from '../../../src/billing/bigquery/statements.ts'

const type = z.strictObject({ type: z.enum(['STRING', 'INT64', 'BOOL']) })
const value = z.strictObject({ value: z.string() })
const parameter = z.union([
  z.strictObject({ name: z.string(), parameterType: type, parameterValue: value }),
  z.strictObject({
    name: z.string(),
    parameterType: z.strictObject({
      type: z.literal('ARRAY'),
      arrayType: z.strictObject({
        type: z.literal('STRUCT'),
        structTypes: z.array(z.strictObject({ name: z.string(), type })),
      }),
    }),
    parameterValue: z.strictObject({
      arrayValues: z.array(z.strictObject({ structValues: z.record(z.string(), value) })),
    }),
  }),
])
const queryRequest = z.strictObject({
  query: z.string(),
  useLegacySql: z.literal(false),
  parameterMode: z.literal('NAMED'),
  queryParameters: z.array(parameter),
  requestId: z
    .string()
    .regex(/^[\x20-\x7e]{1,36}$/)
    .optional(),
  timeoutMs: z.number().int().positive(),
  maxResults: z.number().int().positive(),
  location: z.string().optional(),
})
type QueryRequest = z.output<typeof queryRequest>

/** What goes wrong with the next request of a query. */
export type Fault =
  | 'token-refused'
  | 'unavailable'
  | 'rate-limited'
  | 'conflict'
  | 'denied'
  | 'missing'
  | 'answer-lost'
  | 'slow-job'
  | 'hangs'
  | 'too-much'
  | 'rubbish'

type Rows = readonly Readonly<Record<string, SQLInputValue>>[]

const apiError = (status: number, reason: string, message: string) => ({
  status,
  body: { error: { code: status, message, errors: [{ reason, message, domain: 'global' }], status: reason } },
})

/** Of heads of the same UID, which no key keeps out. */
const oneHead = `(SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY ns_uid
  ORDER BY closed_at IS NOT NULL DESC, generation DESC, revision DESC) AS place FROM T_head) WHERE place = 1)`

export class FakeBigQuery {
  readonly database = new DatabaseSync(':memory:')
  /** Faults of the next requests, in order. */
  readonly next: Fault[] = []
  readonly requestIds: string[] = []
  /** Rows of a page. */
  pageRows = Number.POSITIVE_INFINITY
  readonly key: string
  readonly #server = createServer((request, response) => void this.#handle(request, response))
  /** Answers by id of the request, as BigQuery keeps them for some minutes. */
  readonly #done = new Map<string, Rows>()
  readonly #jobs = new Map<string, { rows: Rows; looks: number }>()
  #tokens = 0
  #validFrom = 1
  readonly #statements = statementsOf('project', 'dataset', 'T')

  private constructor() {
    this.database.exec(`CREATE TABLE T (ns_name TEXT, name TEXT, value TEXT, ns_uid TEXT);
CREATE TABLE T_head (ns_uid TEXT, ns_name TEXT, cluster TEXT, generation INTEGER, revision INTEGER, closed_at TEXT);
CREATE TABLE T_log (ns_uid TEXT, ns_name TEXT, cluster TEXT, generation INTEGER, revision INTEGER, closed INTEGER, billing TEXT)`)
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    this.key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  }

  static async start(): Promise<FakeBigQuery> {
    const fake = new FakeBigQuery()
    await new Promise<void>(resolve => fake.#server.listen(0, '127.0.0.1', resolve))
    return fake
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The JSON key of a service account. */
  get credentials(): string {
    return JSON.stringify({
      ...{ type: 'service_account', client_email: 'bills@project.example', private_key: this.key },
      token_uri: `${this.url}/token`,
    })
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
    this.database.close()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    const url = new URL(request.url!, this.url)
    if (url.pathname === '/token') return this.#token(text, response)
    const fault = this.next.shift()
    const answer = fault === undefined ? undefined : this.#faulty(fault)
    if (answer) return send(response, answer.status, answer.body)
    if (request.headers.authorization !== `Bearer token-${this.#tokens}` || this.#tokens < this.#validFrom) {
      const { status, body } = apiError(401, 'authError', 'Request had invalid authentication credentials')
      return send(response, status, body)
    }
    const { status, body } = this.#answer(request.method!, url, text, fault)
    // It has been carried out.
    if (fault === 'hangs') return
    if (fault === 'answer-lost') return void response.socket?.destroy()
    if (fault === 'too-much') return send(response, 200, { padding: 'x'.repeat(17 * 1024 * 1024) })
    send(response, status, body)
  }

  #token(text: string, response: ServerResponse): void {
    const assertion = new URLSearchParams(text).get('assertion') ?? ''
    const claims = JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString() || '{}')
    const isScope = claims.scope === 'https://www.googleapis.com/auth/bigquery'
    if (!isScope) return void send(response, 400, { error: 'scope' })
    this.#tokens += 1
    send(response, 200, { access_token: `token-${this.#tokens}`, token_type: 'Bearer', expires_in: 3600 })
  }

  #faulty(fault: Fault): { status: number; body: object | string } | undefined {
    switch (fault) {
      case 'token-refused':
        this.#validFrom = this.#tokens + 1
        return undefined
      case 'unavailable':
        return apiError(503, 'backendError', 'try again')
      case 'rate-limited':
        return apiError(403, 'rateLimitExceeded', 'Exceeded rate limits')
      case 'conflict':
        return apiError(400, 'invalidQuery', 'Transaction is aborted due to concurrent update against table T_head')
      case 'denied':
        return apiError(403, 'accessDenied', 'Access Denied: Table project:dataset.T: user does not have permission')
      case 'missing':
        return apiError(404, 'notFound', 'Not found: Table project:dataset.T')
      case 'rubbish':
        return { status: 200, body: '<html>' }
      default:
        return undefined
    }
  }

  #answer(method: string, url: URL, text: string, fault: Fault | undefined): { status: number; body: object } {
    const root = '/bigquery/v2/projects/project/queries'
    if (method === 'POST' && url.pathname === root) return this.#query(text, fault)
    const job = this.#jobs.get(decodeURIComponent(url.pathname.slice(root.length + 1)))
    if (method !== 'GET' || !job) return apiError(404, 'notFound', 'Not found: Job')
    job.looks -= 1
    return {
      status: 200,
      body: this.#page(url.pathname.slice(root.length + 1), Number(url.searchParams.get('pageToken') ?? 0)),
    }
  }

  #query(text: string, fault: Fault | undefined): { status: number; body: object } {
    const parsed = queryRequest.safeParse(JSON.parse(text))
    if (!parsed.success) return apiError(400, 'invalid', z.prettifyError(parsed.error))
    const { requestId } = parsed.data
    if (requestId !== undefined) this.requestIds.push(requestId)
    const rows = this.#done.get(requestId ?? '') ?? this.#run(parsed.data)
    if (!rows) return apiError(400, 'invalidQuery', 'Syntax error: it is not a statement of this fake')
    if (requestId !== undefined) this.#done.set(requestId, rows)
    const id = `job_${this.#jobs.size + 1}`
    this.#jobs.set(id, { rows, looks: fault === 'slow-job' ? 2 : 0 })
    return { status: 200, body: this.#page(id, 0) }
  }

  #page(jobId: string, from: number): object {
    const { rows, looks } = this.#jobs.get(jobId)!
    const jobReference = { projectId: 'project', jobId, location: 'EU' }
    if (looks > 0) return { kind: 'bigquery#queryResponse', jobReference, jobComplete: false }
    const names = Object.keys(rows[0] ?? {})
    const page = rows.slice(from, from + this.pageRows)
    const isLast = from + page.length >= rows.length
    return {
      ...{ kind: 'bigquery#queryResponse', jobReference, jobComplete: true, totalRows: String(rows.length) },
      schema: { fields: names.map(name => ({ name, type: 'STRING', mode: 'NULLABLE' })) },
      rows: page.map(row => ({ f: names.map(name => ({ v: row[name] === null ? null : String(row[name]) })) })),
      ...(!isLast && { pageToken: String(from + page.length) }),
    }
  }

  #run({ query, queryParameters }: QueryRequest): Rows | undefined {
    const values = new Map(queryParameters.map(each => [each.name, asJson(each)]))
    const all = (text: string, ...args: string[]): Rows =>
      this.database.prepare(text).all(...args.map(name => values.get(name)!)) as never
    if (query === this.#statements.read) {
      return all(
        `SELECT h.ns_uid, h.ns_name, h.generation, h.revision, r.name, r.value, r.ns_name AS named
FROM ${oneHead} h LEFT JOIN T r ON r.ns_uid = h.ns_uid WHERE h.cluster = ? AND h.closed_at IS NULL`,
        'cluster',
      )
    }
    return query === this.#statements.write ? this.#write(all) : undefined
  }

  #write(all: (text: string, ...args: string[]) => Rows): Rows {
    const bills = `SELECT json_extract(value, '$.ns_uid') AS ns_uid, json_extract(value, '$.ns_name') AS ns_name,
  CAST(json_extract(value, '$.generation') AS INTEGER) AS generation, CAST(json_extract(value, '$.revision') AS INTEGER) AS revision,
  json_extract(value, '$.ends') = 'true' AS ends, json_extract(value, '$.billing') AS billing FROM json_each(?)`
    all('BEGIN')
    all(
      `CREATE TEMP TABLE claimed AS SELECT b.ns_uid, b.ns_name, b.ends, b.billing,
  CASE WHEN b.ends THEN ifnull(h.generation, 0) ELSE b.generation END AS generation,
  CASE WHEN b.ends THEN ifnull(h.revision, 0) ELSE b.revision END AS revision
FROM (${bills}) b LEFT JOIN ${oneHead} h ON h.ns_uid = b.ns_uid
WHERE h.ns_uid IS NULL OR (h.closed_at IS NULL AND (b.ends OR (h.generation, h.revision) < (b.generation, b.revision)))`,
      'bills',
    )
    all('DELETE FROM T_head WHERE ns_uid IN (SELECT ns_uid FROM claimed)')
    all(
      `INSERT INTO T_head SELECT ns_uid, ns_name, ?, generation, revision, CASE WHEN ends THEN 'now' END FROM claimed`,
      'cluster',
    )
    all(
      `INSERT INTO T_log SELECT ns_uid, ns_name, ?, generation, revision, ends, billing FROM claimed WHERE ? = 'true'`,
      ...['cluster', 'log'],
    )
    all('DELETE FROM T WHERE ns_uid IN (SELECT ns_uid FROM claimed)')
    all(
      `INSERT INTO T SELECT c.ns_name, json_extract(l.value, '$.name'), json_extract(l.value, '$.value'), c.ns_uid
FROM json_each(?) l JOIN claimed c ON c.ns_uid = json_extract(l.value, '$.ns_uid')`,
      'lines',
    )
    const rows = all(
      `SELECT h.ns_uid, CASE WHEN c.ns_uid IS NULL THEN 'false' ELSE 'true' END AS written, h.generation, h.revision,
  CASE WHEN h.closed_at IS NULL THEN 'false' ELSE 'true' END AS closed
FROM (${bills}) b JOIN ${oneHead} h ON h.ns_uid = b.ns_uid LEFT JOIN claimed c ON c.ns_uid = b.ns_uid`,
      'bills',
    )
    all('DROP TABLE claimed')
    all('COMMIT')
    return rows
  }
}

/** A scalar as its text, a list as JSON of objects of texts. */
function asJson({ parameterValue }: z.output<typeof parameter>): string {
  if ('value' in parameterValue) return parameterValue.value
  const plain = parameterValue.arrayValues.map(({ structValues }) =>
    Object.fromEntries(Object.entries(structValues).map(([name, { value }]) => [name, value])),
  )
  return JSON.stringify(plain)
}

function send(response: ServerResponse, status: number, body: object | string): void {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}
