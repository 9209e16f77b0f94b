import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openCredential, sealCredential } from './credential.ts'
import { Sealer } from './sealing.ts'

const [older, newer] = [randomBytes(32), randomBytes(32)]
const sealer = new Sealer([older])
const credential = sealCredential(sealer, 'ada', 7, 'hub-token')

test('openCredential opens what was sealed for this user and op', () => {
  expect(openCredential(sealer, 'ada', { op: 7, credential })).toBe('hub-token')
  expect(openCredential(new Sealer([newer, older]), 'ada', { op: 7, credential })).toBe('hub-token')
})

test.each([
  ['there is none', 'ada', 7, undefined],
  ['it is another user’s', 'grace', 7, credential],
  ['it is of an earlier operation', 'ada', 8, credential],
  ['it is no sealed text', 'ada', 7, 'hub-token'],
])('openCredential returns undefined when %s', (_, user, op, text) => {
  expect(openCredential(sealer, user, { op, credential: text })).toBeUndefined()
})

test('openCredential returns undefined when the key was retired', () => {
  expect(openCredential(new Sealer([newer]), 'ada', { op: 7, credential })).toBeUndefined()
})

test('sealCredential hides the text', () => {
  expect(Buffer.from(credential.split('.').at(-1)!, 'base64url').toString()).not.toContain('hub-token')
})
