import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Warrant } from './protocol.ts'
import { canonical, isWarranted, sealOf } from './warrant.ts'

const token = 'a'.repeat(32)
const old = 'b'.repeat(32)
const open: Omit<Warrant, 'seal'> = {
  ...{ uuid: 'zzzzz-dz642-000000000000001', run: 7, owner: 'ada' },
  spec: {
    ...{ command: ['true'], image: 'busybox', environment: { A: '1', B: '2' }, cwd: '/' },
    ...{ mounts: {}, vcpus: 1, ramBytes: 1, maxRunSeconds: 0 },
  },
}
const warrant: Warrant = { ...open, seal: sealOf(token, open) }

describe('isWarranted', () => {
  it('is true for what the installation sealed, whatever the order of keys', () => {
    expect(isWarranted([token], warrant)).toBe(true)
    const turned = { ...warrant, spec: { ...warrant.spec, environment: { B: '2', A: '1' } } }
    expect(isWarranted([token], turned)).toBe(true)
  })

  it('is true for a seal by a token before, and false without that', () => {
    const former = { ...open, seal: sealOf(old, open) }
    expect(isWarranted([token, old], former)).toBe(true)
    expect(isWarranted([token], former)).toBe(false)
  })

  it.each<[string, Partial<Warrant>]>([
    ['uuid', { uuid: 'zzzzz-dz642-000000000000002' }],
    ['run', { run: 8 }],
    ['owner', { owner: 'eve' }],
    ['command', { spec: { ...open.spec, command: ['true', ''] } }],
    ['environment', { spec: { ...open.spec, environment: { A: '1' } } }],
    ['seal', { seal: '' }],
    ['seal', { seal: `${warrant.seal}0` }],
  ])('is false when the %s is another', (_, change) => {
    expect(isWarranted([token], { ...warrant, ...change })).toBe(false)
  })
})

describe('canonical', () => {
  it('gives equal texts to equal values alone', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const [a, b] = [asJson(one), asJson(other)]
        expect(JSON.parse(canonical(a))).toEqual(a)
        expect(canonical(a) === canonical(b)).toBe(isDeepStrictEqual(a, b))
      }),
    )
  })
})

/** Without what JSON does not know, such as -0. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
