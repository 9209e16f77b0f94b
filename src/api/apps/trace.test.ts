import { Registry } from 'prom-client'
import { afterAll, expect, test } from 'vitest'
import { TraceReceiver } from '../../../dev/pictures/trace-receiver.ts'
import { appsApi, version } from '../../../test/kit/api/apps-api.ts'
import { systemClock } from '../../base/clock.ts'
import { configSchema } from '../../config/schema.ts'
import type { AuditEvent } from '../../telemetry/audit.ts'
import { createLogger } from '../../telemetry/log.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { createTracing } from '../../telemetry/otel.ts'

const receiver = await TraceReceiver.start()
afterAll(() => receiver.close())

const [traceId, spanId] = ['a'.repeat(32), 'b'.repeat(16)]
const headers = { 'X-Request-ID': 'portal-1', traceparent: `00-${traceId}-${spanId}-01` }

test('a call of the REST of apps has one trace in its span, its log line and its line of the audit log', async () => {
  const written: string[] = []
  const log = createLogger({ level: 'info', replica: 'r1', destination: { write: line => void written.push(line) } })
  const tracing = createTracing({
    ...{ tracing: configSchema.parse({ tracing: { endpoint: receiver.endpoint } }).tracing, headers: {} },
    ...{ installation: 'skylab', version: '1', replica: 'r1', clock: systemClock, log },
    metrics: createMetrics(new Registry()),
  })
  const lines: AuditEvent[] = []
  const call = appsApi({ apps: { stop: async () => version }, lines, log, tracing })
  const answer = await call('POST', '/apps/mlflow/stop', 'ann', { headers })
  expect([answer.status, answer.headers.get('x-request-id')]).toEqual([202, 'portal-1'])
  const later = await call('POST', '/apps/mlflow/stop', 'ann', { headers: { ...headers, traceparent: 'none' } })
  expect(later.status).toBe(202)
  await tracing.close()
  const spans = receiver.spans.filter(span => span.traceId === traceId)
  const request = spans.find(({ kind }) => kind === 'server')
  expect(request).toMatchObject({
    ...{ name: 'POST /apps/v1/apps/:id/stop', parentSpanId: spanId, replica: 'r1' },
    attributes: { 'http.response.status_code': 202, 'skylab.user': 'ann', 'skylab.request_id': 'portal-1' },
  })
  // All else is within it.
  expect(spans.filter(span => span !== request && span.parentSpanId !== request!.spanId)).toEqual([])
  const logged = written.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'request')
  const common = { route: '/apps/v1/apps/:id/stop', status: 202, user: 'ann', requestId: 'portal-1' }
  expect(logged).toMatchObject([{ ...common, traceId }, common])
  // What is no trace is not believed: the second call has a trace of its own.
  expect(logged[1].traceId).toMatch(/^[0-9a-f]{32}$/)
  expect(logged[1].traceId).not.toBe(traceId)
  expect(lines[0]).toMatchObject({ action: 'app.stop', request: { id: 'portal-1', trace: traceId, status: 202 } })
  expect(lines[1]!.request).toMatchObject({ trace: logged[1].traceId })
  expect(JSON.stringify([receiver.spans, written])).not.toContain('ann-token')
})
