/** Who may ask a fleet: fresh users for every test, and some with something special about them. */
import { randomBytes } from 'node:crypto'
import type { StaticTokens } from '../../../src/identity/tokens.ts'

export type UserRecord = StaticTokens['tokens'][number]

const firstUid = 5_000_000

/** A user who may have labs, with groups and a token of their own; `more` overrides. */
export function makeUser(username: string, index: number, more: Partial<UserRecord> = {}): UserRecord {
  const uid = firstUid + index
  return {
    token: `token-of-${index}-${randomBytes(12).toString('hex')}`,
    username,
    scopes: ['exec:notebook'],
    uid,
    gid: uid,
    groups: [{ name: username, id: uid }, { name: 'observers', id: 4_900_001 }, { name: 'without-gid' }],
    ...more,
  }
}
