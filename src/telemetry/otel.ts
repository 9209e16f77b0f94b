/**
 * Traces by OpenTelemetry, sent as OTLP over HTTP. Loaded only if a receiver is configured. A failing receiver does not
 * affect other work: spans that cannot be kept or sent are dropped and counted.
 */
import { createHash } from 'node:crypto'
import {
  type Span as ApiSpan,
  type Context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  type IdGenerator,
  ParentBasedSampler,
  RandomIdGenerator,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { type Clock, notNeeded } from '../base/clock.ts'
import { namedBy } from '../base/subject.ts'
import type { Config } from '../config/schema.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import { SpanQueue } from './span-queue.ts'
import {
  formatTraceparent,
  type OperationTrace,
  parseTraceparent,
  type Span,
  type SpanEnd,
  type SpanOptions,
  type TraceContext,
  type Tracing,
} from './tracing.ts'

export interface OtelOptions {
  readonly tracing: Config['tracing']
  /** Sent with every export; they may be secrets. */
  readonly headers: Readonly<Record<string, string>>
  readonly installation: string
  readonly version: string
  /** Name of this replica. */
  readonly replica: string
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** How long the process may wait at its end for unsent spans. */
const closeMs = 3_000
/** Messages of the cluster may be long. */
const longestAttribute = 1024
const exportsAtOnce = 4

/** @param options those of the block `tracing`, which must have an `endpoint` */
export function createTracing(options: OtelOptions): Tracing {
  const { tracing, headers, installation, version, replica, clock } = options
  const timeoutMs = tracing.timeoutSeconds * 1000
  const exporter = new OTLPTraceExporter({
    url: tracing.endpoint!,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
    concurrencyLimit: exportsAtOnce,
  })
  const queue = new SpanQueue({ ...options, exporter, maxSpans: tracing.maxQueuedSpans, timeoutMs })
  const ids = new Ids()
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': tracing.serviceName,
      'service.namespace': installation,
      'service.version': version,
      'service.instance.id': replica,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(tracing.samplingRatio) }),
    spanLimits: { attributeValueLengthLimit: longestAttribute },
    idGenerator: ids,
    spanProcessors: [queue],
  })
  const tracer = provider.getTracer('skylab', version)
  let closed: Promise<void> | undefined
  return {
    request: traceparent => {
      const parent = contextOf(parseTraceparent(traceparent))
      return new OtelSpan(tracer.startSpan('request', { kind: SpanKind.SERVER }, parent), tracer, queue)
    },
    operation: operation => {
      const { parent, own } = placeOf(operation, installation)
      const { kind, subject, op, acceptedAtMs } = operation
      const named = Object.entries(namedBy(subject)).map(([field, text]) => [`skylab.${field}`, text] as const)
      const attributes = { ...Object.fromEntries(named), 'skylab.op': op, 'skylab.kind': kind }
      const span = ids.as(own, () =>
        tracer.startSpan(`${kind} ${subject.kind}`, { startTime: acceptedAtMs, attributes }, contextOf(parent)),
      )
      return new OtelSpan(span, tracer, queue)
    },
    close: () => {
      closed ??= close(provider, clock)
      return closed
    },
  }
}

type SpanId = Pick<TraceContext, 'traceId' | 'spanId'>

/**
 * The place of an operation in its trace. Every replica computes the same from the record, so that successive owners
 * add to one tree, and the last owner ends the operation's span. An operation without a request begins a trace.
 */
function placeOf({ traceparent, op }: OperationTrace, installation: string) {
  const parent = parseTraceparent(traceparent)
  const hash = createHash('sha256').update(`${installation} ${op} ${parent?.traceId}`).digest('hex')
  const own: SpanId = { traceId: parent?.traceId ?? hash.slice(0, 32), spanId: hash.slice(32, 48) }
  return { parent, own }
}

function contextOf(parent: TraceContext | undefined): Context {
  if (!parent) return ROOT_CONTEXT
  const { traceId, spanId, sampled } = parent
  const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}

/** Random ids, except for a span below a computed one. */
class Ids implements IdGenerator {
  readonly #random = new RandomIdGenerator()
  #next: SpanId | undefined

  as<T>(id: SpanId, begin: () => T): T {
    this.#next = id
    try {
      return begin()
    } finally {
      this.#next = undefined
    }
  }

  generateTraceId(): string {
    return this.#next?.traceId ?? this.#random.generateTraceId()
  }

  generateSpanId(): string {
    return this.#next?.spanId ?? this.#random.generateSpanId()
  }
}

class OtelSpan implements Span {
  readonly traceparent: string
  readonly #span: ApiSpan
  readonly #tracer: Tracer
  readonly #queue: SpanQueue

  constructor(span: ApiSpan, tracer: Tracer, queue: SpanQueue) {
    const { traceId, spanId, traceFlags } = span.spanContext()
    this.traceparent = formatTraceparent({ traceId, spanId, sampled: (traceFlags & TraceFlags.SAMPLED) !== 0 })
    this.#span = span
    this.#tracer = tracer
    this.#queue = queue
  }

  child(name: string, { kind, attributes = {}, startMs, holdsChildren = false }: SpanOptions = {}): Span {
    const span = this.#tracer.startSpan(
      name,
      {
        kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
        attributes: { ...attributes },
        ...(startMs !== undefined && { startTime: startMs }),
      },
      trace.setSpan(ROOT_CONTEXT, this.#span),
    )
    if (holdsChildren && span.isRecording()) this.#queue.hold(span.spanContext().spanId)
    return new OtelSpan(span, this.#tracer, this.#queue)
  }

  end({ name, attributes, error }: SpanEnd = {}): void {
    if (name !== undefined) this.#span.updateName(name)
    if (attributes) this.#span.setAttributes({ ...attributes })
    if (error !== undefined) this.#span.setStatus({ code: SpanStatusCode.ERROR, message: error })
    this.#span.end()
  }
}

async function close(provider: TracerProvider, clock: Clock): Promise<void> {
  const done = new AbortController()
  const late = clock.sleep(closeMs, done.signal).catch(() => {})
  await Promise.race([provider.shutdown().catch(() => {}), late])
  done.abort(notNeeded)
}
