/** Processes for tenants and for containers side by side: the controller of tenants tells who is in which, by Redis alone. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { amountsDefinitionOf } from '../../../src/billing/postgres/statements.ts'
import { billingConfig, billTable, type OwnPostgres, ownPostgres, startLimitMs } from '../../kit/billing/postgres.ts'
import { DispatchFleet } from '../../kit/dispatch/fleet.ts'
import { TenantFleet } from '../tenants/tenant-fleet.ts'

const patience = { timeout: 120_000, interval: 100 }
const keyPrefix = 'of-tenants'
const name = `t${randomBytes(3).toString('hex')}`
const [physics, biology] = [`${name}-physics`, `${name}-biology`]

let bills: OwnPostgres
let containers: DispatchFleet
let tenants: TenantFleet
beforeAll(async () => {
  bills = await ownPostgres()
  const { postgres, folder } = bills
  for (const statement of amountsDefinitionOf('public', billTable, postgres.user)) await postgres.query(statement)
  const limits = { [physics]: { maxInstances: 0 }, [biology]: {} }
  const billing = billingConfig(postgres, folder)
  containers = await DispatchFleet.start({ tenants: { keyPrefix, limits, billingTags: ['fund', 'project'], billing } })
}, startLimitMs)
afterAll(async () => {
  await tenants?.stop()
  await containers?.stop()
  await bills?.stop()
})

const body = { command: ['true'], container_image: 'busybox', runtime_constraints: { ram: 2 ** 30 } }

interface Answer {
  readonly uuid: string
  readonly tenant: string
  readonly cost: number
  readonly scheduling_status: string
  readonly detail?: readonly [{ readonly type: string }]
}

async function send(who: 'ada' | 'bob', tenant?: string): Promise<Answer> {
  const sent = { method: 'POST', body: { ...body, tenant } }
  const answer = await containers.rest(who, '/dispatch/v1/containers', sent, tenant === undefined ? 0 : 1)
  return answer.body as Answer
}

const tenantOf = async (who: 'ada' | 'bob', tenant?: string) => {
  const answer = await send(who, tenant)
  return answer.tenant ?? answer.detail?.[0].type
}
const find = async (who: 'ada' | 'bob', uuid: string) =>
  (await containers.rest(who, `/dispatch/v1/containers/${uuid}`)).body as Answer
const user = (of: string) => ({ kind: 'User', name: `oidc:${of}` })

test('containers count for the LNamespace of their owner, and for no other', async () => {
  expect(await tenantOf('ada')).toBe('unavailable')
  // They share the Redis, each under a prefix of its own.
  tenants = await TenantFleet.start(2, { redis: { url: containers.redis.url, keyPrefix } })
  await expect.poll(() => tenantOf('ada'), patience).toBe('default')

  await tenants.make({ users: [user('ada')] }, physics)
  await expect.poll(() => tenantOf('ada'), patience).toBe(physics)
  expect([await tenantOf('bob'), await tenantOf('bob', physics)]).toEqual(['default', 'not_member'])

  // The limits of each: ada’s tenant has no machine, and bob’s container runs.
  const [ofAda, ofBob] = [await send('ada', physics), await send('bob')]
  await expect.poll(async () => (await containers.find(ofBob.uuid)).state, patience).toBe('Complete')
  const waits = async () => (await find('ada', ofAda.uuid)).scheduling_status
  await expect.poll(waits, patience).toContain(`tenant ${physics} has all its machines`)

  const billing = { fund: '4711', other: 'x' }
  await tenants.make({ users: [user('ada'), user('bob')], billing }, biology)
  await expect.poll(() => tenantOf('ada'), patience).toBe('missing')
  expect([await tenantOf('ada', biology), await tenantOf('bob')]).toEqual([biology, biology])

  // It was decided when it was accepted.
  await tenants.edit(physics, { users: [] })
  await expect.poll(() => tenantOf('ada'), patience).toBe(biology)
  expect((await find('ada', ofAda.uuid)).tenant).toBe(physics)
})

test('a machine has the tags of whoever pays for it, also after an edit', async () => {
  const go = join(containers.stateDir, 'go')
  const command = ['sh', '-c', `while [ ! -e ${go} ]; do sleep 0.1; done`]
  const sent = { method: 'POST', body: { ...body, command, tenant: biology } }
  const { uuid } = (await containers.rest('bob', '/dispatch/v1/containers', sent)).body as Answer
  const tags = async () => {
    const { instance } = await containers.find(uuid)
    const all = (await containers.cloud.read(instance))?.tags ?? {}
    return ['Tenant', 'Billing-fund', 'Billing-project', 'Billing-other'].map(name => all[`Arvados${name}`])
  }
  await expect.poll(tags, patience).toEqual([biology, '4711', undefined, undefined])
  await tenants.edit(biology, { billing: { fund: null, project: 'survey' } })
  await expect.poll(tags, patience).toEqual([biology, '', 'survey', undefined])
  // Machines of earlier containers may still be there, and count too.
  const metrics = await (await fetch(`${containers.replicas[1]!.monitoringUrl}/metrics`)).text()
  const [, told] = metrics.split(`skylab_dispatch_price_per_hour{instance_type="small",tenant="${biology}"} `)
  expect(Number.parseFloat(told ?? '')).toBeGreaterThanOrEqual(0.1)
  writeFileSync(go, '')
  await expect.poll(async () => (await containers.find(uuid)).state, patience).toBe('Complete')
})

test('what a container has cost is billed to its tenant once when its writer is killed before it knows', async () => {
  const linesOf = (uuid: string) =>
    bills.postgres.query<{ ns_name: string; cost: number }>(
      `SELECT ns_name, cost FROM ${billTable}_machines WHERE container = $1`,
      [uuid],
    )
  /** @param at a replica that lives */
  const complete = async (tenant: string, at = 0) => {
    const command = ['sleep', '1']
    const sent = { method: 'POST', body: { ...body, command, tenant } }
    const { uuid } = (await containers.rest('bob', '/dispatch/v1/containers', sent, at)).body as Answer
    await expect.poll(async () => (await containers.find(uuid)).state, patience).toBe('Complete')
    return uuid
  }
  const first = await complete(biology)
  await expect.poll(async () => (await linesOf(first)).length, patience).toBe(1)
  const [line] = await linesOf(first)
  expect(line).toEqual({
    ns_name: biology,
    cost: (await find('bob', first)).cost,
  })
  expect(line!.cost).toBeGreaterThan(0)

  // The line is written, and nobody knows. The heir writes all again.
  const arm = containers.failpoints.arm('amounts.after-write', 'kill')
  const second = await complete(biology)
  const { replica } = await arm.landed()
  expect(await linesOf(second)).toHaveLength(1)
  const third = await complete(
    biology,
    containers.replicas.findIndex(({ name }) => name !== replica),
  )
  await expect.poll(async () => (await linesOf(third)).length, patience).toBe(1)
  expect(await linesOf(second)).toHaveLength(1)
  expect(await linesOf(first)).toEqual([line])
})

test('who is in which goes on being known when Redis has lost the table, once it is written again', async () => {
  await containers.client.del(`{${keyPrefix}}:tenant-members`)
  await expect.poll(() => tenantOf('bob'), patience).toBe(biology)
})
