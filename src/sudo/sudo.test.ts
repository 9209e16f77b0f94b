/** Grants on an API server in memory, beside the replicas that make rights of them. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Identity } from '../base/domain.ts'
import { RetryLater } from '../base/errors.ts'
import { mostGrants } from '../tenants/grants.ts'
import { Tenants } from '../tenants/testing/replicas.ts'
import { group, user } from '../tenants/testing/world.ts'
import { Sudo } from './sudo.ts'

let tenants: Tenants
beforeEach(() => {
  tenants = new Tenants()
})
afterEach(() => tenants.stop())

const rest = { usernameTemplate: 'idp:{username}', groupTemplate: 'idp:{group}' }
const spec = { sudo: { eligible: [user('idp:ann'), group('idp:oncall')], maxSeconds: 600 } }
const wish = { ttlSeconds: 60, reason: 'the queue is stuck' }

const caller = (username: string, ...groups: string[]): Identity => ({
  ...{ username, token: '', scopes: [] },
  groups: groups.map(name => ({ name })),
})
const ann = caller('ann')
const oda = caller('oda', 'oncall')

function replica(templates: typeof rest | object = rest) {
  const { world, tenants: reconciler, sudoers } = tenants.replica()
  const onWritten = (name: string, of: string) => {
    reconciler.poke(name, true)
    sudoers.poke(of, true)
  }
  return {
    world,
    sudo: new Sudo({ world, kube: tenants.api.client, rest: templates, clock: tenants.clock, onWritten }),
  }
}

const stored = (name = 'a') =>
  (tenants.get('LNamespace', name)?.status as { grants?: { id: string; user: string; as: object }[] })?.grants
const bound = (name = 'a') => tenants.subjects('ClusterRoleBinding', `lns:sudo:${name}`)

describe('Sudo', () => {
  test('stores a grant with the entry that permits it, and its right follows and ends', async () => {
    const { sudo } = replica()
    await tenants.made('a', spec)
    const { grant } = await sudo.grant('a', oda, wish)
    expect(grant).toMatchObject({ user: 'idp:oda', untilMs: tenants.clock.wallMs() + 60_000, reason: wish.reason })
    expect(stored()).toEqual([expect.objectContaining({ id: grant.id, as: group('idp:oncall') })])
    await tenants.pass()
    expect(bound()).toEqual(['idp:oda'])
    await tenants.pass(60_000)
    expect([bound(), stored()]).toEqual([undefined, undefined])
  })

  test('gives and ends nothing while another installation serves tenants', async () => {
    const { sudo } = replica()
    await tenants.made('a', spec)
    await sudo.grant('a', ann, wish)
    const before = stored()
    tenants.giveTo('observatory')
    const words = 'another installation serves the tenants of this cluster'
    await expect(sudo.grant('a', oda, wish)).rejects.toThrow(words)
    await expect(sudo.end('a', ann)).rejects.toThrow(words)
    expect(stored()).toEqual(before)
  })

  test('puts a further grant in the place of the first when somebody asks again', async () => {
    const { sudo } = replica()
    await tenants.made('a', spec)
    await sudo.grant('a', ann, wish)
    await sudo.grant('a', oda, wish)
    const { grant } = await sudo.grant('a', ann, { ...wish, ttlSeconds: 5 })
    expect(stored()?.map(({ id, user }) => ({ id, user }))).toEqual([
      { id: expect.any(String), user: 'idp:oda' },
      { id: grant.id, user: 'idp:ann' },
    ])
    await tenants.pass(6_000)
    expect(bound()).toEqual(['idp:oda'])
  })

  test.each([
    ['eve', caller('eve'), wish, 403, 'not_eligible'],
    ['a member of a group without the prefix', caller('eve', 'xoncall'), wish, 403, 'not_eligible'],
    ['a time above spec.sudo.maxSeconds', ann, { ...wish, ttlSeconds: 601 }, 422, 'invalid'],
  ])('refuses %s', async (_, who, what, status, type) => {
    const { sudo } = replica()
    await tenants.made('a', spec)
    await expect(sudo.grant('a', who, what)).rejects.toMatchObject({ status, detail: [{ type }] })
    expect([stored(), tenants.written()]).toEqual([undefined, []])
  })

  test('refuses everybody when no template is set', async () => {
    const { sudo } = replica({})
    await tenants.made('a', spec)
    const off = { status: 404, detail: [{ type: 'sudo_off' }] }
    await expect(sudo.grant('a', ann, wish)).rejects.toMatchObject(off)
    await expect(sudo.end('a', ann)).rejects.toMatchObject(off)
  })

  test('never grants to a name of the cluster itself', async () => {
    const { sudo } = replica({ usernameTemplate: '{username}' })
    await tenants.made('a', { sudo: { eligible: [group('idp:oncall')] } })
    const forbidden = { status: 403, detail: [{ type: 'forbidden' }] }
    await expect(sudo.grant('a', caller('system:admin'), wish)).rejects.toMatchObject(forbidden)
  })

  test('does not count an account of a namespace as eligible', async () => {
    const { sudo } = replica({ usernameTemplate: '{username}' })
    await tenants.made('a', { sudo: { eligible: [{ kind: 'ServiceAccount', namespace: 'x', name: 'ann' }] } })
    await expect(sudo.grant('a', ann, wish)).rejects.toMatchObject({ status: 403 })
  })

  test('refuses to grant while policies are missing, and still ends', async () => {
    const { sudo } = replica()
    await tenants.made('a', spec)
    await sudo.grant('a', ann, wish)
    await tenants.pass()
    tenants.guard('the policies are missing')
    await expect(sudo.grant('a', oda, wish)).rejects.toMatchObject({ status: 503 })
    expect(await sudo.end('a', ann)).toBe(true)
    await tenants.pass()
    expect(bound()).toBeUndefined()
  })

  test('refuses a tenant that is not accepted, or not there', async () => {
    const { sudo } = replica()
    tenants.declare('kube-x', { spec })
    await tenants.pass()
    await expect(sudo.grant('kube-x', ann, wish)).rejects.toMatchObject({ status: 409 })
    await expect(sudo.grant('none', ann, wish)).rejects.toMatchObject({ status: 404 })
    await expect(sudo.end('none', ann)).rejects.toMatchObject({ status: 404 })
  })

  test('refuses one more than a tenant can have', async () => {
    const { sudo } = replica()
    const until = new Date(tenants.clock.wallMs() + 60_000).toISOString()
    const grants = Array.from({ length: mostGrants }, (_, i) => ({
      ...{ id: `${i}`, user: `idp:p${i}`, until, reason: 'r', as: group('idp:oncall') },
    }))
    tenants.declare('a', { spec, status: { grants } })
    await tenants.pass()
    await expect(sudo.grant('a', ann, wish)).rejects.toMatchObject({ status: 429 })
    expect(await sudo.grant('a', caller('p7', 'oncall'), wish)).toBeDefined()
  })

  test('ends only what the caller has', async () => {
    const { sudo } = replica()
    await tenants.made('a', spec)
    await sudo.grant('a', ann, wish)
    await sudo.grant('a', oda, wish)
    expect(await sudo.end('a', caller('eve'))).toBe(false)
    expect(await sudo.end('a', ann)).toBe(true)
    expect(await sudo.end('a', ann)).toBe(false)
    await tenants.pass()
    expect(bound()).toEqual(['idp:oda'])
  })

  test('ends a grant of another replica when the watch does not show it yet', async () => {
    const [one, other] = [replica(), replica()]
    await tenants.made('a', spec)
    tenants.api.stall(other.world.sights.lnamespaces as never)
    await one.sudo.grant('a', ann, wish)
    expect(await other.sudo.end('a', ann)).toBe(true)
    expect(stored()).toBeUndefined()
  })

  test('judges again when somebody has edited the LNamespace meanwhile', async () => {
    const { sudo, world } = replica()
    await tenants.made('a', spec)
    tenants.api.stall(world.sights.lnamespaces as never)
    tenants.declare('a', { spec: { sudo: { eligible: [user('idp:max')] } } })
    await expect(sudo.grant('a', ann, wish)).rejects.toMatchObject({ status: 403 })
    expect(stored()).toBeUndefined()
  })

  test('gives nothing to a name that was made again when the watch still shows the former one', async () => {
    const { sudo, world } = replica()
    await tenants.made('a', spec)
    tenants.api.stall(world.sights.lnamespaces as never)
    tenants.drop('a')
    tenants.declare('a', { spec: {} })
    await expect(sudo.grant('a', ann, wish)).rejects.toMatchObject({ status: 403 })
    expect(stored()).toBeUndefined()
  })

  test('stores one grant when the first reply was lost', async () => {
    const { world } = replica()
    await tenants.made('a', spec)
    const { patch } = tenants.api.client
    const lossy = {
      ...tenants.api.client,
      patch: async (...args: Parameters<typeof patch>) => {
        await patch(...args)
        // As a client that sends again.
        return patch(...args)
      },
    }
    const twice = new Sudo({ ...{ world, kube: lossy, rest, clock: tenants.clock }, onWritten: () => {} })
    const { grant } = await twice.grant('a', ann, wish)
    expect(stored()?.map(({ id }) => id)).toEqual([grant.id])
  })

  test('gives up in words when others write all the time', async () => {
    const { sudo } = replica()
    await tenants.made('a', spec)
    tenants.api.onWrite = verb => {
      if (verb === 'status') tenants.declare('a', { spec })
    }
    await expect(sudo.grant('a', ann, wish)).rejects.toMatchObject({ status: 503 })
  })

  test('says that nothing is known when the API server does not answer', async () => {
    const { sudo } = replica()
    await tenants.made('a', spec)
    tenants.api.onWrite = () => {
      throw new RetryLater('the API server does not answer')
    }
    await expect(sudo.grant('a', ann, wish)).rejects.toBeInstanceOf(RetryLater)
  })
})

test('a report of a turn keeps a grant that was stored between its look and its patch', async () => {
  const { sudo } = replica()
  await tenants.made('a', spec)
  let granting: Promise<unknown> | undefined
  tenants.api.onWrite = async (verb, _, body) => {
    // The report of the next edit, which knows of no grant.
    if (verb !== 'status' || granting || JSON.stringify(body).includes('grants')) return
    granting = sudo.grant('a', ann, wish)
    await granting
  }
  tenants.declare('a', { spec: { ...spec, users: [user('eve')] } })
  await tenants.pass(2_000)
  expect(granting).toBeDefined()
  expect(stored()?.map(({ user }) => user)).toEqual(['idp:ann'])
  expect([bound(), tenants.isReady('a')]).toEqual([['idp:ann'], true])
})

test('a grant ends when the group by which it was given is eligible no more, and the user is not', async () => {
  const { sudo } = replica()
  await tenants.made('a', spec)
  await sudo.grant('a', oda, wish)
  await sudo.grant('a', ann, wish)
  await tenants.pass()
  tenants.declare('a', { spec: { sudo: { eligible: [user('idp:ann'), group('idp:others')] } } })
  await tenants.pass(200)
  expect(bound()).toEqual(['idp:ann'])
  await tenants.pass()
  expect(stored()?.map(({ user }) => user)).toEqual(['idp:ann'])
})
