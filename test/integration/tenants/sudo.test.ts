/** Sudo with an end over REST: three processes, the policies, and the API server's own word about who may what. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { eventually } from '../../kit/cluster/world.ts'
import { testBed } from '../../kit/testbed.ts'
import { callRest, tokensOf } from './rest.ts'
import { TenantFleet } from './tenant-fleet.ts'

const people = { ann: [], oda: ['oncall'], eve: ['others'], max: [], admin: [] }
/** How long a grant may outlive its end. */
const endedMs = 1_000

let fleet: TenantFleet
beforeAll(async () => {
  const file = join(testBed().stateDir, 'tenants-tokens.yaml')
  writeFileSync(file, stringify(tokensOf(people)), { mode: 0o600 })
  const rest = { usernameTemplate: 'idp:{username}', groupTemplate: 'idp:{group}' }
  fleet = await TenantFleet.start(3, { identity: { provider: 'static', static: { file } }, tenants: { rest } })
})
afterAll(() => fleet.stop())

const user = (name: string) => ({ kind: 'User', name })
const eligible = [user('idp:ann'), { kind: 'Group', name: 'idp:oncall' }]
const wish = { ttlSeconds: 600, reason: 'the queue is stuck' }

async function made(spec: object = { sudo: { eligible } }): Promise<string> {
  const name = await fleet.make(spec)
  await fleet.says(name, 'Ready', 'Ready')
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
