import { describe, expect, it, vi } from 'vitest'
import { dispatchApi, dispatchDocument } from '../../../test/kit/api/dispatch-api.ts'
import { detailOf } from '../../../test/kit/api/scripted-api.ts'
import type { Management } from '../../containers/management.ts'
import { containerEnded, machineEnds, noMachine } from '../../containers/problems.ts'
import type { AuditEvent } from '../../telemetry/audit.ts'
import { managementChanges } from './audit.ts'
import { exampleInstances, exampleQueued } from './words.ts'

const throws = (error: Error) => async () => {
  throw error
}

describe('who may ask', () => {
  it('is whoever has the token: 401 without one, 403 with another one', async () => {
    const call = dispatchApi()
    expect((await call('GET', '!/instances', 'operator')).status).toBe(200)
    expect((await call('GET', '!/instances')).status).toBe(401)
    expect((await call('GET', '!/instances', 'ann')).status).toBe(403)
  })

  it.each([undefined, 'operator'])('is nobody when the site has no token, with %s', async who => {
    const response = await dispatchApi({ managementToken: undefined })('GET', '!/instances', who)
    expect([response.status, (await detailOf(response)).type]).toEqual([403, 'forbidden'])
  })

  it('is bounded by a rate, for all operators together', async () => {
    const call = dispatchApi({ config: { api: { rates: { changesPerMinute: 1, burst: 1, privilegedFactor: 1 } } } })
    expect((await call('POST', '!/instances/hold?instance_id=a', 'operator')).status).toBe(200)
    expect((await call('POST', '!/instances/run?instance_id=a', 'operator')).status).toBe(429)
  })
})

describe('what is shown', () => {
  it('has the fields of Arvados', async () => {
    const call = dispatchApi()
    expect(await (await call('GET', '!/containers', 'operator')).json()).toEqual(exampleQueued)
    expect(await (await call('GET', '!/instances', 'operator')).json()).toEqual(exampleInstances)
    const entry = await call('GET', '!/container?container_uuid=x', 'operator')
    expect(await entry.json()).toEqual(exampleQueued.items[0])
  })
})

describe('what is changed', () => {
  const id = 'i-0123456789abcdef0'

  it.each(['hold', 'drain', 'run'])('%s is answered 200 when the tag stands too, else 202', async behavior => {
    const setBehavior = vi.fn<Management['setBehavior']>(async () => true)
    const call = dispatchApi({ management: { setBehavior } })
    expect((await call('POST', `!/instances/${behavior}?instance_id=${id}`, 'operator')).status).toBe(200)
    setBehavior.mockResolvedValue(false)
    expect((await call('POST', `!/instances/${behavior}?instance_id=${id}`, 'operator')).status).toBe(202)
    expect(setBehavior.mock.calls).toEqual([
      [id, behavior],
      [id, behavior],
    ])
  })

  it.each([
    ['instances/hold?instance_id=a', 404, 'unknown_instance', { setBehavior: throws(noMachine()) }],
    ['instances/drain?instance_id=a', 409, 'instance_ending', { setBehavior: throws(machineEnds()) }],
    ['instances/kill?instance_id=a', 404, 'unknown_instance', { killInstance: throws(noMachine()) }],
    ['containers/kill?container_uuid=a', 409, 'container_ended', { killContainer: throws(containerEnded()) }],
  ])('%s is answered %d %s', async (path, status, type, management) => {
    const response = await dispatchApi({ management })('POST', `!/${path}`, 'operator')
    expect([response.status, (await detailOf(response)).type]).toEqual([status, type])
  })

  it('takes parameters of a form, as curl sends it', async () => {
    const killInstance = vi.fn<Management['killInstance']>(async () => {})
    const body = 'instance_id=i-1&reason=it+is+slow'
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': String(body.length) }
    const call = dispatchApi({ management: { killInstance } })
    expect((await call('POST', '!/instances/kill', 'operator', { body, headers })).status).toBe(200)
    expect(killInstance.mock.calls).toEqual([['i-1', 'it is slow']])
  })

  it('writes a line of the audit log, with the reason', async () => {
    const lines: AuditEvent[] = []
    const call = dispatchApi({ lines })
    await call('POST', '!/instances/kill?instance_id=i-1&reason=slow', 'operator')
    await call('POST', '!/containers/kill?container_uuid=x', 'ann')
    expect(lines.map(({ action, result, actor, object, stated }) => [action, result, actor, object, stated])).toEqual([
      ['instance.kill', 'accepted', { kind: 'operator' }, { kind: 'instance', name: 'i-1' }, 'slow'],
      ['container.cancel', 'refused', { kind: 'anonymous' }, { kind: 'container', name: undefined }, undefined],
    ])
  })

  it('is all in the audit log', () => {
    const posts = Object.entries(dispatchDocument().paths ?? {}).flatMap(([path, methods]) =>
      path.startsWith('/arvados/') && 'post' in (methods as object)
        ? [`POST ${path.slice('/arvados/v1/dispatch'.length)}`]
        : [],
    )
    expect(posts.sort()).toEqual(Object.keys(managementChanges).sort())
  })
})
