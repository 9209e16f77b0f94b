/** Each request for a change is one line of the audit log, with the result of its answer. */
import { Registry } from 'prom-client'
import { describe, expect, it, vi } from 'vitest'
import { api, apiParts, jsonBody, prefix } from '../../../test/kit/api/scripted-api.ts'
import { ManualClock } from '../../../test/kit/clock.ts'
import { ApiError, unavailable } from '../../base/errors.ts'
import { type AuditorOptions, AuditTrail } from '../../ops/audit.ts'
import type { LabService } from '../../ops/labs/service.ts'
import { AuditLog } from '../../telemetry/audit.ts'
import { sinkOf } from '../../telemetry/audit-sinks.ts'
import { silentLogger } from '../../telemetry/log.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import type { Origin } from '../../telemetry/tracing.ts'
import { createApi } from '../app.ts'
import { apiDocument } from '../document/document.ts'
import { changes } from './audit.ts'

/** An API whose audit log is kept; `config` changes the configuration. */
function audited(script: Partial<LabService> = {}, config: { api?: object; audit?: object } = {}) {
  const clock = new ManualClock()
  const texts: string[] = []
  const drop = vi.fn(async () => {})
  const audit = new AuditTrail({
    audit: new AuditLog({
      ...{ replica: 'r1', installation: 'skylab', clock, log: silentLogger(), metrics: createMetrics(new Registry()) },
      sinks: [sinkOf('test', line => void texts.push(line))],
    }),
    ...{ notes: { take: async () => [], drop } as unknown as AuditorOptions['notes'], namespacePrefix: 'nublado' },
    ...{ clock, log: silentLogger() },
  })
  const parts = apiParts({}, config.api ?? {}, config.audit ? { audit: config.audit } : {})
  const call = api(script, { audit, clock, config: parts.config }, config.api)
  return { call, audit, clock, texts, drop, lines: () => texts.map(text => JSON.parse(text)) }
}

const accepts = (op: number, how: 'accepted' | 'joined' | 'repeated' = 'accepted') => ({
  create: async (_: unknown, __: unknown, origin: Origin) => {
    origin.onAccepted?.(how === 'repeated' ? undefined : op, how)
    return how === 'repeated' ? ('repeated' as const) : undefined
  },
  delete: async (_: string, origin: Origin) => {
    origin.onAccepted?.(op, how)
    return true
  },
})
const body = jsonBody({ options: {} })
const user = { kind: 'user', name: 'rra', scope: 'exec:notebook', provider: 'static' }
const administrator = { kind: 'administrator', name: 'hub', scope: 'admin:jupyterlab', provider: 'static' }

it('changes lists exactly the routes that change something', () => {
  const { paths } = apiDocument(createApi(apiParts()))
  const changing = Object.entries(paths as Record<string, object>).flatMap(([path, operations]) =>
    Object.keys(operations)
      .filter(method => method !== 'get')
      .map(method => `${method.toUpperCase()} ${path.slice(prefix.length).replaceAll(/\{(\w+)\}/g, ':$1')}`),
  )
  expect(Object.keys(changes).sort()).toEqual(changing.sort())
})

