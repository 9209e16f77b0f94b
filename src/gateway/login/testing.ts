/** For tests of logins: a visit, and the parts that every way to log in has. */
import { vi } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import type { FoundLogin } from '../access/access.ts'
import { Tries } from '../access/tries.ts'
import type { Visit } from '../server/visit.ts'
import { type EnterParts, triesOfLogins } from './enter.ts'

export const visitOf = (headers: Readonly<Record<string, string>> = {}, method = 'GET'): Visit => {
  const rawHeaders = Object.entries(headers).flat()
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return { incoming: { method, headers: lower, rawHeaders }, from: { address: '198.51.100.7' } } as unknown as Visit
}

export const tell = { in: () => {}, out: () => {} }

/** @param present who is logged in in the browser */
export function loginParts(present?: string) {
  const create = vi.fn(async () => ({ id: 'i'.repeat(43), hash: 'h'.repeat(64) }))
  const found = present === undefined ? undefined : ({ user: present } as FoundLogin)
  const parts = {
    logins: { begin: async () => 0, create } as unknown as EnterParts['logins'],
    access: { find: async () => found },
    keeper: { seal: () => 'sealed' },
    tries: new Tries(new ManualClock(), triesOfLogins),
    lifeMs: 3_600_000,
    onLogin: () => {},
  }
  return { parts, create }
}
