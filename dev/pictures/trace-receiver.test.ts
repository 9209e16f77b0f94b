import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { labOf } from '../../src/base/subject.ts'
import { configSchema } from '../../src/config/schema.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { createTracing } from '../../src/telemetry/otel.ts'
import { formatTraceparent, parseTraceparent, type Tracing } from '../../src/telemetry/tracing.ts'
import { TraceReceiver } from './trace-receiver.ts'

let receiver: TraceReceiver
let lines: string[]
let metrics: ReturnType<typeof createMetrics>
const open: Tracing[] = []

beforeEach(async () => {
  receiver = await TraceReceiver.start()
  lines = []
  metrics = createMetrics(new Registry())
})
afterEach(async () => {
  receiver.mood = 'takes'
  await Promise.all(open.splice(0).map(tracing => tracing.close()))
  await receiver.close()
})

function trace(block: object = {}, replica = 'r1'): Tracing {
  const tracing = createTracing({
    tracing: configSchema.parse({ tracing: { endpoint: receiver.endpoint, ...block } }).tracing,
    ...{ headers: { 'X-Key': 'hunter2' }, installation: 'test', version: '1', replica, clock: systemClock, metrics },
    log: createLogger({ level: 'info', replica, destination: { write: line => void lines.push(line) } }),
  })
  open.push(tracing)
  return tracing
}

const client = formatTraceparent({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true })
const operation = {
  subject: labOf('ada'),
  op: 7,
  kind: 'create',
  acceptedAtMs: Date.now() - 500,
  traceparent: client,
} as const
const named = (name: string) => receiver.spans.find(span => span.name === name)

async function outcomes() {
  const { values } = await metrics.spans.get()
  return Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]))
}

describe('a trace of a replica', () => {
  it('goes from the client over the request to the operation, and has requests below their steps', async () => {
    const tracing = trace()
    const request = tracing.request(client)
    request.end({ name: 'POST /create', attributes: { 'http.response.status_code': 303 } })
    const run = tracing.operation({ ...operation, traceparent: request.traceparent })
    const step = run.child('make.pod', { holdsChildren: true })
    step.child('create pods', { kind: 'client' }).end({ error: '409' })
    step.end()
    run.end()
    await receiver.until(({ spans }) => spans.length === 4)
    const [root, of, pod, call] = ['POST /create', 'create lab', 'make.pod', 'create pods'].map(name => named(name)!)
    expect(receiver.spans.map(({ traceId }) => traceId)).toEqual(Array(4).fill('a'.repeat(32)))
    expect([root, of, pod, call].map(span => span!.parentSpanId)).toEqual([
      'b'.repeat(16),
      ...[root, of, pod].map(span => span!.spanId),
    ])
    expect([root, of, pod, call].map(span => span!.kind)).toEqual(['server', 'internal', 'internal', 'client'])
    expect(call).toMatchObject({ error: '409', replica: 'r1', service: 'skylab' })
    expect(of!.attributes).toEqual({ 'skylab.user': 'ada', 'skylab.op': 7, 'skylab.kind': 'create' })
    expect(of!.endMs - of!.startMs).toBeGreaterThan(499)
    expect(root!.attributes).toEqual({ 'http.response.status_code': 303 })
  })

  it('has an operation once, with the ended steps of every replica', async () => {
    const first = trace({}, 'r1').operation(operation)
    first.child('make.namespace', { holdsChildren: true }).end()
    first.child('make.pod', { holdsChildren: true }).child('create pods', { kind: 'client' }).end()
    const second = trace({}, 'r2').operation(operation)
    expect(second.traceparent).toBe(first.traceparent)
    second.child('make.pod', { holdsChildren: true }).end()
    second.end()
    await receiver.until(({ spans }) => spans.length === 3)
    expect(receiver.spans.map(({ name, replica }) => `${name} ${replica}`).sort()).toEqual([
      'create lab r2',
      'make.namespace r1',
      'make.pod r2',
    ])
    const root = named('create lab')!
    expect(receiver.spans.filter(({ parentSpanId }) => parentSpanId === root.spanId)).toHaveLength(2)
  })

  it('begins with the operation when nobody asked for it, with the same id in all replicas', async () => {
    const unasked = { ...operation, traceparent: undefined }
    const [one, other] = [trace({}, 'r1').operation(unasked), trace({}, 'r2').operation(unasked)]
    expect(other.traceparent).toBe(one.traceparent)
    one.end()
    await receiver.until(({ spans }) => spans.length === 1)
    expect(named('create lab')).toMatchObject({ parentSpanId: '' })
  })

  it('is sampled by the ratio unless the client decided; unsampled traces still have ids', async () => {
    const tracing = trace({ samplingRatio: 0 })
    const unsampled = tracing.request(undefined)
    expect(parseTraceparent(unsampled.traceparent)).toMatchObject({ sampled: false })
    const run = tracing.operation({ ...operation, traceparent: unsampled.traceparent })
    expect(run.traceparent?.slice(0, 35)).toBe(unsampled.traceparent?.slice(0, 35))
    for (const span of [unsampled, run.child('make.pod', { holdsChildren: true }), run]) span.end()
    tracing.request(client).end({ name: 'asked for' })
    await receiver.until(({ spans }) => spans.length > 0)
    await tracing.close()
    expect(receiver.spans.map(({ name }) => name)).toEqual(['asked for'])
  })

  it('cuts long attributes', async () => {
    trace()
      .request(client)
      .end({ attributes: { told: 'x'.repeat(5000) } })
    await receiver.until(({ spans }) => spans.length > 0)
    expect(String(named('request')!.attributes.told)).toHaveLength(1024)
  })
})