describe('an accepted change', () => {
  it('is a line of its operation, with actor, lab and origin', async () => {
    const { call, lines } = audited(accepts(7))
    await call('POST', 'labs/rra/create', 'rra', { ...body, headers: { ...body.headers, 'X-Request-ID': 'abc-1' } })
    await call('DELETE', 'labs/rra', 'hub')
    expect(lines()).toMatchObject([
      {
        ...{ log: 'audit', id: '7-accepted', action: 'lab.create', result: 'accepted', actor: user },
        object: { kind: 'lab', user: 'rra', name: 'nublado-rra', op: 7 },
        request: { id: 'abc-1' },
      },
      {
        ...{ id: '7-accepted', action: 'lab.delete', result: 'accepted', actor: administrator },
        object: { user: 'rra', op: 7 },
      },
    ])
    expect(lines()).toHaveLength(2)
  })

  it('removes the note of its acceptance', async () => {
    const { call, clock, drop } = audited(accepts(7))
    await call('POST', 'labs/rra/create', 'rra', body)
    await clock.whenSleeping(50)
    clock.advance(50)
    await vi.waitUntil(() => drop.mock.calls.length > 0)
    expect(drop.mock.calls).toEqual([[[expect.stringMatching(/^7 create accepted \{"user":"rra",.*\}$/)]]])
  })

  it.each(['repeated', 'joined'] as const)('is recorded as %s with an id of its own', async how => {
    const { call, lines } = audited(accepts(7, how))
    if (how === 'repeated') await call('POST', 'labs/rra/create', 'rra', body)
    else await call('DELETE', 'labs/rra', 'hub')
    expect(lines()).toMatchObject([{ result: 'accepted', reason: how, id: expect.stringMatching(/^[0-9a-f-]{36}$/) }])
    expect(lines()[0].object.op).toBe(how === 'repeated' ? undefined : 7)
  })

  it('is recorded as accepted although its answer is an error, if the operation exists', async () => {
    const { call, lines } = audited({
      delete: async (_, origin) => {
        origin.onAccepted?.(7, 'accepted')
        throw new Error('a fault')
      },
    })
    expect((await call('DELETE', 'labs/rra', 'hub')).status).toBe(500)
    expect(lines()).toMatchObject([{ id: '7-accepted', result: 'accepted' }])
    expect(lines()).toHaveLength(1)
  })
})

describe('a refused change', () => {
  const conflict = new ApiError(409, { msg: 'secret words', type: 'lab_exists' })
  const asked = { kind: 'user', name: 'rra', provider: 'static' }
  it.each([
    ['no token', 'POST', 'labs/rra/create', undefined, 401, 'refused', 'unauthorized', { kind: 'anonymous' }],
    ['no token', 'DELETE', 'labs/rra', undefined, 401, 'refused', 'unauthorized', { kind: 'anonymous' }],
    ['a scope that is missing', 'DELETE', 'labs/rra', 'rra', 403, 'refused', 'scope_missing', asked],
    ['another user', 'POST', 'labs/hub/create', 'rra', 403, 'refused', 'other_user', user],
    ['a name that no lab can have', 'DELETE', 'labs/a%0Ab', 'hub', 422, 'refused', 'invalid', administrator],
    ['no lab', 'DELETE', 'labs/rra', 'hub', 404, 'refused', 'unknown_user', administrator],
    ['a lab that exists', 'POST', 'labs/rra/create', 'rra', 409, 'refused', 'lab_exists', user],
  ] as const)('is one line: %s (%s %s)', async (_, method, path, caller, status, result, reason, actor) => {
    const { call, lines } = audited({ create: () => Promise.reject(conflict) })
    expect((await call(method, path, caller, method === 'POST' ? body : {})).status).toBe(status)
    expect(lines()).toHaveLength(1)
    expect(lines()[0]).toMatchObject({
      ...{ action: method === 'POST' ? 'lab.create' : 'lab.delete', result, reason, actor, request: { status } },
      object: { kind: 'lab', user: decodeURIComponent(path.split('/')[1]!) },
    })
    expect(Object.keys(lines()[0].actor)).toEqual(Object.keys(actor))
  })

  it.each([
    ['malformed JSON', jsonBody('{'), 400, 'malformed'],
    ['no JSON', { body: 'x', headers: { 'Content-Type': 'text/plain' } }, 415, 'not_json'],
    ['an unknown key', jsonBody({ options: { colour: 'blue' } }), 422, 'unknown_key'],
    ['too much', jsonBody({ options: {}, env: { A: 'x'.repeat(327_680) } }), 413, 'too_large'],
  ])('is one line for a body with %s', async (_, init, status, reason) => {
    const { call, lines } = audited()
    expect((await call('POST', 'labs/rra/create', 'rra', init)).status).toBe(status)
    expect(lines()).toMatchObject([{ result: 'refused', reason, request: { status } }])
    expect(lines()).toHaveLength(1)
  })

  it.each([
    ['Redis is away', unavailable('comparing'), 503, 'unavailable'],
    ['nobody foresaw it', new Error('hunter2'), 500, 'internal'],
  ])('is failed when %s', async (_, error, status, reason) => {
    const { call, lines, texts } = audited({ delete: () => Promise.reject(error) })
    expect((await call('DELETE', 'labs/rra', 'hub')).status).toBe(status)
    expect(lines()).toMatchObject([{ result: 'failed', reason, request: { status } }])
    expect(texts.join()).not.toContain('hunter2')
  })

  it('is one line when it is refused before its route: beyond the rate, or too many at once', async () => {
    const slow = audited({}, { api: { rates: { changesPerMinute: 1, burst: 1, privilegedFactor: 1 } } })
    await slow.call('DELETE', 'labs/rra', 'hub')
    expect((await slow.call('DELETE', 'labs/rra', 'hub')).status).toBe(429)
    expect(slow.lines().map(({ reason }) => reason)).toEqual(['unknown_user', 'too_often'])
    const held = Promise.withResolvers<string[]>()
    const full = audited({ running: () => held.promise }, { api: { limits: { maxRequests: 1 } } })
    const first = full.call('GET', 'labs', 'hub')
    await new Promise(resolve => setImmediate(resolve))
    expect((await full.call('DELETE', 'labs/rra', 'hub')).status).toBe(503)
    expect(full.lines()).toMatchObject([{ result: 'failed', reason: 'unavailable', actor: { kind: 'anonymous' } }])
    held.resolve([])
    await first
  })
})

