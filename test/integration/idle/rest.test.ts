/** REST of activity at real replicas: who may ask what, events over two replicas, pages, and bad input. */
import { beforeAll, describe, expect, test } from 'vitest'
import { idle as idleSchema } from '../../../src/config/idle.ts'
import { badInput } from '../../kit/api/activity-bad-input.ts'
import { Conformance } from '../../kit/api/conformance.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import { useFleet } from '../../kit/fleet/fleet.ts'
import { ActivityClient, type ActivityEvent } from '../../kit/idle/activity-client.ts'
import { useIdleLabs } from '../../kit/idle/idle-lab.ts'

const scopes = ['exec:notebook', 'admin:jupyterlab']
const people = { rra: {}, hub: { scopes }, other: {}, guest: { scopes: ['read:all'] }, 'brief-1': {}, 'brief-2': {} }
const rules = [
  { name: 'brief', match: { users: ['brief-*'] }, idleTimeoutSeconds: 2, warnSeconds: 1 },
  { name: 'long', idleTimeoutSeconds: 3600, keepAlive: { maxSeconds: 1800 } },
]
const idle = { enabled: true, checkPeriodSeconds: 1, restPeriodSeconds: 1, rules }
const fleet = useFleet({ replicas: 2, people, config: { idle } })
const labs = useIdleLabs(fleet)

let conformance: Conformance
/** The token in the files of the lab of `rra`. */
let labToken: string

/** The token of a lab, as its program reads it. */
async function tokenOf(username: string): Promise<string> {
  const secret = await fleet().world.kube.get('Secret', `nb-${username}`, fleet().namespace(username))
  const { data } = secret as unknown as { readonly data: Readonly<Record<string, string>> }
  return Buffer.from(data['activity-token']!, 'base64').toString()
}

/** @param who a person, `lab` for the lab of `rra`, or nobody @param replica default: all in turn */
function as(who?: string, replica?: number): ActivityClient {
  const token = who === 'lab' ? labToken : who && fleet().as(who).token
  const url = () => (replica === undefined ? fleet().anyUrl() : fleet().url(replica))
  return new ActivityClient(url, token, conformance)
}

beforeAll(async () => {
  const document = await fetch(`${fleet().url(0)}/nublado/spawner/v1/openapi.json`)
  conformance = new Conformance((await document.json()) as object)
  await labs().make({ user: fleet().as('rra') })
  labToken = await tokenOf('rra')
  const isSeen = async () => (await as('rra').find('/v1/lab/rra'))?.checkedAt
  await eventually('the first look', isSeen)
})

const keep = { body: { seconds: 60 } }
/** What is asked of a lab, and the answer to whom may ask it. */
const questions = [
  ['GET', '', {}, 200],
  ['POST', '/activity', {}, 204],
  ['POST', '/keep-alive', keep, 200],
  ['DELETE', '/keep-alive', {}, 204],
] as const

describe.each(questions)('%s of a lab, at %j', (method, end, request, answer) => {
  test.each([
    ['the owner', '/v1/lab/rra', 'rra', answer],
    ['another user', '/v1/lab/rra', 'other', 403],
    ['a token without the scope', '/v1/lab/rra', 'guest', 403],
    ['an administrator at the path of users', '/v1/lab/rra', 'hub', 403],
    ['nobody', '/v1/lab/rra', undefined, 401],
    ['an administrator', '/admin/v1/lab/rra', 'hub', answer],
    ['the owner at the path of administrators', '/admin/v1/lab/rra', 'rra', 403],
    ['the lab', '/lab/v1/rra', 'lab', answer],
    ['the owner at the path of the lab', '/lab/v1/rra', 'rra', 401],
    ['the lab at the path of another one', '/lab/v1/other', 'lab', 401],
    ['the lab at the path of users', '/v1/lab/rra', 'lab', 401],
    ['the owner of none', '/v1/lab/other', 'other', 404],
  ] as const)('answers %s (%s)', async (_, path, who, status) => {
    for (const replica of [0, 1]) {
      expect((await as(who, replica).ask(method, path + end, request)).status).toBe(status)
    }
  })
})

test('a keep-alive is granted as far as the rule permits, seen at every replica, and in the audit log', async () => {
  const path = '/v1/lab/rra/keep-alive'
  const beganMs = Date.now()
  const kept = await as('rra', 0).ask<Record<string, string>>('POST', path, { body: { seconds: 86_400 } })
  expect(kept.body).toEqual({ until: expect.any(String), limitedBy: 'keepAlive.maxSeconds' })
  expect(Date.parse(kept.body.until!) - beganMs).toBeGreaterThanOrEqual(1_799_000)
  expect(Date.parse(kept.body.until!) - Date.now()).toBeLessThanOrEqual(1_801_000)
  expect(await as('hub', 1).find('/admin/v1/lab/rra')).toMatchObject({ keepUntil: kept.body.until, rule: 'long' })
  expect((await as('lab', 1).ask('DELETE', '/lab/v1/rra/keep-alive')).status).toBe(204)
  expect((await as('rra', 0).find('/v1/lab/rra'))?.keepUntil).toBeUndefined()
  const lines = (await Promise.all([0, 1].map(replica => fleet().log(replica)))).join('\n').split('\n')
  const audited = lines.filter(line => line.includes(`"until":"${kept.body.until}"`) && line.includes('activity.keep'))
  expect(audited).toHaveLength(1)
})

