/** The users of the Redis that `k8s/components/redis` brings, as an ACL file in which the password is to be filled in. */
import { aclLine } from '../../src/store/rights.ts'

/** Stands in the file where the password belongs. */
export const passwordPlace = 'PASSWORD'

/**
 * Nobody can be this user. Redis is, while it loads its file: without these rights it drops every transaction of that file,
 * and so what scripts wrote (redis/redis#14541, valkey-io/valkey#3983).
 */
const nobody = 'user default off ~* &* +@all'

/** The text of `k8s/components/redis/users.acl`. */
export function redisUsers(password = passwordPlace): string {
  return [nobody, aclLine({ name: 'skylab', password: `>${password}`, keyPrefix: 'skylab' }), ''].join('\n')
}