it('auditChanges writes no line for requests that change nothing', async () => {
  const { call, texts } = audited()
  await call('GET', 'labs', 'hub')
  await call('GET', 'labs', 'rra')
  await call('GET', 'user-status')
  await call('POST', 'labs', 'hub')
  await call('DELETE', '/nowhere', 'hub')
  await call('OPTIONS', 'labs/rra', 'hub')
  expect(texts).toEqual([])
})

it('auditChanges counts a flood of strangers, which does not hide known users', async () => {
  const { call, audit, lines } = audited()
  for (let i = 0; i < 300; i++) await call('DELETE', `labs/u${i}`)
  await call('DELETE', 'labs/rra', 'rra')
  expect(lines()).toHaveLength(101)
  expect(lines().at(-1)).toMatchObject({ actor: { name: 'rra' }, reason: 'scope_missing' })
  audit.flush()
  expect(lines().at(-1)).toMatchObject({ actor: { kind: 'anonymous' }, count: 200 })
})

it('auditChanges writes no secret of a request', async () => {
  const { call, texts } = audited(accepts(7))
  const env = { JUPYTERHUB_API_TOKEN: 'hunter2' }
  const headers = {
    ...{ 'X-Auth-Request-Token': 'hunter2', 'X-Skylab-Ingress-Secret': 'hunter2', 'Idempotency-Key': 'hunter2' },
    ...{ 'X-Forwarded-For': 'hunter2', Cookie: 'hunter2', 'X-Request-ID': 'not an id: hunter2' },
  }
  await call('POST', 'labs/rra/create?token=hunter2', 'rra', {
    ...jsonBody({ options: { image_tag: 'hunter2' }, env }),
    headers: { 'Content-Type': 'application/json', ...headers },
  })
  await call('DELETE', 'labs/rra', undefined, { headers: { ...headers, Authorization: 'Bearer hunter2' } })
  expect(texts).toHaveLength(2)
  expect(texts.join()).not.toContain('hunter2')
  expect(texts.join()).not.toContain('rra-token')
})
