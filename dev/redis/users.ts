/** The users of Redis in `k8s/components`: ACL files with a place for the password. */
import { aclLine } from '../../src/store/rights.ts'

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

/** The key prefix and the user of processes that serve tenants. */
const tenants = 'skylab-tenants'

/**
 * The text of `k8s/components/tenants/users.acl`. Whoever has this password reaches no key of labs, and whoever has that of
 * `skylab` none of tenants: neither prefix is the beginning of the other, since braces close them.
 */
export function tenantsUser(password = passwordPlace): string {
  return `${aclLine({ name: tenants, password: `>${password}`, keyPrefix: tenants })}\n`
}
