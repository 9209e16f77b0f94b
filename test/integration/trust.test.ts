/** Foreign writes in the cluster and in Redis are not believed, and affect no other user. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KubeObject } from '../../src/base/domain.ts'
import { creationPath } from '../../src/kube/kinds.ts'
import { annotations, labels } from '../../src/kube/labels.ts'
import { eventually } from '../kit/cluster/world.ts'
import type { Client } from '../kit/fleet/client.ts'
import { useFleet } from '../kit/fleet/fleet.ts'

const fleet = useFleet({ replicas: 1, users: 20, config: { times: { compareIntervalSeconds: 1 } } })
const poison = Number.MAX_SAFE_INTEGER
const elsewhere = `trust-${randomBytes(4).toString('hex')}`
/** Not before Redis' time: this clock has milliseconds only. */
const nowUs = () => (Date.now() + 1) * 1000

const kube = () => fleet().world.kube
const lastOp = async () => Number(await fleet().world.redis.get(fleet().world.keys.last))
const ask = async (path: string) => fetch(`${fleet().monitoringUrl(0)}${path}`)
const withoutEvents = ({ events: _, ...rest }: object & { events?: unknown }) => rest

/** Resolves when a compare that began from now on has ended. */
async function compared(): Promise<void> {
  const since = Date.now() / 1000
  await eventually('two compares', async () => {
    const text = await (await ask('/metrics')).text()
    return Number(/^skylab_compare_last_success_timestamp_seconds (\S+)$/m.exec(text)?.[1]) > since + 2
  })
}

async function run(user: Client): Promise<void> {
  const env = { JUPYTERHUB_SERVICE_PREFIX: `/nb/user/${user.username}/` }
  expect((await user.create(undefined, { env })).status).toBe(303)
  expect((await user.follow()).outcome).toBe('complete')
}

async function createAndDelete(user: Client): Promise<void> {
  await run(user)
  expect((await fleet().admin.delete(user.username)).status).toBe(202)
  await eventually('gone', async () => (await user.userStatus()).status === 404)
}

function forged(user: Client, op: number): KubeObject {
  const resources = { cpu: 1, memory: 1 }
  const quotas = { limits: resources, requests: resources }
  const ids = { uid: 0, gid: 0, groups: [], options: {}, env: {} }
  const record = { username: 'eve', ...ids, quotas, internalUrl: 'http://evil/' }
  return {
    ...{ apiVersion: 'v1', kind: 'Namespace' },
    metadata: {
      name: fleet().namespace(user.username),
      labels: { [labels.installation]: fleet().installation, [labels.op]: String(op) },
      annotations: { [annotations.user]: user.username, [annotations.record]: JSON.stringify(record) },
    },
  }
}

async function makePod(namespace: string, name: string, op: number, ownerUid?: string): Promise<void> {
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } }
  await kube().request('POST', creationPath('v1', 'ServiceAccount', namespace), account)
  const owners = ownerUid === undefined ? [] : [{ apiVersion: 'v1', kind: 'Namespace', name: namespace, uid: ownerUid }]
  await kube().create({
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      ...{ name, namespace },
      labels: { [labels.installation]: fleet().installation, [labels.op]: String(op) },
      ownerReferences: owners,
    },
    spec: { containers: [{ name: 'lab', image: 'x' }], nodeSelector: { nowhere: 'x' } },
  })
}

beforeAll(async () => {
  await kube().create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: elsewhere } })
})
afterAll(() => kube().delete('Namespace', elsewhere))

test('a replica names a pod with its labels in a foreign namespace once, and does not move the counter', async () => {
  await makePod(elsewhere, 'x', poison)
  await compared()
  expect(await lastOp()).toBeLessThanOrEqual(nowUs())
  await createAndDelete(fleet().user())
  const lines = (await fleet().log(0))
    .split('\n')
    .filter(line => line.includes('an object bears an op more than a day'))
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0]!)).toMatchObject({ kind: 'Pod', name: 'x', namespace: elsewhere, op: poison })
  expect(await (await ask('/metrics')).text()).toContain('skylab_distrusted_objects{reason="ahead"} 1')
  await kube().delete('Pod', 'x', elsewhere, 0)
})

