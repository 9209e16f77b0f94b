/** Queues finished spans for the receiver, bounded in number and time, and counts losses. */
import { ExportResultCode } from '@opentelemetry/core'
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace'
import { type Clock, notNeeded } from '../base/clock.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'

export interface SpanQueueOptions {
  readonly exporter: SpanExporter
  /** Spans that may be waiting or being sent; further ones are dropped. */
  readonly maxSpans: number
  /** Time-out of one export, with all its attempts. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Pick<Metrics, 'spans'>
}

/** How long a span waits to be sent together with others. A killed replica loses its unsent spans. */
const batchMs = 500
const batchSpans = 512
/** Child spans kept per parent: a step that is retried for minutes has hundreds of requests. */
const heldSpans = 256

type ExportResult = Parameters<Parameters<SpanExporter['export']>[1]>[0]

export class SpanQueue implements SpanProcessor {
  readonly #options: SpanQueueOptions
  readonly #batches: BatchSpanProcessor
  /** Children that wait for the end of their parent, by its id. */
  readonly #held = new Map<string, ReadableSpan[]>()
  /** Number of spans that are neither sent nor failed yet. */
  #outstanding = 0
  #failing = false

  constructor(options: SpanQueueOptions) {
    this.#options = options
    const exporter: SpanExporter = {
      export: (spans, done) => void this.#send(spans).then(done),
      shutdown: () => options.exporter.shutdown(),
    }
    this.#batches = new BatchSpanProcessor({
      exporter,
      maxQueueSize: options.maxSpans,
      maxExportBatchSize: Math.min(batchSpans, options.maxSpans),
      scheduledDelayMillis: batchMs,
      // Longer than our own time-out, which is first.
      exportTimeoutMillis: options.timeoutMs + 1_000,
    })
  }

  /** Keeps the children of this span until it ends. */
  hold(spanId: string): void {
    this.#held.set(spanId, [])
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    const { spanId } = span.spanContext()
    const children = this.#held.get(spanId) ?? []
    this.#held.delete(spanId)
    const siblings = this.#held.get(span.parentSpanContext?.spanId ?? '')
    if (!siblings) this.#take(span)
    else if (siblings.length < heldSpans) siblings.push(span)
    else this.#drop()
    // After their parent, so that a full queue leaves no orphans either.
    for (const child of children) this.#take(child)
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush()
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown()
  }

  #take(span: ReadableSpan): void {
    if (this.#outstanding >= this.#options.maxSpans) {
      this.#drop()
      return
    }
    this.#outstanding += 1
    this.#batches.onEnd(span)
  }

  #drop(): void {
    this.#options.metrics.spans.inc({ outcome: 'dropped' })
  }

  async #send(spans: ReadableSpan[]): Promise<ExportResult> {
    const { clock, timeoutMs, exporter, metrics } = this.#options
    const done = new AbortController()
    const late = clock.sleep(timeoutMs, done.signal).then(
      () => failure(new Error('the receiver does not answer in time')),
      () => failure(new Error('not waited for')),
    )
    const sent = new Promise<ExportResult>(resolve => exporter.export(spans, resolve))
    const result = await Promise.race([sent, late])
    done.abort(notNeeded)
    this.#outstanding -= spans.length
    const ok = result.code === ExportResultCode.SUCCESS
    metrics.spans.inc({ outcome: ok ? 'sent' : 'failed' }, spans.length)
    this.#report(result)
    return result
  }

  /** Logs once when sending begins to fail, and once when it works again. */
  #report({ code, error }: ExportResult): void {
    const failing = code !== ExportResultCode.SUCCESS
    if (failing === this.#failing) return
    this.#failing = failing
    const { log } = this.#options
    if (failing) log.warn({ reason: error?.message }, 'traces cannot be sent')
    else log.info('traces are sent again')
  }
}

const failure = (error: Error): ExportResult => ({ code: ExportResultCode.FAILED, error })
