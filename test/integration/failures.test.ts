/** Creations and deletions that cannot succeed, and the obstacles. */
import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../src/base/domain.ts'
import { eventually } from '../kit/cluster/world.ts'
import type { Client, Followed } from '../kit/fleet/client.ts'
import { type Fleet, startFleet, useFleet } from '../kit/fleet/fleet.ts'

const small = { limits: { cpu: 1, memory: '4Gi' } }
/** No node has room for the size `huge`. */
const sizes = { small, medium: small, large: small, huge: { limits: { cpu: 100_000, memory: '1Gi' } } }
const huge = { image_type: 'recommended', size: 'huge' }
const finalizer = 'skylab.test/hold'

async function fail(user: Client, options?: Record<string, unknown>): Promise<Followed> {
  expect((await user.create(options)).status).toBe(303)
  const created = await user.follow()
  expect(created.outcome).toBe('failed')
  return created
}

/** Checks that a failed creation left a record only, and that the next one is accepted with a new namespace. */
async function expectForgiven(fleet: Fleet, user: Client): Promise<void> {
  const { body } = await user.userStatus()
  expect(body).toMatchObject({ status: 'failed', pod: 'missing' })
  expect(body).not.toHaveProperty('internal_url')
  expect((await fleet.admin.status(user.username)).body).toEqual(body)
  expect((await fleet.admin.labs()).body).not.toContain(user.username)
  expect(await fleet.world.namespaceOf(user.username)).toBeNull()
  expect((await user.create()).status).toBe(303)
  expect((await user.follow()).outcome).toBe('complete')
}

/** An object that keeps its namespace from being removed. */
function hold(fleet: Fleet, user: Client): Promise<KubeObject> {
  const namespace = fleet.namespace(user.username)
  const metadata = { name: 'held', namespace, finalizers: [finalizer] }
  return fleet.world.kube.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata })
}

async function letGo(fleet: Fleet, user: Client): Promise<void> {
  const namespace = fleet.namespace(user.username)
  await fleet.world.kube.patch('ConfigMap', 'held', namespace, { metadata: { finalizers: null } })
}

describe('a creation on nodes without room', () => {
  const people = { counted: { quota: { cpu: 4, memory: 16 } } }
  const fleet = useFleet({ replicas: 2, people, config: { lab: { sizes }, times: { noRoomGraceSeconds: 2 } } })

  test.concurrent('reports a pod that finds no node, and fails after the grace', async () => {
    const user = fleet().user()
    const { errors, events } = await fail(user, huge)
    const words = errors.filter(data => /no room for the lab at the moment.*Insufficient cpu/.test(data))
    expect(words.length).toBeGreaterThan(0)
    const waits = events.filter(({ data }) => data.startsWith('0/3 nodes are available'))
    expect(waits.length).toBeLessThanOrEqual(1)
    await expectForgiven(fleet(), user)
  })

  test.concurrent('fails at once with the reason when its pod fails before the start', async () => {
    const user = fleet().user()
    const arm = fleet().arm('lab.create.make.pod.after-commit', 'hold', { user: user.username })
    await user.create(huge)
    await arm.landed()
    const status = { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory' }
    await fleet().world.setPodStatus(user.username, status)
    arm.release()
    const { outcome, errors } = await user.follow()
    expect(outcome).toBe('failed')
    expect(errors).toContainEqual(expect.stringMatching(/evicted it.*low on resource: memory/))
    await expectForgiven(fleet(), user)
  })

  test.concurrent('fails when its namespace is deleted meanwhile', async () => {
    const user = fleet().user()
    const arm = fleet().arm('lab.create.make.service.before-act', 'hold', { user: user.username })
    await user.create()
    await arm.landed()
    await fleet().world.kube.delete('Namespace', fleet().namespace(user.username))
    arm.release()
    const { outcome, errors } = await user.follow()
    expect(outcome).toBe('failed')
    expect(errors.at(-1)).toMatch(/namespace .* was removed while the lab was being made/)
    await expectForgiven(fleet(), user)
  })

  test.concurrent('fails at once with the reason when a quota refuses the pod', async () => {
    const user = fleet().user()
    const namespace = fleet().namespace(user.username)
    const arm = fleet().arm('lab.create.make.pod.before-act', 'hold', { user: user.username })
    await user.create()
    await arm.landed()
    const { kube } = fleet().world
    const metadata = { name: 'tight', namespace }
    await kube.create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard: { pods: '0' } } })
    // Until it is counted a quota refuses everything.
    await eventually('a quota that is counted', async () => {
      const { status } = await kube.get('ResourceQuota', 'tight', namespace)
      return status?.used?.pods
    })
    arm.release()
    const { outcome, errors } = await user.follow()
    expect(outcome).toBe('failed')
    expect(errors.at(-1)).toMatch(/^The lab is more than its quota allows: .*exceeded quota: tight.*pods=1.*pods=0/)
    await expectForgiven(fleet(), user)
  })

  test.concurrent('makes its quota anew when that counts a pod that was never stored', async () => {
    const user = fleet().as('counted')
    const namespace = fleet().namespace(user.username)
    const arm = fleet().arm('lab.create.make.pod.before-act', 'hold', { user: user.username })
    await user.create()
    await arm.landed()
    const { kube } = fleet().world
    const quotaThat = (has: string, isSo: (used: Record<string, string>) => boolean) =>
      eventually(has, async () => {
        const quota = await kube.get('ResourceQuota', `nb-${user.username}`, namespace)
        return isSo(quota?.status?.used ?? {}) && quota
      })
    const counted = await quotaThat('a quota that is counted', used => 'limits.cpu' in used)
    // The API server leaves this when the sender of a pod dies behind the charge.
    const status = { used: counted.status.hard }
    await kube.patch('ResourceQuota', counted.metadata.name, namespace, { status }, 'status')
    arm.release()
    const { outcome, events } = await user.follow()
    expect(outcome).toBe('complete')
    expect(events.filter(({ data }) => data.startsWith('Created the namespace'))).toHaveLength(1)
    const anew = await quotaThat('the new quota, counted', used => 'limits.cpu' in used)
    expect(anew.metadata.uid).not.toBe(counted.metadata.uid)
    expect(anew.status.used['limits.cpu']).not.toBe(status.used['limits.cpu'])
  })

  test.concurrent('fails with a reason when a foreign namespace has the name, and does not touch it', async () => {
    const user = fleet().user()
    const name = fleet().namespace(user.username)
    const { kube } = fleet().world
    await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    await kube.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'theirs', namespace: name } })
    const { errors } = await fail(user)
    expect(errors.at(-1)).toMatch(new RegExp(`namespace ${name} exists.*left untouched`))
    expect((await user.userStatus()).body).toMatchObject({ status: 'failed', pod: 'missing' })
    expect((await fleet().admin.delete(user.username)).status).toBe(202)
    expect((await user.follow()).outcome).toBe('complete')
    expect((await user.userStatus()).status).toBe(404)
    const writes = await fleet().audit.writesOf(name)
    expect(writes.filter(({ code }) => code < 300)).toEqual([])
    expect((await kube.get('Namespace', name)).metadata).not.toHaveProperty('deletionTimestamp')
    expect(await kube.get('ConfigMap', 'theirs', name)).not.toBeNull()
    await kube.delete('Namespace', name)
  })
})

