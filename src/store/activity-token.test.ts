import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { activityToken, checkActivityToken } from './activity-token.ts'
import { Sealer } from './sealing.ts'

const [older, newer] = [randomBytes(32), randomBytes(32)]
const sealer = new Sealer([older])
const token = activityToken(sealer, 'ada', 7)

describe('checkActivityToken', () => {
  test('returns the op of the lab that the token was given to', () => {
    expect(checkActivityToken(sealer, 'ada', token)).toBe(7)
    const op = Number.MAX_SAFE_INTEGER
    expect(checkActivityToken(sealer, 'Ada Ü/x', activityToken(sealer, 'Ada Ü/x', op))).toBe(op)
  })

  test('accepts a token by any key in use, and none by a retired key', () => {
    expect(checkActivityToken(new Sealer([newer, older]), 'ada', token)).toBe(7)
    expect(checkActivityToken(new Sealer([newer]), 'ada', token)).toBeUndefined()
  })

  const [, id, mac] = token.split('.')
  test.each([
    ['of another lab of the user', `8.${id}.${mac}`],
    ['with a changed MAC', `7.${id}.${mac!.startsWith('A') ? 'B' : 'A'}${mac!.slice(1)}`],
    ['with a MAC that is cut', `7.${id}.${mac!.slice(0, -1)}`],
    ['with a MAC of nothing', `7.${id}.`],
    ['with more text', `${token}.x`],
    ['of an unknown key', `7.000000000000.${mac}`],
    ['with an op in another form', `07.${id}.${mac}`],
    ['that is no token', 'Bearer'],
    ['that is empty', ''],
  ])('refuses a token %s', (_, text) => {
    expect(checkActivityToken(sealer, 'ada', text)).toBeUndefined()
  })

  test('refuses the token of another user', () => {
    expect(checkActivityToken(sealer, 'grace', token)).toBeUndefined()
  })

  test('refuses a MAC over the same texts that was made for a record', () => {
    expect(checkActivityToken(sealer, 'ada', `7.${sealer.mac(['ada', '7'])}`)).toBeUndefined()
    expect(sealer.checkMac(['ada', '7'], `${id}.${mac}`)).toBe('wrong')
  })
})

test('activityToken has only characters of a header, and none of the key', () => {
  expect(token).toMatch(/^[A-Za-z0-9._-]+$/)
  expect(token).not.toContain(older.toString('base64url'))
})
