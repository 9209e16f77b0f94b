import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NeedsSomeone } from '../base/errors.ts'
import { labOf, sealedName } from '../base/subject.ts'
import { Sealer } from './sealing.ts'

const [older, newer] = [randomBytes(32), randomBytes(32)]
const sealer = new Sealer([older])
const sealed = sealer.seal('a token', 'ada', 'nonce')

test('Sealer opens a plan for the user and the acceptance that it was sealed for', () => {
  expect(sealer.open(sealed, 'ada', 'nonce')).toBe('a token')
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), fc.uuid(), (text, user, nonce) => {
      expect(sealer.open(sealer.seal(text, user, nonce), user, nonce)).toBe(text)
    }),
  )
})

test('Sealer hides the text, and seals it differently each time', () => {
  expect(Buffer.from(sealed.split('.').at(-1)!, 'base64url').toString()).not.toContain('token')
  expect(sealed).not.toContain(older.toString('base64url'))
  expect(sealer.seal('a token', 'ada', 'nonce')).not.toBe(sealed)
})

describe('Sealer refuses to open, without quoting the plan,', () => {
  const refuses = (attempt: () => string) => {
    expect(attempt).toThrow(NeedsSomeone)
    expect(attempt).toThrow('does not open')
  }

  test('a plan of another user or acceptance', () => {
    refuses(() => sealer.open(sealed, 'grace', 'nonce'))
    refuses(() => sealer.open(sealed, 'ada', 'another'))
  })

  test('a plan of a subject of another kind, whose name and acceptance are the same', () => {
    const [ofLab, ofToy] = [labOf('ada'), { kind: 'toy', name: 'ada' }].map(sealedName)
    refuses(() => sealer.open(sealer.seal('a token', ofToy!, 'nonce'), ofLab!, 'nonce'))
    refuses(() => sealer.open(sealed, ofToy!, 'nonce'))
  })

  test('a plan with any part changed, cut or taken from another', () => {
    const parts = sealed.split('.')
    const other = sealer.seal('another', 'ada', 'nonce').split('.')
    for (const place of [2, 3, 4]) {
      const flipped = Buffer.from(parts[place]!, 'base64url')
      flipped[0]! ^= 1
      for (const part of [flipped.toString('base64url'), parts[place]!.slice(0, -4), '', other[place]!]) {
        refuses(() => sealer.open(parts.with(place, part).join('.'), 'ada', 'nonce'))
      }
    }
    refuses(() => sealer.open(parts.slice(0, 3).join('.'), 'ada', 'nonce'))
  })
})

describe('Sealer, with several keys,', () => {
  test('seals with the first when none is named, and opens with all', () => {
    const both = new Sealer([newer, older])
    expect(both.open(sealed, 'ada', 'nonce')).toBe('a token')
    const fresh = both.seal('a token', 'ada', 'nonce')
    expect(new Sealer([newer]).open(fresh, 'ada', 'nonce')).toBe('a token')
    expect(() => sealer.open(fresh, 'ada', 'nonce')).toThrow('a key that this replica does not have')
    expect(() => new Sealer([newer]).open(sealed, 'ada', 'nonce')).toThrow(NeedsSomeone)
  })

  test('seals with the named key', () => {
    const both = new Sealer([newer, older])
    expect(sealer.open(both.seal('a token', 'ada', 'nonce', sealer.ids), 'ada', 'nonce')).toBe('a token')
    expect(() => sealer.seal('a token', 'ada', 'nonce', new Sealer([newer]).ids)).toThrow(NeedsSomeone)
  })

  test('tries no key with another id, and no other form', () => {
    const [version, ...rest] = sealed.split('.')
    expect(() => sealer.open(['v2', ...rest].join('.'), 'ada', 'nonce')).toThrow('does not have')
    expect(() => sealer.open([version, '000000000000', ...rest.slice(1)].join('.'), 'ada', 'nonce')).toThrow(
      'does not have',
    )
    expect(() => sealer.open('', 'ada', 'nonce')).toThrow('does not have')
  })

  test('needs at least one key', () => {
    expect(() => new Sealer([])).toThrow('no sealing key')
  })
})

describe('Sealer.checkMac', () => {
  const texts = ['skylab', 'nublado-ada', 'ada', '7', '{}']
  const mac = sealer.mac(texts)

  test('returns right for the MAC’s texts, with any key of the replica', () => {
    expect(sealer.checkMac(texts, mac)).toBe('right')
    expect(new Sealer([newer, older]).checkMac(texts, mac)).toBe('right')
  })

  test('returns wrong for other texts, also when text moved to its neighbour', () => {
    for (const i of texts.keys()) expect(sealer.checkMac(texts.with(i, 'x'), mac)).toBe('wrong')
    expect(sealer.checkMac(['skylab', 'nublado-ada', 'ada7', '', '{}'], mac)).toBe('wrong')
    expect(sealer.checkMac(['skylabnublado-ada', '', 'ada', '7', '{}'], mac)).toBe('wrong')
  })

  test('returns wrong for a cut or empty MAC with a key of the replica', () => {
    expect(sealer.checkMac(texts, mac.slice(0, -4))).toBe('wrong')
    expect(sealer.checkMac(texts, sealer.ids)).toBe('wrong')
  })

  test('returns unknown without a MAC, or when its key was removed', () => {
    for (const other of [undefined, '', 'x.y', new Sealer([newer]).mac(texts)]) {
      expect(sealer.checkMac(texts, other)).toBe('unknown')
    }
  })

  test('does not use the sealing key itself', async () => {
    const { createHmac } = await import('node:crypto')
    const plain = createHmac('sha256', older).update(JSON.stringify(texts)).digest('base64url')
    expect(mac.split('.')[1]).not.toBe(plain)
  })
})
