/** A receiver of traces on loopback: turns OTLP over HTTP in JSON into a list of spans. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty for the root span. */
  readonly parentSpanId: string
  readonly name: string
  readonly kind: 'internal' | 'server' | 'client'
  /** Milliseconds since the epoch, with fractions. */
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  /** The error, if there was one. */
  readonly error?: string
  readonly service: string
  readonly replica: string
}

/** Behaviour of the receiver: accepts, refuses with a status, never answers, or answers without an end. */
export type ReceiverMood = 'takes' | 'hangs' | 'trickles' | number

const maxBodyBytes = 16 * 2 ** 20

export class TraceReceiver {
  readonly spans: ReceivedSpan[] = []
  /** Headers of each export, including refused ones. */
  readonly headers: IncomingMessage['headers'][] = []
  mood: ReceiverMood = 'takes'
  readonly #server: Server
  readonly #watchers = new Set<() => void>()

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  static async start(): Promise<TraceReceiver> {
    const receiver = new TraceReceiver()
    await new Promise<void>(resolve => receiver.#server.listen(0, '127.0.0.1', resolve))
    return receiver
  }

  /** Value for `tracing.endpoint`. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1/traces`
  }

  /** Resolves when the condition holds for the received spans. Rejects with their names after the limit. */
  until(holds: (receiver: TraceReceiver) => boolean, limitMs = 10_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!holds(this)) return
        this.#watchers.delete(look)
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#watchers.delete(look)
        reject(new Error(`not received in time; so far: ${this.spans.map(({ name }) => name).join(', ') || 'nothing'}`))
      }, limitMs)
      this.#watchers.add(look)
      look()
    })
  }

  async close(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request).catch(() => null)
    this.headers.push(request.headers)
    if (body !== null && this.mood === 'takes') this.spans.push(...readSpans(body))
    if (this.mood === 'trickles') trickle(response)
    else if (this.mood !== 'hangs') {
      const status = body === null ? 413 : this.mood === 'takes' ? 200 : this.mood
      response.writeHead(status, { 'Content-Type': 'application/json' }).end('{}')
    }
    for (const look of [...this.#watchers]) look()
  }
}

/** Sends a byte now and then, so that the connection is never idle. */
function trickle(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'application/json' })
  const timer = setInterval(() => response.write(' '), 50)
  response.once('close', () => clearInterval(timer))
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length
    if (bytes > maxBodyBytes) throw new Error('too much')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString()
}

type AnyValue = Readonly<Record<string, string | number | boolean>>
type Attributes = readonly { readonly key: string; readonly value: AnyValue }[]

/** The used part of an ExportTraceServiceRequest in JSON. */
interface ExportRequest {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: Attributes }
    readonly scopeSpans?: readonly { readonly spans?: readonly OtlpSpan[] }[]
  }[]
}

interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes?: Attributes
  readonly status?: { readonly code?: number; readonly message?: string }
}

const kinds: Readonly<Record<number, ReceivedSpan['kind']>> = { 2: 'server', 3: 'client' }
const errorCode = 2

function readSpans(body: string): ReceivedSpan[] {
  const { resourceSpans = [] } = JSON.parse(body) as ExportRequest
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) => {
    const of = readAttributes(resource?.attributes)
    const place = { service: String(of['service.name']), replica: String(of['service.instance.id']) }
    return scopeSpans.flatMap(({ spans = [] }) => spans.map(span => ({ ...readSpan(span), ...place })))
  })
}

function readSpan(span: OtlpSpan): Omit<ReceivedSpan, 'service' | 'replica'> {
  const { traceId, spanId, parentSpanId = '', name, kind, status } = span
  return {
    ...{ traceId, spanId, parentSpanId, name, kind: kinds[kind] ?? 'internal' },
    startMs: Number(span.startTimeUnixNano) / 1e6,
    endMs: Number(span.endTimeUnixNano) / 1e6,
    attributes: readAttributes(span.attributes),
    ...(status?.code === errorCode && { error: status.message ?? '' }),
  }
}

function readAttributes(attributes: Attributes = []): Record<string, string | number | boolean> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, 'intValue' in value ? Number(value.intValue) : Object.values(value)[0]!]),
  )
}