test('a creation fails when its pod is deleted while it starts', async context => {
  // With the default grace: a short one could expire before the pod is deleted.
  const fleet = await startFleet(context, { replicas: 1, config: { lab: { sizes } } })
  const user = fleet.user()
  await user.create(huge)
  await eventually('the pod', () => fleet.world.podOf(user.username))
  await fleet.world.kube.delete('Pod', `nb-${user.username}`, fleet.namespace(user.username), 0)
  const { outcome, errors } = await user.follow()
  expect(outcome).toBe('failed')
  expect(errors.at(-1)).toMatch(/pod .*(was removed|was deleted)/)
  await expectForgiven(fleet, user)
})

test('a creation fails with a reason when it takes too long', async context => {
  const times = { spawnTimeoutSeconds: 4, noRoomGraceSeconds: 300 }
  const fleet = await startFleet(context, { replicas: 1, config: { lab: { sizes }, times } })
  const user = fleet.user()
  const { errors } = await fail(user, huge)
  expect(errors.at(-1)).toBe('It took longer than 4 seconds')
  await expectForgiven(fleet, user)
})

describe('when the cluster holds a namespace', () => {
  const fleet = useFleet({ replicas: 1, config: { times: { deleteTimeoutSeconds: 12 } } })

  /** A lab with a timed-out deletion: the pod is gone, the namespace is terminating and cannot end. */
  async function stuck(): Promise<Client> {
    const user = fleet().user()
    await user.create()
    await user.follow()
    await hold(fleet(), user)
    await fleet().admin.delete(user.username)
    const { outcome, errors } = await user.follow()
    expect(outcome).toBe('failed')
    expect(errors.at(-1)).toMatch(/longer than 12 seconds.*skylab\.test\/hold/s)
    expect((await user.userStatus()).body).toMatchObject({ status: 'failed', pod: 'missing' })
    return user
  }

  test.concurrent('a deletion fails, quotes the cluster, and can be repeated', async () => {
    const user = await stuck()
    await letGo(fleet(), user)
    expect((await fleet().admin.delete(user.username)).status).toBe(202)
    expect((await user.follow()).outcome).toBe('complete')
    expect(await fleet().world.leftOf(user.username)).toEqual([])
  })

  test.concurrent('a creation waits for the end of the terminating namespace, and says why', async () => {
    const user = await stuck()
    const before = await fleet().world.namespaceOf(user.username)
    await user.create()
    const stream = await user.events()
    for await (const { data } of stream) if (data.includes(finalizer)) break
    await stream.close()
    expect((await fleet().world.namespaceOf(user.username)).metadata.uid).toBe(before.metadata.uid)
    await letGo(fleet(), user)
    expect((await user.follow()).outcome).toBe('complete')
    const after = await fleet().world.namespaceOf(user.username)
    expect(after.metadata.uid).not.toBe(before.metadata.uid)
  })
})
