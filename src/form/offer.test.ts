import { describe, expect, it } from 'vitest'
import {
  exampleCaller,
  exampleCatalogue,
  exampleConfig,
  exampleImage,
  examplePrepulled,
} from '../../test/kit/form/offer.ts'
import type { Identity } from '../base/domain.ts'
import { offerTo } from './offer.ts'
import type { LabOffer } from './render.ts'

const known = { catalogue: exampleCatalogue, prepulled: examplePrepulled }

function offer(caller: Partial<Identity> = {}, config: object = {}, images: object = {}) {
  return offerTo({ ...exampleCaller, ...caller }, exampleConfig(config), { ...known, ...images })
}
const taken = (...args: Parameters<typeof offer>) => offer(...args) as LabOffer
const tags = (images: readonly { tag: string }[]) => images.map(({ tag }) => tag)

describe('offerTo: images', () => {
  it('are the recommended one, those on all nodes in their order, and the menu', () => {
    const { recommended, recommendedIsFast, fast, menu, incomplete } = taken()
    expect([recommended?.tag, recommendedIsFast, incomplete]).toEqual(['recommended', true, false])
    expect(tags(fast)).toEqual(['recommended', 'r29_1_1', 'w_2026_27', 'd_2026_07_13'])
    expect(menu).toEqual(exampleCatalogue.menu)
  })

  it('count as fast only when they are on all nodes', () => {
    const { recommended, recommendedIsFast, fast } = taken({}, {}, { prepulled: new Set() })
    expect([recommended?.tag, recommendedIsFast, fast]).toEqual(['recommended', false, []])
  })

  it('are left out when they are restricted for this user', () => {
    const images = { restrictions: [{ tags: ['*recommended*', 'exp_*', 'r29_1_1'], groups: ['developers'] }] }
    const { recommended, fast, menu } = taken({}, { images })
    expect(recommended).toBeUndefined()
    expect(tags(fast)).toEqual(['w_2026_27', 'd_2026_07_13'])
    expect(tags(menu)).not.toContain('exp_w_2026_25_nosudo')
    const all = taken({ groups: [{ name: 'developers' }] }, { images })
    expect([all.recommended?.tag, all.fast.length, all.menu.length]).toEqual(['recommended', 4, 10])
  })

  it('are only the recommended one while no list is known', () => {
    const images = { registry: 'registry.example.org:5000', docker: { repository: 'a/b' }, recommendedTag: 'best' }
    const { recommended, recommendedIsFast, fast, menu, incomplete } = taken({}, { images }, { catalogue: undefined })
    expect(recommended).toEqual(exampleImage('best', { name: 'Best', reference: 'registry.example.org:5000/a/b:best' }))
    expect([recommendedIsFast, fast, menu, incomplete]).toEqual([false, [], [], true])
  })

  it('may lack a recommended one', () => {
    const catalogue = { ...exampleCatalogue, types: {} }
    const { recommended, recommendedIsFast } = taken({}, {}, { catalogue })
    expect([recommended, recommendedIsFast]).toEqual([undefined, false])
  })
})

describe('offerTo: sizes', () => {
  it('are those within the quota, with their resources', () => {
    const quota = { cpu: 2, spawn: true }
    const { sizes, defaultSize } = taken({ quota })
    expect(sizes.map(({ name }) => name)).toEqual(['small', 'medium'])
    expect(sizes[0]).toMatchObject({ limits: { cpu: 1, memory: 2 ** 32 }, requests: { cpu: 0.25, memory: 2 ** 30 } })
    expect(defaultSize).toBe('small')
  })
})

describe('offerTo refuses', () => {
  it.each<[string, Partial<Identity>, RegExp]>([
    ['a quota without labs', { quota: { spawn: false } }, /quota does not allow labs/],
    ['a quota that no size fits', { quota: { spawn: true, cpu: 0.1 } }, /none of the sizes/],
    ['root', { uid: 0 }, /UID is 0/],
    ['somebody with a group of the system', { groups: [{ name: 'disk', id: 6 }] }, /GID 6 is below 1000/],
    ['a GID that is none', { gid: -1 }, /GID/],
  ])('a user because of %s', (_, caller, reason) => {
    expect(offer(caller)).toEqual({ refused: expect.stringMatching(reason) })
  })

  it.each(['uid', 'gid'] as const)('a user without %s', id => {
    const { [id]: _, ...caller } = exampleCaller
    const refusal = offerTo(caller, exampleConfig(), known)
    expect(refusal).toEqual({ refused: expect.stringMatching(new RegExp(id, 'i')) })
  })
})
