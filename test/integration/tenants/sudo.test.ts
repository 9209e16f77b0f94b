/** Sudo with an end over REST: three processes, the policies, and the API server's own word about who may what. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { eventually } from '../../kit/cluster/world.ts'
import { startOwnBed } from '../../kit/tenants/own-bed.ts'
import { callRest, follow, type StreamedEvent, tokensOf } from './rest.ts'
import { TenantFleet } from './tenant-fleet.ts'

const people = { ann: [], oda: ['oncall'], eve: ['others'], max: [], admin: [] }
/** How long a grant may outlive its end. */
const endedMs = 1_000

let bed: Awaited<ReturnType<typeof startOwnBed>>
let fleet: TenantFleet
beforeAll(async () => {
  bed = await startOwnBed()
  const file = join(bed.stateDir, 'tenants-tokens.yaml')
  writeFileSync(file, stringify(tokensOf(people)), { mode: 0o600 })
  const rest = { usernameTemplate: 'idp:{username}', groupTemplate: 'idp:{group}' }
  fleet = await TenantFleet.start(3, { identity: { provider: 'static', static: { file } }, tenants: { rest } }, bed)
})
afterAll(async () => {
  await fleet?.stop()
  await bed?.close()
})

const user = (name: string) => ({ kind: 'User', name })
const eligible = [user('idp:ann'), { kind: 'Group', name: 'idp:oncall' }]
const wish = { ttlSeconds: 600, reason: 'the queue is stuck' }

/** Waits until each replica shows it: one that does not yet answers 404. */
async function made(spec: object = { sudo: { eligible } }): Promise<string> {
  const name = await fleet.make(spec)
  await fleet.says(name, 'Ready', 'Ready')
  for (const replica of fleet.replicas.keys())
    await eventually(`${name} is shown`, async () => (await call(replica, 'GET', `/${name}`, 'eve')).status === 200)
  return name
}

const call = (replica: number, ...args: Parameters<typeof callRest> extends [string, ...infer Rest] ? Rest : never) =>
  callRest(fleet.replicas[replica]!.url, ...args)
const begin = (name: string, who: string, { replica = 0, ...more }: { replica?: number } & Partial<typeof wish> = {}) =>
  call(replica, 'POST', `/${name}/sudo`, who, { body: { ...wish, ...more } })

/** Whether the API server lets somebody impersonate both himself and the group. */
async function hasSudo(name: string, who: string): Promise<boolean> {
  const of = (resource: string, named: string) => fleet.may(`idp:${who}`, 'impersonate', resource, { name: named })
  const both = await Promise.all([of('groups', `${name}-sudoers`), of('users', `idp:${who}`)])
  return both.every(Boolean)
}

describe('sudo with an end', () => {
  test('is given to an eligible person, by a grant in the status', async () => {
    const name = await made()
    const { status, body } = await begin(name, 'ann')
    expect(status).toBe(202)
    expect(body).toMatchObject({ user: 'idp:ann', reason: wish.reason })
    await eventually('sudo', () => hasSudo(name, 'ann'))
    expect(await hasSudo(name, 'eve')).toBe(false)
    expect((await fleet.read(name)).status.grants).toEqual([
      { id: body.id, user: 'idp:ann', until: body.until, reason: wish.reason, as: user('idp:ann') },
    ])
  })

  test('ends by itself within a second', async () => {
    const name = await made()
    const { body } = await begin(name, 'oda', { ttlSeconds: 4 })
    await eventually('sudo', () => hasSudo(name, 'oda'))
    await eventually('the end of sudo', async () => !(await hasSudo(name, 'oda')))
    const lateMs = Date.now() - Date.parse(body.until)
    expect(lateMs).toBeGreaterThan(-100)
    expect(lateMs).toBeLessThan(endedMs)
    await eventually('the status without it', async () => (await fleet.read(name)).status.grants === undefined)
  })

  test('ends within a second of a request to end it, at another replica', async () => {
    const name = await made()
    await begin(name, 'ann')
    await eventually('sudo', () => hasSudo(name, 'ann'))
    expect((await call(1, 'DELETE', `/${name}/sudo`, 'ann')).status).toBe(202)
    expect(await fleet.untilNot(() => hasSudo(name, 'ann'))).toBeLessThan(endedMs)
    expect((await call(1, 'DELETE', `/${name}/sudo`, 'ann')).body.detail[0].type).toBe('no_grant')
  })

  test('ends within a second when the eligible group is taken away', async () => {
    const name = await made()
    await Promise.all([begin(name, 'ann'), begin(name, 'oda', { replica: 1 })])
    await eventually('sudo', async () => (await hasSudo(name, 'ann')) && (await hasSudo(name, 'oda')))
    await fleet.edit(name, { sudo: { eligible: [user('idp:ann')] } })
    expect(await fleet.untilNot(() => hasSudo(name, 'oda'))).toBeLessThan(endedMs)
    expect(await hasSudo(name, 'ann')).toBe(true)
  })
})

