/** An operation in logs, traces and metrics, whoever owns it. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { type ReceivedSpan, TraceReceiver } from '../../dev/pictures/trace-receiver.ts'
import { run } from '../../dev/process/command.ts'
import { useFleet } from '../kit/fleet/fleet.ts'
import { alertTests, rolloutTest } from '../kit/pages/alerts.ts'
import { appAlertTests, raisedAppAlerts } from '../kit/pages/app-alerts.ts'
import { dispatchAlertTests, raisedDispatchAlerts } from '../kit/pages/dispatch-alerts.ts'
import { gatewayAlertTests, raisedGatewayAlerts } from '../kit/pages/gateway-alerts.ts'
import { idleAlertTests, raisedIdleAlerts } from '../kit/pages/idle-alerts.ts'
import { notebookAlertTests, raisedNotebookAlerts } from '../kit/pages/notebook-alerts.ts'
import { raisedTenantAlerts, tenantAlertTests } from '../kit/pages/tenant-alerts.ts'

const receiver = await TraceReceiver.start()
afterAll(() => receiver.close())
const person = 'easily-found-again'
const fleet = useFleet({ replicas: 2, people: { [person]: {} }, config: { tracing: { endpoint: receiver.endpoint } } })

/** The headers by which a client describes its request. */
function origin(letter: string) {
  const [traceId, spanId] = [letter.repeat(32), letter.repeat(16)]
  return { traceId, spanId, headers: { 'x-request-id': `portal-${letter}`, traceparent: `00-${traceId}-${spanId}-01` } }
}
type Origin = ReturnType<typeof origin>

const body = { options: { image_type: 'recommended', size: 'small' }, env: { JUPYTERHUB_API_TOKEN: 'secret-of-a-hub' } }
const creating = ({ headers }: Origin) => ({ method: 'POST', headers, body }) as const

async function lines(index: number): Promise<Record<string, unknown>[]> {
  const text = (await fleet().log(index)).split('\n')
  return text.filter(line => /^\{.*\}$/.test(line)).map(line => JSON.parse(line) as Record<string, unknown>)
}

const isOperation = ({ name }: ReceivedSpan) => name === 'create lab' || name === 'delete lab'
const within = (spans: readonly ReceivedSpan[], parent: ReceivedSpan | undefined) =>
  spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId)

/** Checks that every span has a parent in the trace or in the client's headers. Returns all spans. */
function treeOf({ traceId, spanId }: Origin): ReceivedSpan[] {
  const spans = receiver.spans.filter(span => span.traceId === traceId)
  const ids = new Set([...spans.map(span => span.spanId), spanId])
  expect(ids.size).toBe(spans.length + 1)
  expect(spans.filter(({ parentSpanId }) => !ids.has(parentSpanId))).toEqual([])
  return spans
}

test('an operation has the id and the trace of its request, even when its owner was killed', async () => {
  const user = fleet().as(person)
  const from = origin('a')
  const arm = fleet().arm('lab.create.make.pod.before-act', 'hold', { user: person })
  const accepted = await user.at(fleet().url(0)).request(`labs/${person}/create`, creating(from))
  expect([accepted.status, accepted.headers.get('x-request-id')]).toEqual([303, 'portal-a'])
  const { replica: owner } = await arm.landed()
  // Spans that the owner has not sent when it dies are lost.
  const sent = (name: string) =>
    receiver.spans.some(span => span.traceId === from.traceId && span.name.startsWith(name))
  await receiver.until(() => sent('POST ') && sent('make.namespace'))
  const heir = 1 - fleet().indexOf(owner)
  await fleet().kill(1 - heir)
  arm.release()
  const { op, outcome } = await user.at(fleet().url(heir)).follow()
  expect(outcome).toBe('complete')
  await receiver.until(() => sent('create lab'))
  await expectLines(from, op, heir)
  expectTree(from, owner)
  await fleet().start(1 - heir)
  const spans = JSON.stringify(receiver.spans)
  for (const hidden of ['secret-of-a-hub', user.token]) expect(spans.includes(hidden), hidden).toBe(false)
})

