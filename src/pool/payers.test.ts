import { describe, expect, it } from 'vitest'
import { members } from '../../test/kit/apps/routes.ts'
import type { MachineBrief } from '../dispatch/container.ts'
import { tagNames } from '../dispatch/tags.ts'
import type { Members } from '../store/apps/members.ts'
import { Payers } from './payers.ts'
import { Tagging } from './tagging.ts'

const names = tagNames('Arvados')
const physics = members([], { billing: { fund: '4711', project: 'survey', other: 'x' } })

interface Told {
  readonly entries?: Readonly<Record<string, Members>>
  readonly complete?: boolean
  readonly broken?: readonly string[]
}

async function payersOf({ entries = {}, complete = true, broken = [] }: Told = {}) {
  const read = async () => ({
    ...{ complete, version: '1', entries: new Map(Object.entries(entries)), broken: new Set(broken) },
  })
  const payers = new Payers({ members: { read }, tenants: ['physics'], keys: ['fund', 'project'], names })
  await payers.refresh()
  return payers
}

describe('Payers.tagsOf', () => {
  it('has the tenant, and the keys of its billing that are named', async () => {
    expect((await payersOf({ entries: { physics } })).tagsOf('physics')).toEqual({
      ...{ ArvadosTenant: 'physics', 'ArvadosBilling-fund': '4711', 'ArvadosBilling-project': 'survey' },
    })
  })

  it.each([
    ['its tenant says nothing', { entries: { physics: members([], { billing: {} }) } }, 'physics'],
    ['its LNamespace is gone', {}, 'physics'],
    ['it counts for `default`, whatever the table says', { entries: { default: physics }, complete: false }, 'default'],
  ])('empties the keys of the tenant before when %s', async (_, told, tenant) => {
    expect((await payersOf(told)).tagsOf(tenant)).toEqual({
      ...{ ArvadosTenant: tenant, 'ArvadosBilling-fund': '', 'ArvadosBilling-project': '' },
    })
  })

  it.each([
    ['is longer than a tag can be', '\u{1F52D}'.repeat(200), '\u{1F52D}'.repeat(128)],
    ['is cut within a character', `x${'\u{1F52D}'.repeat(200)}`, `x${'\u{1F52D}'.repeat(127)}\u{FFFD}`],
    ['has what is no character', ' a\u{FFFF}b\u{E000} ', 'a\u{FFFD}b\u{FFFD}'],
  ])('has a value that a cloud takes when that of the LNamespace %s', async (_, fund, tag) => {
    const payers = await payersOf({ entries: { physics: members([], { billing: { fund } }) } })
    expect(payers.tagsOf('physics')['ArvadosBilling-fund']).toBe(tag)
  })

  it.each([
    ['the table is not whole', { complete: false }],
    ['its entry cannot be read', { broken: ['physics'] }],
  ])('says nothing of billing when %s', async (_, told) => {
    expect((await payersOf(told)).tagsOf('physics')).toEqual({ ArvadosTenant: 'physics' })
  })
})

describe('Payers.tenantOf', () => {
  it('believes a tag of a tenant that counts, and no other', async () => {
    const payers = await payersOf()
    const of = (tag?: string) => payers.tenantOf(tag === undefined ? {} : { ArvadosTenant: tag })
    expect([of('physics'), of('chemistry'), of('default'), of('__proto__'), of()]).toEqual([
      ...['physics', 'default', 'default', 'default', 'default'],
    ])
  })
})

describe('Tagging', () => {
  const brief = { name: 'a', type: 'small', idleBehavior: 'run', tenant: 'physics' } as MachineBrief
  const tags = { ArvadosIntent: 'a', ArvadosInstanceType: 'small', ArvadosIdleBehavior: 'run' }
  const common = { names, sets: ['ours'], types: new Map() }

  it('writes what differs when a machine has passed to another tenant', async () => {
    const tagging = new Tagging({ ...common, payers: await payersOf({ entries: { physics } }) })
    const before = { ...tags, ArvadosTenant: 'biology', 'ArvadosBilling-fund': '4711', 'ArvadosBilling-project': 'map' }
    expect(tagging.missingOf(before, brief)).toEqual({ ArvadosTenant: 'physics', 'ArvadosBilling-project': 'survey' })
    expect(tagging.missingOf({ ...before, ...tagging.missingOf(before, brief) }, brief)).toEqual({})
  })

  it('leaves such tags alone when the site has no tenants', () => {
    const tagging = new Tagging(common)
    expect(tagging.missingOf({ ...tags, ArvadosTenant: 'biology' }, brief)).toEqual({})
    const stray = {
      id: 'i',
      tags: { ArvadosTenant: 'physics' },
      address: '',
      providerType: 'x',
      state: 'running',
    } as const
    expect(tagging.strayOf(stray).tenant).toBe('default')
  })
})
