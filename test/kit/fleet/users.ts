/** The users of a fleet: fresh ones for every test, and some with special properties. */
import { randomBytes } from 'node:crypto'
import type { StaticTokens } from '../../../src/identity/tokens.ts'

export type UserRecord = StaticTokens['tokens'][number]

/** Special properties of a user; null removes a usual one. */
export type Overrides = { readonly [Field in keyof UserRecord]?: UserRecord[Field] | null }

const firstUid = 5_000_000

/** A user who may have labs, with groups and a token of their own. */
export function makeUser(username: string, index: number, overrides: Overrides = {}): UserRecord {
  const uid = firstUid + index
  const usual: UserRecord = {
    token: `token-of-${index}-${randomBytes(12).toString('hex')}`,
    username,
    scopes: ['exec:notebook'],
    uid,
    gid: uid,
    groups: [{ name: username, id: uid }, { name: 'observers', id: 4_900_001 }, { name: 'without-gid' }],
  }
  const fields = Object.entries({ ...usual, ...overrides }).filter(([, value]) => value !== null)
  return Object.fromEntries(fields) as unknown as UserRecord
}