async function expectLines({ traceId }: Origin, op: number, heir: number): Promise<void> {
  const requestId = 'portal-a'
  const ofOperation = (await lines(heir)).filter(line => line.op === op)
  const messages = new Set(ofOperation.map(({ msg }) => msg))
  for (const message of ['operation resumed', 'step', 'kubernetes request', 'operation ended']) {
    expect(messages).toContain(message)
  }
  for (const line of ofOperation) expect(line).toMatchObject({ requestId, traceId })
  const ofRequest = (await lines(0)).filter(line => line.requestId === requestId).map(({ msg }) => msg)
  expect(ofRequest).toEqual(expect.arrayContaining(['operation accepted', 'request']))
}

function expectTree(from: Origin, owner: string): void {
  const spans = treeOf(from)
  const [request, ...others] = spans.filter(({ kind }) => kind === 'server')
  expect(others).toEqual([])
  expect(request).toMatchObject({
    ...{ name: 'POST /nublado/spawner/v1/labs/:username/create', parentSpanId: from.spanId },
    attributes: { 'http.response.status_code': 303, 'skylab.user': person, 'skylab.request_id': 'portal-a' },
  })
  const names = within(spans, request).map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['identify', 'resolve image', 'accept-create', 'create lab']))
  const [operation, ...again] = spans.filter(isOperation)
  expect(again).toEqual([])
  expect(operation).toMatchObject({ parentSpanId: request!.spanId, attributes: { 'skylab.result': 'complete' } })
  expect(operation!.replica).not.toBe(owner)
  const steps = within(spans, operation)
  expect(new Set(steps.map(({ replica }) => replica)).size).toBe(2)
  const pod = steps.find(({ name }) => name === 'make.pod')
  expect(pod).toMatchObject({ replica: operation!.replica, attributes: { 'skylab.claim': 2 } })
  expect(within(spans, pod)).toMatchObject([
    { name: 'create pods', kind: 'client', attributes: { 'http.response.status_code': 201 } },
  ])
}

test('a superseded creation ends in its own trace, and the deletion continues in another one', async () => {
  const user = fleet().user()
  const [from, other] = [origin('b'), origin('c')]
  const arm = fleet().arm('lab.create.make.pod.before-act', 'hold', { user: user.username })
  await user.request(`labs/${user.username}/create`, creating(from))
  await arm.landed()
  await fleet().admin.request(`labs/${user.username}`, { method: 'DELETE', headers: other.headers })
  arm.release()
  // A busy cluster removes a namespace slowly; only the spans must come within the receiver's limit.
  expect((await user.follow()).outcome).toBe('complete')
  const ended = ({ traceId }: Origin) => receiver.spans.find(span => span.traceId === traceId && isOperation(span))
  await receiver.until(({ spans }) => Boolean(ended(other)) && spans.some(({ name }) => name === 'make.pod'))
  expect(ended(from)).toMatchObject({ name: 'create lab', attributes: { 'skylab.result': 'superseded' } })
  expect(ended(other)).toMatchObject({ name: 'delete lab', attributes: { 'skylab.result': 'complete' } })
  for (const each of [from, other]) treeOf(each)
})

test('promtool accepts the metrics of a replica in every format', async () => {
  const accept = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'
  const response = await fetch(`${fleet().monitoringUrl(0)}/metrics`, { headers: { accept } })
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  const text = await response.text()
  await run('promtool', ['check', 'metrics'], { input: text })
  expect(text).toMatch(/^skylab_labs\{status="running"\} \d+$/m)
  expect(text).toMatch(/^skylab_redis_connected 1$/m)
  for (const reason of ['defect', 'misconfigured'])
    expect(text).toContain(`\nskylab_http_faults_total{reason="${reason}"} 0\n`)
  const broken = text.replaceAll('skylab_leases_total', 'skylab_leases')
  await expect(run('promtool', ['check', 'metrics'], { input: broken })).rejects.toThrow(/skylab_leases/)
})

