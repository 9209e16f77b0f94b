/** REST of containers and of operators over the scripts of Redis: what is kept, who sees it, and what bad input leaves. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sealedName } from '../../../src/base/subject.ts'
import { MemberStore } from '../../../src/store/apps/members.ts'
import { badContainerInput, leastContainer } from '../../kit/api/dispatch-bad-input.ts'
import { detailOf, jsonBody } from '../../kit/api/scripted-api.ts'
import { members } from '../../kit/apps/routes.ts'
import { dispatchRest } from '../../kit/dispatch/rest.ts'
import { shape, useDispatch } from '../../kit/dispatch/store.ts'

const dispatch = useDispatch()
let rest: ReturnType<typeof dispatchRest>
beforeEach(() => {
  rest = dispatchRest(dispatch())
})
afterEach(() => rest.close())

interface Container {
  readonly uuid: string
  readonly [field: string]: unknown
}

async function ask<T = Container>(method: string, path: string, who: string, body?: object, headers = {}): Promise<T> {
  const init = body === undefined ? {} : jsonBody(body)
  const response = await rest.call(method, path, who, { ...init, headers: { ...init.headers, ...headers } })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as T
}

const queue = (change: object = {}, headers = {}) =>
  ask('POST', '/containers', 'ann', { ...leastContainer, ...change }, headers)
const typeOf = async (method: string, path: string, who: string, body?: object) =>
  (await detailOf(await rest.call(method, path, who, body && jsonBody(body)))).type

describe('a container that is queued', () => {
  test('is shown to its owner and to administrators, with masked secrets, and sealed as a whole', async () => {
    const made = await queue({
      environment: { FIELD: '17', MY_TOKEN: 'hidden-by-its-name', DB: 'postgres://a:hidden-in-an-address@b' },
      secret_environment: { WORD: 'hidden-by-wish' },
    })
    expect(made).toMatchObject({
      ...{ state: 'Queued', owner: 'ann', priority: 500, attempt: 0, instance: '', exit_code: null, cost: 0 },
      environment: { FIELD: '17', MY_TOKEN: '***', DB: '***', WORD: '***' },
    })
    expect(await ask('GET', `/containers/${made.uuid}`, 'ann')).toEqual(made)
    expect(await ask('GET', `/admin/containers/${made.uuid}`, 'root')).toEqual(made)
    const { redis, keys } = dispatch().store
    const record = keys.dispatch.containers.record(made.uuid)
    expect(JSON.stringify(await redis.hgetall(record))).not.toContain('hidden')
    const name = sealedName({ kind: 'container', name: made.uuid })
    const spec = JSON.parse(rest.sealer.open((await redis.hget(record, 'spec'))!, name, made.uuid))
    expect(spec).toMatchObject({
      ...{ command: ['true'], image: 'busybox', cwd: '.', vcpus: 1, ramBytes: 1_000_000 },
      environment: { FIELD: '17', MY_TOKEN: 'hidden-by-its-name', WORD: 'hidden-by-wish' },
    })
  })

  test('is the same one when it is sent again with its key, and a mistake with another body', async () => {
    const key = { 'Idempotency-Key': 'fit-17' }
    const made = await queue({}, key)
    expect((await queue({}, key)).uuid).toBe(made.uuid)
    await expect(queue({ priority: 1 }, key)).rejects.toThrow('422')
    expect((await queue()).uuid).not.toBe(made.uuid)
    expect(await dispatch().listed()).toHaveLength(2)
  })

  test('is refused with the name of each type when none fits', async () => {
    const body = { ...leastContainer, runtime_constraints: { ram: 1, vcpus: 17 } }
    const response = await rest.call('POST', '/containers', 'ann', jsonBody(body))
    const { type, msg } = await detailOf(response)
    expect([response.status, type]).toEqual([422, 'no_instance_type'])
    expect(msg).toMatch(/small: 2 of 17 VCPUs.*large: 16 of 17 VCPUs/)
    expect(await dispatch().listed()).toEqual([])
  })

  test('is of the tenant that its owner is in when it was accepted, whatever becomes of the LNamespace', async () => {
    const { connection, keys } = dispatch().store
    const table = new MemberStore(connection, keys, keys.tenantMembers)
    const ofTenants = dispatchRest(dispatch(), undefined, table.table)
    const send = async (tenant?: string) => {
      const answer = await ofTenants.call('POST', '/containers', 'ann', jsonBody({ ...leastContainer, tenant }))
      return answer.ok ? ((await answer.json()) as Container).tenant : (await detailOf(answer)).type
    }
    try {
      expect(await send()).toBe('unavailable')
      await table.complete()
      expect([await send(), await send('physics')]).toEqual(['default', 'not_member'])
      await table.put('physics', members(['oidc:ann']))
      await table.put('chemistry', members(['oidc:ann'], { uid: 'g2' }))
      expect([await send(), await send('default'), await send('chemistry')]).toEqual([
        ...['physics', 'not_member', 'not_member'],
      ])
      await table.put('biology', members(['oidc:ann'], { uid: 'g3' }))
      expect([await send(), await send('biology')]).toEqual(['missing', 'biology'])
      await table.put('biology', members([], { uid: 'g3', generation: 2 }))
      await table.remove('physics', 'g1')
      expect(await send()).toBe('default')
      const { containers } = await dispatch().containers.list({ limit: 10 })
      expect(containers.map(({ tenant }) => tenant)).toEqual(['default', 'physics', 'biology', 'default'])
    } finally {
      await ofTenants.close()
    }
  })

  test('is in the lists of its owner alone, by pages', async () => {
    const uuids = [(await queue()).uuid, (await queue()).uuid, (await queue()).uuid]
    await dispatch().accept({ shape: shape() })
    interface Page {
      readonly containers: Container[]
      readonly next?: string
    }
    const first = await ask<Page>('GET', '/containers?limit=2', 'ann')
    const second = await ask<Page>('GET', `/containers?limit=2&after=${first.next}`, 'ann')
    expect([...first.containers, ...second.containers].map(({ uuid }) => uuid)).toEqual(uuids)
    expect(first.containers[0]!.scheduling_status).toBe('The scheduler has not looked at it yet.')
    expect((await ask<Page>('GET', '/admin/containers?owner=ada', 'root')).containers).toHaveLength(1)
    expect((await ask<Page>('GET', '/admin/containers', 'root')).containers).toHaveLength(4)
    expect((await ask<Page>('GET', '/containers?state=Running', 'ann')).containers).toEqual([])
  })

  test('is nobody else’s: the container of another user is 404 everywhere', async () => {
    const uuid = await dispatch().accept()
    for (const [method, end, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { priority: 1 }],
      ['DELETE', '', undefined],
      ['GET', '/events', undefined],
      ['GET', '/log', undefined],
    ] as const) {
      expect(await typeOf(method, `/containers/${uuid}${end}`, 'ann', body)).toBe('unknown_container')
    }
    expect(await dispatch().found(uuid)).toMatchObject({ state: 'Queued', priority: 500 })
  })

  test('changes its priority until it is cancelled, once', async () => {
    const { uuid } = await queue()
    expect(await ask('PATCH', `/containers/${uuid}`, 'ann', { priority: 0 })).toMatchObject({
      ...{ priority: 0, state: 'Queued', scheduling_status: expect.stringContaining('its priority is 0') },
    })
    const cancelled = await ask('DELETE', `/containers/${uuid}`, 'ann')
    expect(cancelled).toMatchObject({ state: 'Cancelled', runtime_status: { error: 'cancelled by its owner' } })
    expect(await ask('DELETE', `/admin/containers/${uuid}`, 'root')).toEqual(cancelled)
    expect(await typeOf('PATCH', `/containers/${uuid}`, 'ann', { priority: 7 })).toBe('container_ended')
  })
})

describe('a container that runs', () => {
  async function running() {
    const { uuid } = await queue()
    const by = await dispatch().boot(uuid, 'i-1')
    const sent = await dispatch().keeping.send(by, uuid)
    if (sent.answer !== 'send') throw new Error(sent.answer)
    const { run } = sent
    const atMs = Date.now() - 36_000
    await dispatch().keeping.tell(by, uuid, run, { what: 'running', atMs, gatewayAddress: '10.0.0.1:40000' })
    return { uuid, by, run }
  }

  test('is followed: its events with ids, and its output, until it has ended', async () => {
    const { uuid, by, run } = await running()
    const found = await ask('GET', `/containers/${uuid}`, 'ann')
    expect(found).toMatchObject({ state: 'Running', attempt: 1, instance: 'i-1', gateway_address: '10.0.0.1:40000' })
    const events = await rest.call('GET', `/containers/${uuid}/events`, 'ann')
    const log = await rest.call('GET', `/containers/${uuid}/log?follow`, 'ann')
    const [told, output] = [events.text(), log.text()]
    const line = (text: string) => Buffer.from(text).toString('base64')
    const entry = { kind: 'output', atMs: 1, stream: 'stdout' } as const
    await dispatch().keeping.appendLog(by, uuid, run, [[1, { ...entry, base64: line('one\n') }]])
    await dispatch().keeping.appendLog(by, uuid, run, [
      [2, { kind: 'lost', atMs: 1, bytes: 7 }],
      [3, { ...entry, base64: line('two\n') }],
    ])
    await dispatch().keeping.tell(by, uuid, run, { what: 'ended', atMs: Date.now(), exitCode: 3 })
    expect(await output).toBe('one\n\n[7 bytes are missing here]\ntwo\n')
    const ids = [...(await told).matchAll(/^id: (\d+-\d+)$/gm)].map(([, id]) => id)
    const states = [...(await told).matchAll(/"state":"(\w+)"/g)].map(([, state]) => state)
    expect(states).toEqual(['Queued', 'Locked', 'Running', 'Complete'])
    const rest_ = await rest.call('GET', `/containers/${uuid}/events`, 'ann', { headers: { 'Last-Event-ID': ids[2]! } })
    expect([...(await rest_.text()).matchAll(/"state":"(\w+)"/g)].map(([, state]) => state)).toEqual(['Complete'])
    const last = { headers: { 'Last-Event-ID': ids.at(-1)! } }
    expect((await rest.call('GET', `/containers/${uuid}/events`, 'ann', last)).status).toBe(204)
    expect(await ask('GET', `/containers/${uuid}`, 'ann')).toMatchObject({ state: 'Complete', exit_code: 3 })
    expect(await (await rest.call('GET', `/containers/${uuid}/log`, 'ann')).text()).toContain('two')
  })

  test('is told as gone once its output, and then all of it, is kept no more, and never runs again by its key', async () => {
    const key = { 'Idempotency-Key': 'fit-17' }
    const { uuid } = await queue({}, key)
    const by = await dispatch().boot(uuid, 'i-1')
    const sent = await dispatch().keeping.send(by, uuid)
    const run = 'run' in sent ? sent.run : 0
    const base64 = Buffer.alloc(10_000).toString('base64')
    await dispatch().keeping.appendLog(by, uuid, run, [[1, { kind: 'output', atMs: 1, stream: 'stdout', base64 }]])
    await dispatch().keeping.tell(by, uuid, run, { what: 'ended', atMs: Date.now(), exitCode: 3 })
    expect(await dispatch().dropBeyond({ bytes: 15_000 })).toBe(1)
    const log = await rest.call('GET', `/containers/${uuid}/log?follow`, 'ann')
    expect([log.status, (await detailOf(log)).type]).toEqual([410, 'output_dropped'])
    expect((await queue({}, key)).exit_code).toBe(3)
    expect(await dispatch().dropBeyond({ containers: 0 })).toBe(1)
    const { body, headers } = jsonBody(leastContainer)
    const repeated = await rest.call('POST', '/containers', 'ann', { body: body!, headers: { ...headers, ...key } })
    expect([repeated.status, (await detailOf(repeated)).type]).toEqual([410, 'container_dropped'])
    for (const end of ['', '/log', '/events'])
      expect(await typeOf('GET', `/containers/${uuid}${end}`, 'ann')).toBe('unknown_container')
    expect(await dispatch().listed()).toEqual([])
  })

  test('is stopped by its keeper when it is cancelled', async () => {
    const { uuid } = await running()
    expect(await ask('DELETE', `/containers/${uuid}`, 'ann')).toMatchObject({
      ...{ state: 'Running', runtime_status: { activity: 'It is being stopped: cancelled by its owner' } },
    })
  })

  test('is shown to operators with its machine, which they hold and end', async () => {
    const { uuid } = await running()
    await queue()
    const queued = await ask<{ items: Record<string, unknown>[] }>('GET', '!/containers', 'operator')
    expect(queued.items.map(({ container }) => (container as Container).state)).toEqual(['Running', 'Queued'])
    expect(queued.items[0]).toMatchObject({ container: { uuid }, instance_types: [{ Name: 'small' }] })
    const instances = () => ask<{ items: Record<string, unknown>[] }>('GET', '!/instances', 'operator')
    const shown = { instance: 'i-1', worker_state: 'running', idle_behavior: 'run', running_container_uuids: [uuid] }
    expect((await instances()).items).toMatchObject([shown])
    const post = async (path: string) => (await rest.call('POST', `!/instances/${path}`, 'operator')).status
    expect(await post('hold?instance_id=i-1')).toBe(202)
    expect((await instances()).items).toMatchObject([{ ...shown, idle_behavior: 'hold' }])
    expect(await post('hold?instance_id=i-2')).toBe(404)
    expect(await post('kill?instance_id=i-1&reason=slow')).toBe(200)
    expect((await instances()).items).toMatchObject([{ ending: expect.stringContaining('via management API: slow') }])
    expect(await post('run?instance_id=i-1')).toBe(409)
    expect(await post('kill?instance_id=i-1')).toBe(200)
  })
})

test('operators cancel a container whoever owns it, and not one that has ended', async () => {
  const uuid = await dispatch().accept()
  const kill = async (id: string) =>
    (await rest.call('POST', `!/containers/kill?container_uuid=${id}&reason=cost`, 'operator')).status
  expect(await kill(uuid)).toBe(200)
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Cancelled', cancelled: 'via management API: cost' })
  expect(await kill(uuid)).toBe(409)
  expect((await rest.call('GET', `!/container?container_uuid=${uuid}`, 'operator')).status).toBe(404)
  const ran = await dispatch().sent()
  await dispatch().keeping.tell(ran.by, ran.uuid, ran.run, { what: 'ended', atMs: Date.now(), exitCode: 0 })
  expect(await kill(ran.uuid)).toBe(409)
  expect(await kill('zzzzz-dz642-000000000000000')).toBe(404)
})

test('bad input is refused, and leaves nothing in Redis', async () => {
  const { redis, prefix } = dispatch().store
  const kept = async () => (await redis.keys(`{${prefix}}:*`)).filter(key => /container|instance/.test(key)).sort()
  const before = await kept()
  for (const { sent, method, path, who, body, headers, status, type } of badContainerInput) {
    const response = await rest.call(method, path, who, {
      ...(body !== undefined && { body }),
      headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
    })
    expect([sent, response.status, (await detailOf(response)).type]).toEqual([sent, status, type])
  }
  expect(await kept()).toEqual(before)
})
