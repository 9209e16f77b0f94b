import { describe, expect, it, vi } from 'vitest'
import { members } from '../../test/kit/apps/routes.ts'
import { type Members, SomeMembers } from '../store/apps/members.ts'
import { Tenancy } from './tenancy.ts'

const names = { usernameTemplate: 'oidc:{username}', groupTemplate: 'g:{group}' }
const ada = { user: 'ada', groups: ['staff'] }
const listed = members(['oidc:ada'])

interface Told {
  readonly entries: Readonly<Record<string, Members>>
  readonly complete?: boolean
  readonly broken?: readonly string[]
}

function tenancy({ entries, complete = true, broken = [] }: Told, tenants = ['physics', 'biology']) {
  let version = '1'
  const readSome = vi.fn(async (asked: readonly string[]) => ({
    ...{ complete, version, broken: new Set(broken) },
    entries: new Map(Object.entries(entries).filter(([name]) => asked.includes(name))),
  }))
  const table = { readSome, version: async () => version }
  const change = () => {
    version += '1'
  }
  const members = new SomeMembers(table, tenants)
  return { tenancy: new Tenancy({ members, names, tenants }), readSome, change }
}

const of = (told: Told, named?: string) => tenancy(told).tenancy.tenantOf(ada, named)

describe('Tenancy.tenantOf', () => {
  it('is the only tenant of a person when he names none, by his name or by a group', async () => {
    expect(await of({ entries: { physics: listed, biology: members(['oidc:bob']) } })).toBe('physics')
    expect(await of({ entries: { physics: members([], { groups: ['g:staff'] }) } })).toBe('physics')
  })

  it('is `default` when he is in none, and also when he names it', async () => {
    const entries = { physics: members(['ada', 'oidc:bob'], { groups: ['staff'] }) }
    expect([await of({ entries }), await of({ entries }, 'default')]).toEqual(['default', 'default'])
  })

  it('is the one that is named when he is in more than one', async () => {
    expect(await of({ entries: { physics: listed, biology: listed } }, 'biology')).toBe('biology')
  })

  it('is refused when he names none of several, and the refusal names his own', async () => {
    const refused = of({ entries: { physics: listed, biology: listed } })
    await expect(refused).rejects.toMatchObject({
      status: 422,
      detail: [{ type: 'missing', loc: ['body', 'tenant'], msg: expect.stringContaining('physics, biology') }],
    })
  })

  it.each([
    ['is in another one', { physics: listed }, 'biology'],
    ['is in one, and names `default`', { physics: listed }, 'default'],
    ['names what is no LNamespace', {}, 'physics'],
    ['is in one that does not count', { chemistry: listed }, 'chemistry'],
  ])('is refused when he %s', async (_, entries, named) => {
    await expect(of({ entries }, named)).rejects.toMatchObject({
      status: 422,
      detail: [{ type: 'not_member', loc: ['body', 'tenant'] }],
    })
  })

  it('does not count an LNamespace that the configuration does not name', async () => {
    expect(await of({ entries: { chemistry: listed } })).toBe('default')
  })

  it.each([
    ['the table is not whole', { entries: { biology: members([]) }, complete: false }],
    ['an entry cannot be read', { entries: { biology: members([]) }, broken: ['physics'] }],
  ])('is 503 when %s, but for one that is known', async (_, told) => {
    await expect(of(told)).rejects.toMatchObject({ status: 503 })
    await expect(of(told, 'physics')).rejects.toMatchObject({ status: 503 })
    await expect(of({ ...told, entries: { biology: listed } }, 'biology')).resolves.toBe('biology')
  })

  it('reads the members again when they have changed, and only then', async () => {
    const { tenancy: its, readSome, change } = tenancy({ entries: { physics: listed } })
    await its.tenantOf(ada)
    await its.tenantOf(ada)
    expect(readSome.mock.calls).toEqual([[['physics', 'biology']]])
    change()
    await its.tenantOf(ada)
    expect(readSome).toHaveBeenCalledTimes(2)
  })

  it('reads nothing when there are no tenants: all are of `default`', async () => {
    const { tenancy: its, readSome } = tenancy({ entries: { physics: listed } }, [])
    expect([await its.tenantOf(ada), await its.tenantOf(ada, 'default')]).toEqual(['default', 'default'])
    await expect(its.tenantOf(ada, 'physics')).rejects.toMatchObject({ status: 422 })
    expect(readSome).not.toHaveBeenCalled()
  })
})