describe('a request for sudo', () => {
  test('is refused when the caller is not eligible, the time is too long, or there is no LNamespace', async () => {
    const name = await made({ sudo: { eligible, maxSeconds: 60 } })
    const answers = await Promise.all([
      begin(name, 'eve'),
      begin(name, 'ann', { ttlSeconds: 61 }),
      begin(name, 'ann', { reason: 'two\nlines' }),
      begin('none', 'ann', { ttlSeconds: 60 }),
    ])
    expect(answers.map(({ status, body }) => [status, body.detail[0].type])).toEqual([
      [403, 'not_eligible'],
      [422, 'invalid'],
      [422, 'invalid'],
      [404, 'unknown_tenant'],
    ])
    expect((await fleet.read(name)).status.grants).toBeUndefined()
  })

  test('is refused whatever headers claim another identity', async () => {
    const name = await made()
    const forged = {
      ...{ 'X-Auth-Request-User': 'ann', 'X-Auth-Request-Token': 'ann-token', 'X-Remote-User': 'idp:ann' },
      ...{ 'Impersonate-User': 'idp:ann', 'X-Remote-Group': 'idp:oncall' },
    }
    const send = (who: string | undefined, headers: Readonly<Record<string, string>>) =>
      call(0, 'POST', `/${name}/sudo`, who, { body: wish, headers })
    const answers = await Promise.all([
      send('eve', forged),
      send(undefined, forged),
      send(undefined, { authorization: 'Bearer eve-token, Bearer ann-token' }),
      send('ann', { cookie: 'session=ann' }),
      send('ann', { 'sec-fetch-site': 'same-origin' }),
      // The template makes `idp:admin` of this name, which no administrator of the cluster has.
      send('admin', {}),
    ])
    expect(answers.map(({ status }) => status)).toEqual([403, 401, 401, 403, 403, 403])
    expect((await fleet.read(name)).status.grants).toBeUndefined()
    // The same body, by the right person.
    expect((await send('ann', {})).status).toBe(202)
  })

  test('cannot be gone round by a manager, who edits the LNamespace and not its status', async () => {
    const name = await fleet.make({ managers: [user('idp:max')], sudo: { eligible } })
    await fleet.says(name, 'Ready', 'Ready')
    const path = `/apis/gial.lblw.dev/v1beta1/lnamespaces/${name}`
    const asManager = { 'Impersonate-User': 'idp:max' }
    const until = new Date(Date.now() + 600_000).toISOString()
    const status = { grants: [{ id: '1', user: 'idp:max', until, as: user('idp:max') }] }
    const spec = { sudo: { eligible: [user('idp:max')] } }
    const direct = await fleet.kube.request('PATCH', `${path}/status`, { status }, asManager)
    const beside = await fleet.kube.request('PATCH', path, { spec, status }, asManager)
    expect([direct.status, beside.status]).toEqual([403, 200])
    await fleet.says(name, 'Ready', 'Ready')
    expect((await fleet.read(name)).status.grants).toBeUndefined()
    expect(await hasSudo(name, 'max')).toBe(false)
    // The control: with the right to write the status it would be a grant.
    await fleet.setStatus(name, status)
    await eventually('the grant of who may write it', () => hasSudo(name, 'max'))
  })
})

