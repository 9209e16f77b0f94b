/** The users of the Redis that `k8s/components/redis` brings, as an ACL file in which the password is to be filled in. */
import { aclLine } from '../src/store/rights.ts'

/** Stands in the file where the password belongs. */
export const passwordPlace = 'PASSWORD'

/** The text of `k8s/components/redis/users.acl`. */
export function redisUsers(password = passwordPlace): string {
  return ['user default off', aclLine({ name: 'skylab', password: `>${password}`, keyPrefix: 'skylab' }), ''].join('\n')
}
