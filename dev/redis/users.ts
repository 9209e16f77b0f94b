/** The users of Redis in `k8s/components`: ACL files with a place for the password. */
import { aclLine, dispatchAclLine, gatewayAclLine } from '../../src/store/rights.ts'

/** Placeholder for the password. */
export const passwordPlace = 'PASSWORD'

/**
 * No client can be this user. Redis is, while it loads its file: without these rights it drops every transaction of that
 * file, and so everything that scripts wrote (redis/redis#14541, valkey-io/valkey#3983).
 */
const nobody = 'user default off ~* &* +@all'

/** The text of `k8s/components/redis/users.acl`. */
export function redisUsers(password = passwordPlace): string {
  return [nobody, aclLine({ name: 'skylab', password: `>${password}`, keyPrefix: 'skylab' }), ''].join('\n')
}

/** The key prefix and the user of processes that serve tenants, and of those that stop notebooks. */
const tenants = 'skylab-tenants'
const notebooks = 'skylab-notebooks'

/**
 * The text of `k8s/components/tenants/users.acl`. This password reaches no key of labs, and that of `skylab` none of tenants:
 * neither prefix is the beginning of the other, since braces close them.
 */
export const tenantsUser = (password = passwordPlace): string => userOf(tenants, password)

/** The text of `k8s/components/notebooks/users.acl`, as that of tenants. */
export const notebooksUser = (password = passwordPlace): string => userOf(notebooks, password)

/** The key prefix of processes that serve apps, whose keys gateways share. */
const apps = 'skylab-apps'

/** The text of `k8s/components/apps/users.acl`, as that of tenants. */
export const appsUser = (password = passwordPlace): string => userOf(apps, password)

/** The text of `k8s/components/gateway/users.acl`: of the keys of apps, gateways reach some, and write fewer. */
export const gatewayUser = (password = passwordPlace): string =>
  `${gatewayAclLine({ name: 'skylab-gateway', password: `>${password}`, keyPrefix: apps })}\n`

/** The text of `k8s/components/dispatch/users.acl`: of the keys of tenants, they read one. */
export const dispatchUser = (password = passwordPlace): string => {
  const name = 'skylab-dispatch'
  return `${dispatchAclLine({ name, password: `>${password}`, keyPrefix: name, tenants })}\n`
}

const userOf = (name: string, password: string): string =>
  `${aclLine({ name, password: `>${password}`, keyPrefix: name })}\n`