const ruleFile = (name: string) => fileURLToPath(new URL(`../../k8s/monitoring/${name}.yaml`, import.meta.url))

/** The rules, converted by the command in the head of the first file, for a Prometheus without the operator. */
async function plainRules(file: string): Promise<string> {
  const text = await readFile(ruleFile('prometheus-rule'), 'utf8')
  const [, program] = /^# +sed '(.+)' \S+ > rules\.yaml$/m.exec(text)!
  return run('sed', [program!, file])
}

test.each([
  ['prometheus-rule', alertTests],
  ['idle-rule', idleAlertTests],
  ['tenants/prometheus-rule', tenantAlertTests],
  ['notebooks/prometheus-rule', notebookAlertTests],
  ['apps/prometheus-rule', appAlertTests],
  ['gateway/prometheus-rule', gatewayAlertTests],
  ['dispatch/prometheus-rule', dispatchAlertTests],
] as const)('promtool accepts the alerts of %s, and the cause of each important one raises it', async (name, tests) => {
  const file = ruleFile(name)
  const folder = await mkdtemp(join(tmpdir(), 'skylab-rules-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'rules.yaml'), await plainRules(file))
  await writeFile(join(folder, 'tests.yaml'), stringify({ rule_files: ['rules.yaml'], tests }))
  const { spec } = parse(await readFile(file, 'utf8'))
  expect(await run('promtool', ['check', 'rules', 'rules.yaml'], { cwd: folder })).toContain(
    `${spec.groups[0].rules.length} rules found`,
  )
  await run('promtool', ['test', 'rules', 'tests.yaml'], { cwd: folder })
})

test.each([
  ['idle-rule', raisedIdleAlerts],
  ['tenants/prometheus-rule', raisedTenantAlerts],
  ['notebooks/prometheus-rule', raisedNotebookAlerts],
  ['apps/prometheus-rule', raisedAppAlerts],
  ['gateway/prometheus-rule', raisedGatewayAlerts],
  ['dispatch/prometheus-rule', raisedDispatchAlerts],
])('each alert of %s has a case that raises it', async (name, raised) => {
  const { spec } = parse(await readFile(ruleFile(name), 'utf8'))
  const named = spec.groups[0].rules.map(({ alert }: { alert: string }) => alert)
  expect([...new Set(raised)].sort()).toEqual(named.sort())
})

const dashboard = new URL('../../k8s/monitoring/dashboard.json', import.meta.url)

test('the dashboard counts each operation once when replicas of the release before are scraped too', async context => {
  const folder = await mkdtemp(join(tmpdir(), 'skylab-panels-'))
  context.onTestFinished(() => rm(folder, { recursive: true }))
  const { panels } = JSON.parse(await readFile(dashboard, 'utf8')) as { panels: { targets?: { expr: string }[] }[] }
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  const over = (metric: string) => expressions.filter(expr => expr.includes(`(${metric},`))
  const tests = [
    ...over('skylab_operations').map(expr => rolloutTest(expr, 'skylab_operations', 'state="waiting"')),
    ...over('skylab_operations_overdue').map(expr => rolloutTest(expr, 'skylab_operations_overdue')),
  ]
  expect(tests).toHaveLength(2)
  await writeFile(join(folder, 'tests.yaml'), stringify({ rule_files: [], tests }))
  await run('promtool', ['test', 'rules', 'tests.yaml'], { cwd: folder })
})

test('a receiver that hangs or refuses stops no operation, and no process from ending', async () => {
  const user = fleet().user()
  receiver.mood = 'hangs'
  await user.create()
  expect((await user.follow()).outcome).toBe('complete')
  receiver.mood = 503
  await fleet().admin.delete(user.username)
  expect((await user.follow()).outcome).toBe('complete')
  const { ended } = fleet().replica(0)
  fleet().replica(0).kill('SIGTERM')
  // It would be 1 if it had taken longer than times.drainSeconds.
  expect(await ended).toBe(0)
})
