/** One container in traces, logs and the audit log: its request, and the life of its machine. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ReceivedSpan, TraceReceiver } from '../../../dev/pictures/trace-receiver.ts'
import { DispatchFleet } from '../../kit/dispatch/fleet.ts'

const patience = { timeout: 120_000, interval: 50 }
const receiver = await TraceReceiver.start()
let fleet: DispatchFleet
beforeAll(async () => {
  fleet = await DispatchFleet.start({
    ...{ replicas: 1, tracing: { endpoint: receiver.endpoint }, cloud: { TimeoutIdle: '1s' } },
  })
})
afterAll(async () => {
  await fleet?.stop()
  await receiver.close()
})

const within = (parent: ReceivedSpan | undefined) =>
  receiver.spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId)
const named = (name: string) => receiver.spans.find(span => span.name === name)
const namesOf = (spans: readonly ReceivedSpan[]) => spans.map(({ name }) => name)

test('a request for a container and the life of its machine are in traces, logs and the audit log', async () => {
  const [traceId, spanId] = ['d'.repeat(32), 'd'.repeat(16)]
  const body = {
    ...{
      command: ['sh', '-c', 'echo $WORD'],
      container_image: 'busybox',
      secret_environment: { WORD: 'never-in-a-span' },
    },
    runtime_constraints: { vcpus: 1, ram: 2 ** 30 },
  }
  const headers = { traceparent: `00-${traceId}-${spanId}-01`, 'x-request-id': 'portal-d' }
  const made = await fleet.rest('ada', '/dispatch/v1/containers', { method: 'POST', headers, body })
  const { uuid } = made.body as { uuid: string }
  await expect.poll(async () => (await fleet.find(uuid)).state, patience).toBe('Complete')
  await expect.poll(() => fleet.list(), patience).toEqual([])
  await receiver.until(() => named('create instance') !== undefined && named('gone') !== undefined)

  const request = named('POST /dispatch/v1/containers')
  expect(request).toMatchObject({
    ...{ traceId, parentSpanId: spanId, kind: 'server' },
    attributes: { 'http.response.status_code': 201, 'skylab.user': 'ada', 'skylab.request_id': 'portal-d' },
  })
  expect(namesOf(within(request))).toEqual(['identify'])
  const machine = named('create instance')
  expect(machine?.attributes).toMatchObject({
    ...{ 'skylab.subject': expect.stringMatching(/^instance:/), 'skylab.result': 'complete' },
  })
  const steps = within(machine)
  expect(namesOf(steps)).toEqual(expect.arrayContaining(['create', 'serve', 'destroy', 'gone']))
  const stepsCalls = (name: string) => namesOf(within(steps.find(step => step.name === name)))
  expect(stepsCalls('create')).toEqual(['cloud create'])
  expect(stepsCalls('serve')).toEqual(expect.arrayContaining(['connect', 'install', 'cloud setTags']))
  expect(stepsCalls('destroy')).toEqual(['cloud destroy'])
  expect(JSON.stringify(receiver.spans)).not.toContain('never-in-a-span')

  const lines = readFileSync(join(fleet.stateDir, 'log', 'dispatch-1.log'), 'utf8')
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Record<string, unknown>)
  expect(lines.filter(line => line.log === 'audit')).toMatchObject([
    {
      action: 'container.create',
      result: 'accepted',
      actor: { name: 'ada' },
      request: { id: 'portal-d', trace: traceId },
    },
  ])
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'request', requestId: 'portal-d', traceId, status: 201 }))
  const subject = machine?.attributes['skylab.subject']
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'operation ended', subject, result: 'complete' }))
})