test('a replica shows a forged namespace with a running pod at a computed address, to its own user only', async () => {
  const user = fleet().user()
  const op = nowUs() - 1_000_000
  const { name, labels, annotations } = forged(user, op).metadata
  // The labels come last: a compare must not see the pod before it runs.
  const { metadata } = await kube().create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  await makePod(name, `nb-${user.username}`, op, metadata.uid)
  const container = { name: 'lab', started: true, ready: true, restartCount: 0, image: 'x', imageID: 'x' }
  const state = { running: { startedAt: new Date().toISOString() } }
  await fleet().world.setPodStatus(user.username, {
    phase: 'Running',
    containerStatuses: [{ ...container, state }],
  })
  await kube().patch('Namespace', name, undefined, { metadata: { labels, annotations } })
  const status = await eventually('rebuilt', async () => {
    const answer = await user.userStatus()
    return answer.status === 200 && answer.body.status === 'running' ? answer.body : undefined
  })
  expect(status).toMatchObject({
    username: user.username,
    internal_url: `http://nb-${user.username}.${name}:8888/`,
  })
  expect(JSON.stringify(status)).not.toContain('evil')
})

test('a replica fails the creation of one user only when a namespace of the right name has a future op', async () => {
  const user = fleet().user()
  const { metadata } = await kube().create(forged(user, poison))
  await compared()
  expect(await lastOp()).toBeLessThanOrEqual(nowUs())
  expect((await user.userStatus()).status).toBe(404)
  expect((await user.create()).status).toBe(303)
  const { outcome, errors } = await user.follow()
  expect([outcome, errors.join()]).toEqual(['failed', expect.stringContaining('more than a day beyond the clock')])
  await createAndDelete(fleet().user())
  expect((await kube().get('Namespace', metadata.name)).metadata.uid).toBe(metadata.uid)
  expect((await fleet().admin.delete(user.username)).status).toBe(202)
  await kube().delete('Namespace', metadata.name)
})

describe('a record in a namespace, when Redis is emptied', () => {
  const change = (user: Client, notes: Readonly<Record<string, string | null>>) =>
    kube().patch('Namespace', fleet().namespace(user.username), undefined, { metadata: { annotations: notes } })

  test('is restored without a MAC, and with one by an unknown key', async () => {
    const users = [fleet().user(), fleet().user(), fleet().user()] as const
    await Promise.all(users.map(run))
    const before = await Promise.all(users.map(async user => withoutEvents((await user.userStatus()).body)))
    await change(users[0], { [annotations.recordMac]: null })
    await change(users[1], { [annotations.recordMac]: '0123456789ab.AAAA' })
    await fleet().world.redis.flushall()
    for (const [i, user] of users.entries()) {
      await eventually('rebuilt', async () => (await user.userStatus()).status === 200)
      expect(withoutEvents((await user.userStatus()).body)).toEqual(before[i])
    }
  })

  test('makes a changed lab foreign: it is left alone, and a creation fails with a reason', async () => {
    const [user, other] = [fleet().user(), fleet().user()]
    await Promise.all([user, other].map(run))
    const { uid } = (await fleet().world.podOf(user.username)).metadata
    await change(user, { [annotations.record]: '{"internalUrl":"http://evil/"}' })
    await fleet().world.redis.flushall()
    await eventually('the other is rebuilt', async () => (await other.userStatus()).status === 200)
    expect((await user.userStatus()).status).toBe(404)
    expect((await user.create()).status).toBe(303)
    const { outcome, errors } = await user.follow()
    expect([outcome, errors.join()]).toEqual(['failed', expect.stringContaining('did not write: it is left untouched')])
    expect((await fleet().world.podOf(user.username)).metadata.uid).toBe(uid)
    await kube().delete('Namespace', fleet().namespace(user.username))
  })
})

test('a replica is unready with a reason while the counter is ahead of the clock', async () => {
  const user = fleet().user()
  await run(user)
  const { redis, keys } = fleet().world
  const before = await lastOp()
  await redis.set(keys.last, poison)
  await eventually('unready', async () => (await ask('/readyz')).status === 503)
  expect(await (await ask('/readyz')).text()).toContain('waiting for the clock of Redis, or its counter (skylab heal)')
  for (const answer of [await fleet().user().create(), await fleet().admin.delete(user.username)]) {
    expect(answer.status).toBe(503)
    expect(JSON.stringify(answer.body)).toContain('more than a day beyond Redis’ clock')
  }
  expect((await user.userStatus()).body.status).toBe('running')
  await redis.set(keys.last, before)
  await eventually('ready', async () => (await ask('/readyz')).status === 200)
  await createAndDelete(fleet().user())
})