describe('a receiver of traces', () => {
  it('gets the configured headers, which appear nowhere else', async () => {
    trace().request(client).end()
    await receiver.until(({ headers }) => headers.length === 1)
    expect(receiver.headers[0]!['x-key']).toBe('hunter2')
    expect(JSON.stringify(receiver.spans) + lines.join()).not.toContain('hunter2')
  })

  it('causes one log line when it refuses, and one when it accepts again', async () => {
    const tracing = trace()
    receiver.mood = 400
    for (let sent = 1; sent <= 2; sent++) {
      tracing.request(client).end()
      await receiver.until(({ headers }) => headers.length === sent)
    }
    receiver.mood = 'takes'
    tracing.request(client).end()
    await receiver.until(({ spans }) => spans.length === 1)
    await tracing.close()
    expect(await outcomes()).toEqual({ failed: 2, sent: 1 })
    expect(lines.map(line => JSON.parse(line).msg)).toEqual(['traces cannot be sent', 'traces are sent again'])
  })

  it('costs bounded memory when it hangs, and delays the end of the process by seconds only', async () => {
    const tracing = trace({ maxQueuedSpans: 3, timeoutSeconds: 60 })
    receiver.mood = 'hangs'
    for (let i = 0; i < 10; i++) tracing.request(client).end()
    await receiver.until(({ headers }) => headers.length > 0)
    for (let i = 0; i < 10; i++) tracing.request(client).end()
    expect(await outcomes()).toEqual({ dropped: 17 })
    const begunMs = performance.now()
    await tracing.close()
    expect(performance.now() - begunMs).toBeLessThan(5_000)
  })

  it.each(['hangs', 'trickles'] as const)('that %s is given up in time, and its spans make room', async mood => {
    const tracing = trace({ maxQueuedSpans: 1, timeoutSeconds: 0.5 })
    receiver.mood = mood
    tracing.request(client).end()
    await receiver.until(({ headers }) => headers.length === 1)
    while ((await outcomes()).failed !== 1) await new Promise(resolve => setImmediate(resolve))
    receiver.mood = 'takes'
    tracing.request(client).end({ name: 'after' })
    await receiver.until(({ spans }) => spans.length > 0)
    expect(named('after')).toBeDefined()
  })
})
