/** The people of the demo of apps: one of the group that has the apps, and one who is not. */
import type { StaticTokens } from '../../src/identity/tokens.ts'
import { makeToken } from '../stack/config.ts'

export const names = ['ada', 'max'] as const
export type Name = (typeof names)[number]

/** The group of seed 001's example, and the namespace that is its own. */
export const group = 'phusers'
export const groupNamespace = 'hub'

const groupsOf: Readonly<Record<Name, readonly string[]>> = { ada: [group], max: ['visitors'] }
const groupIds: Readonly<Record<string, number>> = { [group]: 4_900_001, visitors: 4_900_002 }

/** Tokens of all, for the gateway's login. */
export const makeTokens = (): Readonly<Record<Name, string>> =>
  Object.fromEntries(names.map(name => [name, makeToken(name)])) as Record<Name, string>

/** The people in the file format of the identity provider `static`. */
export const tokensFile = (tokens: Readonly<Record<Name, string>>): StaticTokens => ({
  tokens: names.map(username => ({
    ...{ username, token: tokens[username], scopes: ['exec:notebook'] },
    groups: groupsOf[username].map(name => ({ name, id: groupIds[name]! })),
  })),
})
