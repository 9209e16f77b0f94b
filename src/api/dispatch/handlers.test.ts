import { describe, expect, it, vi } from 'vitest'
import { dispatchApi, dispatchDocument } from '../../../test/kit/api/dispatch-api.ts'
import { badContainerInput, leastContainer } from '../../../test/kit/api/dispatch-bad-input.ts'
import { detailOf, jsonBody, ScriptedFeed } from '../../../test/kit/api/scripted-api.ts'
import { RetryLater } from '../../base/errors.ts'
import { containerEnded, noTenant, noTypeFits, otherBody, queueFull, whichTenant } from '../../containers/problems.ts'
import type { Containers } from '../../containers/service.ts'
import type { AuditEvent } from '../../telemetry/audit.ts'
import { containerChanges } from './audit.ts'
import { containerExample } from './words.ts'

const { uuid } = containerExample
const one = `/containers/${uuid}`
const found = async () => containerExample as never

describe('POST containers', () => {
  const post = (body: object, containers: Partial<Containers>, headers = {}) => {
    const init = jsonBody(body)
    return dispatchApi({ containers })('POST', '/containers', 'ann', {
      ...init,
      headers: { ...init.headers, ...headers },
    })
  }

  it('passes the wish on with its defaults, and who asks', async () => {
    const create = vi.fn<Containers['create']>(found)
    const response = await post(leastContainer, { create }, { 'Idempotency-Key': 'k' })
    expect([response.status, await response.json()]).toEqual([201, containerExample])
    const wish = {
      ...leastContainer,
      ...{ environment: {}, secret_environment: {}, cwd: '.', mounts: {}, priority: 500, container_count_max: 3 },
      runtime_constraints: { vcpus: 1, ram: 1_000_000, gpus: 0 },
      scheduling_parameters: { preemptible: false, supervisor: false, max_run_time: 0 },
    }
    const asker = { caller: expect.objectContaining({ username: 'ann' }), audience: 'user' }
    expect(create.mock.calls).toEqual([[wish, asker, 'k']])
  })

  it('takes the largest command', async () => {
    const command = ['a', 'b'.repeat(131_068)]
    expect((await post({ ...leastContainer, command }, { create: found })).status).toBe(201)
  })

  it('needs no image when the engine has none', async () => {
    const { container_image: _, ...body } = leastContainer
    const call = dispatchApi({ engine: 'process', containers: { create: found } })
    expect((await call('POST', '/containers', 'ann', jsonBody(body))).status).toBe(201)
  })

  it.each([
    [422, 'no_instance_type', noTypeFits('No type of machine fits. a: 1 of 2 VCPUs')],
    [422, 'not_member', noTenant()],
    [422, 'missing', whichTenant(['physics', 'biology'])],
    [422, 'invalid', otherBody()],
    [429, 'too_many', queueFull('owner')],
    [503, 'unavailable', queueFull('all')],
    [503, 'unavailable', new RetryLater('the records are being compared with the cloud', 3000)],
  ])('answers %d %s as the service does', async (status, type, error) => {
    const create = async () => {
      throw error
    }
    const response = await post(leastContainer, { create })
    expect([response.status, (await detailOf(response)).type]).toEqual([status, type])
    if (status === 429 || status === 503) expect(response.headers.get('Retry-After')).toMatch(/^\d+$/)
  })

  it('takes many at once: the queue is bounded, not its rate', async () => {
    const call = dispatchApi({ containers: { create: found } })
    const all = Array.from({ length: 60 }, () => call('POST', '/containers', 'ann', jsonBody(leastContainer)))
    const refused = (await Promise.all(all)).filter(({ status }) => status !== 201)
    expect(refused.map(({ status }) => status).filter(status => status !== 429)).toEqual([])
    const rates = await Promise.all(refused.map(detailOf))
    // One body of a user is read at a time.
    expect(rates.filter(({ type }) => type === 'too_often')).toEqual([])
  })
})

describe('GET containers', () => {
  it('passes filter and page on, for users and administrators', async () => {
    const list = vi.fn<Containers['list']>(async () => ({ containers: [containerExample as never], next: uuid }))
    const call = dispatchApi({ containers: { list } })
    expect(await (await call('GET', '/containers', 'ann')).json()).toEqual({
      containers: [containerExample],
      next: uuid,
    })
    await call('GET', `/containers?state=Queued&after=${uuid}&limit=7`, 'ann')
    await call('GET', '/admin/containers?owner=%C3%A9', 'root')
    expect(list.mock.calls.map(([filter, { audience }]) => [audience, filter])).toEqual([
      ['user', { limit: 50 }],
      ['user', { state: 'Queued', after: uuid, limit: 7 }],
      ['admin', { owner: 'é', limit: 50 }],
    ])
  })
})