test('what others see of an LNamespace is that it is there', async () => {
  const name = await made()
  const { body } = await begin(name, 'ann')
  const isShown = async () => (await call(1, 'GET', `/${name}`, 'oda')).body.grants.length > 0
  await eventually('the grant at another replica', isShown)
  const inside = await call(1, 'GET', `/${name}`, 'oda')
  expect(inside.body).toMatchObject({ name, roles: ['eligible'], grants: [{ id: body.id }] })
  expect(inside.body.people.eligible).toEqual(expect.arrayContaining(eligible))
  const outside = await call(2, 'GET', `/${name}`, 'eve')
  expect(outside.body).toMatchObject({ name, roles: [], grants: [] })
  expect(outside.body).not.toHaveProperty('people')
  const all = (await call(2, 'GET', '', 'eve')).body as { name: string; roles: string[] }[]
  expect(all.find(each => each.name === name)).toMatchObject({ roles: [] })
  expect((await call(2, 'GET', `/${name}/events`, 'eve')).status).toBe(403)
})

describe('events', () => {
  const ended = ({ event }: StreamedEvent) => event === 'ended'
  const kinds = (events: readonly StreamedEvent[]) => events.map(({ event }) => event)

  test('tell of a grant, its effect and its end, and go on at another replica after the last one', async () => {
    const name = await made()
    const { body } = await begin(name, 'ann', { ttlSeconds: 4 })
    const isEffective = ({ event, data }: StreamedEvent) => event === 'effective' && data.id === body.id
    const first = await follow(fleet.replicas[1]!.url, name, 'ann', isEffective)
    const rest = await follow(fleet.replicas[2]!.url, name, 'ann', ended, first.at(-1)!.id)
    // `Ready` may be False until the right is effective.
    expect(kinds([...first, ...rest]).filter(kind => kind !== 'condition')).toEqual(['granted', 'effective', 'ended'])
    expect(rest.at(-1)!.data).toEqual({ id: body.id, user: 'idp:ann', why: 'until' })
    const all = await follow(fleet.replicas[0]!.url, name, 'ann', ended)
    expect(all).toEqual([...first, ...rest])
    expect(all.map(({ id }) => id)).toEqual(all.map((_, i) => `1-${i + 1}`))
    const lines = fleet.auditLines().filter(line => line.object.grant === body.id)
    expect(lines.map(({ action, result, reason, stated }) => [action, result, reason, stated])).toEqual([
      ['sudo.grant', 'accepted', undefined, wish.reason],
      ['sudo.end', 'succeeded', 'until', undefined],
    ])
  })

  test('tell by what sudo ended, through an edit', async () => {
    const name = await made()
    await Promise.all([begin(name, 'ann'), begin(name, 'oda', { replica: 1 })])
    await eventually('sudo', async () => (await hasSudo(name, 'ann')) && (await hasSudo(name, 'oda')))
    const ends = follow(fleet.replicas[2]!.url, name, 'oda', ({ data }) => data.why === 'ineligible')
    await call(0, 'DELETE', `/${name}/sudo`, 'ann')
    await eventually('the end', async () => !(await hasSudo(name, 'ann')))
    await fleet.edit(name, { sudo: { eligible: [user('idp:ann')] } })
    const whys = (await ends).filter(ended).map(({ data }) => [data.user, data.why])
    expect(whys).toEqual([
      ['idp:ann', 'released'],
      ['idp:oda', 'ineligible'],
    ])
  })

  test('end with the LNamespace', async () => {
    const name = await made()
    const gone = follow(fleet.replicas[1]!.url, name, 'ann', ({ event }) => event === 'gone')
    await eventually('a follower', async () => (await fleet.metric(1, 'skylab_event_streams_open')) > 0)
    await fleet.drop(name)
    expect((await gone).at(-1)).toMatchObject({ id: undefined, event: 'gone' })
    // Another replica may see the end a moment later.
    const again = () => call(0, 'GET', `/${name}/events`, 'ann', { headers: { 'last-event-id': '1-1' } })
    await eventually('the end at another replica', async () => (await again()).status === 204)
  })
})