test('a token of a former lab opens nothing', async () => {
  const user = fleet().user()
  const ask = async (token: string) => {
    const path = `/lab/v1/${user.username}/activity`
    return (await new ActivityClient(() => fleet().anyUrl(), token, conformance).ask('POST', path)).status
  }
  const { fake } = await labs().make({ user })
  // The watch of the replica that answers may not have shown the lab yet.
  const opens = (token: string) => expect.poll(() => ask(token), { timeout: 20_000 }).toBe(204)
  const former = await tokenOf(user.username)
  await opens(former)
  expect((await fleet().admin.delete(user.username)).status).toBe(202)
  expect((await user.follow()).outcome).toBe('complete')
  expect(await ask(former)).toBe(401)
  await labs().make({ user, fake })
  expect(await ask(former)).toBe(401)
  await opens(await tokenOf(user.username))
})

describe('events', () => {
  const namesOf = (events: readonly ActivityEvent[]) => events.map(({ event, data }) => `${event} ${data.id}`)
  const endOf =
    ({ username }: Client) =>
    ({ event, data }: ActivityEvent) =>
      event === 'stopping' && data.id === username

  test('go on at another replica after the one that was read last, each once and to its owner alone', async () => {
    const [user, other] = [fleet().as('brief-1'), fleet().as('brief-2')]
    const [own, all] = [await as(user.username, 0).events('/v1/events'), await as('hub', 1).events('/admin/v1/events')]
    await Promise.all([labs().make({ user }), labs().make({ user: other })])
    const [warning] = await own.until(() => true)
    await own.close()
    expect(namesOf([warning!])).toEqual([`warning ${user.username}`])
    const rest = await as(user.username, 1).events('/v1/events', warning!.id)
    const after = await rest.until(endOf(user))
    await rest.close()
    expect(namesOf(after)).toEqual([`stopping ${user.username}`])
    const seen = await all.until(endOf(other))
    await all.close()
    expect(namesOf(seen)).toEqual(expect.arrayContaining([`warning ${user.username}`, `warning ${other.username}`]))
    const again = await as('hub', 0).events('/admin/v1/events', seen[0]!.id)
    expect(await again.until(endOf(other))).toEqual(seen.slice(1))
    await again.close()
  })

  test('are refused after what is no event', async () => {
    const headers = { 'last-event-id': 'yesterday' }
    for (const [path, who] of [
      ['/v1/events', 'rra'],
      ['/admin/v1/events', 'hub'],
      ['/lab/v1/rra/events', 'lab'],
    ]) {
      expect((await as(who).ask('GET', path!, { headers })).status).toBe(400)
      expect((await as(who === 'lab' ? 'rra' : 'guest').ask('GET', path!)).status).toBe(who === 'lab' ? 401 : 403)
    }
  })
})

test('a list has pages, each with the path of the next one', async () => {
  const { redis, keys } = fleet().world
  // Names that no lab has are put into the list. Meanwhile no replica corrects it.
  const names = Array.from({ length: 150 }, (_, index) => `page-${String(index).padStart(3, '0')}`)
  await redis.set(keys.musterLease, 'test', 'PX', 2900)
  await redis.zadd(keys.due('lab'), ...names.flatMap(name => [Date.now() * 1000 + 6e8, name]))
  interface Page {
    readonly workloads: readonly { readonly id: string }[]
    readonly next?: string
  }
  const first = await as('hub', 0).ask<Page>('GET', '/admin/v1/lab')
  expect(first.body.next).toBe('/activity/admin/v1/after/lab/page-099')
  const next = await as('hub', 1).ask<Page>('GET', first.body.next!.slice('/activity'.length))
  await redis.zrem(keys.due('lab'), ...names)
  expect(next.body.next).toBeUndefined()
  expect([first, next].map(({ body }) => body.workloads.filter(({ id }) => id === 'rra').length)).toEqual([0, 1])
})

test('the policy is that of the configuration', async () => {
  const { body } = await as('hub').ask<{ rules: object[] }>('GET', '/admin/v1/policy')
  const parsed = idleSchema.parse(idle).rules
  expect(body.rules).toMatchObject(parsed.map(({ name, idleTimeoutSeconds }) => ({ name, idleTimeoutSeconds })))
  expect(body).toMatchObject({ kinds: ['lab'], checkPeriodSeconds: 1 })
})

/** Those about notebooks need a process that serves them. */
const ofLabs = badInput.filter(({ path }) => !path.includes('/notebook/'))

test.each(ofLabs)('bad input is answered $status $type, and changes nothing: $sent', async each => {
  const { method, path, who, body, bodyType = 'application/json', status, type, loc } = each
  const { redis, keys } = fleet().world
  const known = async () => {
    const { touches, touched, keep: until } = await redis.hgetall(keys.activity('lab', 'rra'))
    return { touches, touched, until }
  }
  const before = await known()
  const request = body === undefined ? {} : { body, headers: { 'content-type': bodyType } }
  const answer = await as(who).ask(method, path, request)
  const [detail] = answer.body.detail
  expect([answer.status, detail!.type, detail!.loc]).toEqual([status, type, loc])
  expect(await known()).toEqual(before)
})
