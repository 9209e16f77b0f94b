/** The people of the demo of apps: one of the group that has the apps, one who is not, and an administrator. */
import { makeToken } from '../stack/config.ts'

export const names = ['ada', 'max', 'root'] as const
export type Name = (typeof names)[number]

/** The group of seed 001's example, and the namespace that is its own. */
export const group = 'phusers'
export const groupNamespace = 'hub'

export const groupsOf: Readonly<Record<Name, readonly string[]>> = { ada: [group], max: ['visitors'], root: [] }
export const scopeOf: Readonly<Record<Name, string>> = {
  ada: 'exec:notebook',
  max: 'exec:notebook',
  root: 'admin:jupyterlab',
}

/** Passwords of all, at the provider. */
export const makePasswords = (): Readonly<Record<Name, string>> =>
  Object.fromEntries(names.map(name => [name, makeToken(name)])) as Record<Name, string>