describe('when something dies', () => {
  test('a grant takes effect although the replica that stored it is killed at once, and ends in time', async () => {
    const name = await made()
    const { body } = await begin(name, 'ann', { replica: 2, ttlSeconds: 6 })
    fleet.replicas[2]!.kill()
    await eventually('sudo', () => hasSudo(name, 'ann'))
    await eventually('the end of sudo', async () => !(await hasSudo(name, 'ann')))
    expect(Date.now() - Date.parse(body.until)).toBeLessThan(endedMs)
    await fleet.ready()
  })

  test('a grant outlives all replicas, and the next ones end it in time', async () => {
    const name = await made()
    const { body } = await begin(name, 'ann', { ttlSeconds: 12 })
    await eventually('sudo', () => hasSudo(name, 'ann'))
    for (const replica of fleet.replicas) replica.kill()
    await Promise.all(fleet.replicas.map(({ ended }) => ended))
    expect(await hasSudo(name, 'ann')).toBe(true)
    await fleet.ready()
    expect(await hasSudo(name, 'ann')).toBe(true)
    await eventually('the end of sudo', async () => !(await hasSudo(name, 'ann')))
    const lateMs = Date.now() - Date.parse(body.until)
    expect(lateMs).toBeGreaterThan(-100)
    expect(lateMs).toBeLessThan(endedMs)
  })

  test('sudo begins and ends without Redis, and events tell it when Redis is back', async () => {
    const name = await made()
    await fleet.redis.kill()
    const { status, body } = await begin(name, 'ann')
    expect(status).toBe(202)
    await eventually('sudo', () => hasSudo(name, 'ann'))
    expect((await call(1, 'GET', `/${name}/events`, 'ann')).status).toBe(503)
    expect((await call(1, 'DELETE', `/${name}/sudo`, 'ann')).status).toBe(202)
    expect(await fleet.untilNot(() => hasSudo(name, 'ann'))).toBeLessThan(endedMs)
    await fleet.redis.start()
    await eventually('events again', async () => (await call(1, 'HEAD', `/${name}/events`, 'ann')).status === 200)
    const events = await follow(fleet.replicas[1]!.url, name, 'ann', ({ event }) => event === 'ended')
    expect(events.at(-1)!.data).toEqual({ id: body.id, user: 'idp:ann', why: 'released' })
  })

  test('nothing is granted without the policies, and sudo can still be ended', async () => {
    const name = await made()
    await begin(name, 'ann')
    await eventually('sudo', () => hasSudo(name, 'ann'))
    await fleet.unprotect('skylab-tenants-guard')
    const isKnown = async (i: number) => (await fleet.metric(i, 'skylab_tenant_policy_active')) === 0
    await eventually('the loss is known', async () => (await Promise.all([0, 1, 2].map(isKnown))).every(Boolean))
    expect((await begin(name, 'oda')).status).toBe(503)
    expect((await call(1, 'DELETE', `/${name}/sudo`, 'ann')).status).toBe(202)
    expect(await fleet.untilNot(() => hasSudo(name, 'ann'))).toBeLessThan(endedMs)
    expect(await hasSudo(name, 'oda')).toBe(false)
    await fleet.protect()
    await eventually('grants again', async () => (await begin(name, 'oda')).status === 202)
  })
})