describe('one container', () => {
  it('is shown, changed and cancelled', async () => {
    const prioritise = vi.fn<Containers['prioritise']>(found)
    const cancel = vi.fn<Containers['cancel']>(found)
    const call = dispatchApi({ containers: { find: found, prioritise, cancel } })
    expect((await call('GET', one, 'ann')).status).toBe(200)
    expect((await call('PATCH', one, 'ann', jsonBody({ priority: 0 }))).status).toBe(202)
    expect((await call('DELETE', one, 'ann')).status).toBe(202)
    expect((await call('DELETE', `/admin${one}`, 'root')).status).toBe(202)
    expect(prioritise.mock.calls.map(([id, priority]) => [id, priority])).toEqual([[uuid, 0]])
    expect(cancel.mock.calls.map(([id, why, { audience }]) => [id, why, audience])).toEqual([
      [uuid, 'cancelled by its owner', 'user'],
      [uuid, 'cancelled by an administrator', 'admin'],
    ])
  })

  it('is answered 409 when its priority is changed after its end', async () => {
    const prioritise = async () => {
      throw containerEnded()
    }
    const response = await dispatchApi({ containers: { prioritise } })('PATCH', one, 'ann', jsonBody({ priority: 1 }))
    expect([response.status, (await detailOf(response)).type]).toEqual([409, 'container_ended'])
  })

  it.each(['GET', 'PATCH', 'DELETE'])('is 404 to %s when the caller may not see it', async method => {
    const init = method === 'PATCH' ? jsonBody({ priority: 1 }) : {}
    const response = await dispatchApi()(method, one, 'ann', init)
    expect([response.status, (await detailOf(response)).type]).toEqual([404, 'unknown_container'])
  })
})

describe('GET events', () => {
  it('sends events with their ids, after the one that was named', async () => {
    const events = vi.fn<Containers['events']>(async () =>
      new ScriptedFeed().push({ id: '371-2', event: 'state', data: '{"state":"Locked"}' } as never).end(),
    )
    const call = dispatchApi({ containers: { events } })
    const response = await call('GET', `${one}/events`, 'ann', { headers: { 'Last-Event-ID': '371-1' } })
    expect(await response.text()).toContain('id: 371-2\nevent: state\ndata: {"state":"Locked"}\n\n')
    expect(events.mock.calls[0]!.slice(0, 3)).toEqual([uuid, expect.objectContaining({ audience: 'user' }), '371-1'])
  })

  it('is 204 when no event will follow', async () => {
    const call = dispatchApi({ containers: { events: async () => 'ended' } })
    expect((await call('GET', `${one}/events`, 'ann')).status).toBe(204)
  })
})

describe('GET log', () => {
  const text = (...chunks: string[]) => ({
    uuid,
    open: async () => ({
      stream: async (take: (chunk: Buffer) => void) => {
        for (const chunk of chunks) take(Buffer.from(chunk))
      },
      ...{ pause: () => {}, resume: () => {} },
    }),
  })

  it.each([
    ['', false],
    ['?follow', true],
    ['?follow=true', true],
    ['?follow=false', false],
  ])('sends the output as text, with %j', async (query, follow) => {
    const log = vi.fn<Containers['log']>(async () => text('a\n', 'b\n'))
    const response = await dispatchApi({ containers: { log } })('GET', `${one}/log${query}`, 'ann')
    expect([response.status, await response.text()]).toEqual([200, 'a\nb\n'])
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff')
    expect(log.mock.calls[0]!.slice(0, 2)).toEqual([uuid, follow])
  })
})

describe('bad input', () => {
  const change = vi.fn()
  // Made once: 60 of them take seconds.
  const call = dispatchApi({
    containers: { create: change, prioritise: change },
    management: { setBehavior: change, killInstance: change, killContainer: change },
  })

  it.each(badContainerInput)('is answered $status $type, and changes nothing: $sent', async each => {
    const { method, path, who, body, headers, status, type, loc } = each
    const init = {
      ...(body !== undefined && { body }),
      headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
    }
    const response = await call(method, path, who, init)
    const detail = await detailOf(response)
    expect([response.status, detail.type, detail.loc]).toEqual([status, type, loc])
    expect(change).not.toHaveBeenCalled()
  })
})

describe('the audit log', () => {
  it('has a line for each change, with who did it to what', async () => {
    const lines: AuditEvent[] = []
    const call = dispatchApi({ lines, containers: { create: found, prioritise: found, cancel: found, find: found } })
    await call('POST', '/containers', 'ann', jsonBody(leastContainer))
    await call('PATCH', one, 'ann', jsonBody({ priority: 1 }))
    await call('DELETE', `/admin${one}`, 'root')
    await call('DELETE', one, 'guest')
    await call('GET', one, 'ann')
    expect(lines.map(({ action, result, actor, object }) => [action, result, actor.kind, actor.name, object])).toEqual([
      ['container.create', 'accepted', 'user', 'ann', { kind: 'container', name: uuid }],
      ['container.change', 'accepted', 'user', 'ann', { kind: 'container', name: uuid }],
      ['container.cancel', 'accepted', 'administrator', 'root', { kind: 'container', name: uuid }],
      ['container.cancel', 'refused', 'user', 'guest', { kind: 'container', name: uuid }],
    ])
  })

  it('knows every route that changes a container', () => {
    const changes = Object.entries(dispatchDocument().paths ?? {}).flatMap(([path, methods]) =>
      Object.keys(methods as object)
        .filter(method => method !== 'get' && path.startsWith('/dispatch/v1/') && !/\/(shell|ports)/.test(path))
        .map(method => `${method.toUpperCase()} ${path.slice('/dispatch/v1'.length).replaceAll(/\{(\w+)\}/g, ':$1')}`),
    )
    expect(changes.sort()).toEqual(Object.keys(containerChanges).sort())
  })
})
