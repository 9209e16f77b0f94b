/**
 * The commands of Redis that the program needs. This list is the source of the ACL of `k8s/`, of every Redis of the tests,
 * of the documentation, and of a replica's check at its start.
 */
import type { Connection } from './connection.ts'
import type { Keys } from './keys.ts'

/** Placeholder for a key of the installation. */
const key = 'KEY'

/** Commands with arguments, from which a server can judge whether they are permitted. None is carried out. */
const replicaCommands: Readonly<Record<string, readonly string[]>> = {
  del: [key],
  eval: ['return 1', '1', key],
  evalsha: ['0'.repeat(40), '1', key],
  exists: [key],
  get: [key],
  hdel: [key, 'field'],
  hexists: [key, 'field'],
  hget: [key, 'field'],
  hgetall: [key],
  hincrby: [key, 'field', '1'],
  hkeys: [key],
  hlen: [key],
  hmget: [key, 'field'],
  hrandfield: [key],
  hset: [key, 'field', 'value'],
  info: [],
  persist: [key],
  pexpire: [key, '1'],
  pttl: [key],
  sadd: [key, 'member'],
  set: [key, 'value'],
  sismember: [key, 'member'],
  time: [],
  xadd: [key, '*', 'field', 'value'],
  xrange: [key, '-', '+'],
  xread: ['STREAMS', key, '0'],
  xrevrange: [key, '+', '-'],
  xtrim: [key, 'MAXLEN', '1'],
  zadd: [key, '1', 'member'],
  zcard: [key],
  zcount: [key, '0', '1'],
  zrange: [key, '0', '-1'],
  zrem: [key, 'member'],
  zscore: [key, 'member'],
}

/** Commands that replicas send or their scripts call. */
export const commandsOfReplicas: readonly string[] = Object.keys(replicaCommands)
/** Commands only of `skylab heal`. SCAN reveals the names of all keys, even of those that the user is not allowed to read. */
export const commandsOfHeal: readonly string[] = ['scan']

export interface AclUser {
  readonly name: string
  /** A rule of Redis, such as `>password` or `#hash`. */
  readonly password: string
  /** `redis.keyPrefix` of the installation. */
  readonly keyPrefix: string
  /** Commands in addition to those of replicas. */
  readonly more?: readonly string[]
}

/** One line of an ACL file: the user of an installation with exactly its rights. */
export function aclLine({ name, password, keyPrefix, more = [] }: AclUser): string {
  const rights = [...commandsOfReplicas, ...more].map(command => `+${command}`)
  return ['user', name, 'reset', 'on', password, `~{${keyPrefix}}:*`, ...rights].join(' ')
}

/**
 * One line of an ACL file: the user of the replicas of dispatch. This user may read one key of tenants, which is the table of
 * members.
 * @param tenants `redis.keyPrefix` of those who serve tenants
 */
export function dispatchAclLine({ name, password, keyPrefix, tenants }: Omit<AclUser, 'more'> & { tenants: string }) {
  const own = `~{${keyPrefix}}:*`
  return aclLine({ name, password, keyPrefix }).replace(own, `${own} %R~{${tenants}}:tenant-members`)
}

/** Scripts that gateways call. */
export const scriptsOfGateways: readonly string[] = [
  ...['create-login', 'remove-login', 'revoke-entries', 'create-session', 'check-sessions', 'extend-sessions'],
  ...['begin-recheck', 'end-recheck', 'return-lease', 'use-once', 'make-code', 'use-code'],
  ...['ask-start', 'touch-activity', 'check-rights'],
]

/** Commands that gateways call beside those of these scripts. */
const ownCommandsOfGateways = ['evalsha', 'get', 'hgetall', 'hmget', 'info', 'script|load', 'xread', 'xrevrange']

/** Commands that gateways send, or their scripts call. EVAL is none: what they run is loaded, and has its hash. */
export const commandsOfGateways: readonly string[] = [
  ...ownCommandsOfGateways,
  ...['del', 'hdel', 'hget', 'hincrby', 'hlen', 'hset', 'pexpire', 'pttl', 'set', 'time', 'xadd'],
  ...['zadd', 'zcard', 'zrange', 'zrem'],
].sort()

/**
 * One line of an ACL file: the user of gateways. They share the keys of those who serve apps, and reach no more than they need:
 * a thief of this password can forge logins, but writes no route and no members, and sees nothing of labs.
 */
export function gatewayAclLine({ name, password, keyPrefix }: Omit<AclUser, 'more'>): string {
  const tag = `{${keyPrefix}}:`
  const own = ['gw:*', 'app-intents', 'bell-of-apps', 'activity:app:*', 'activity-flushed:app']
  const toRead = ['app-routes', 'app-members', 'activity-floor', 'generation']
  const keys = [...own.map(key => `~${tag}${key}`), ...toRead.map(key => `%R~${tag}${key}`)]
  const rights = commandsOfGateways.map(command => `+${command}`)
  return ['user', name, 'reset', 'on', password, ...keys, ...rights].join(' ')
}

/**
 * As `missingRights`, of a gateway.
 * @throws {RetryLater} when Redis does not answer, or permits no scripts
 */
export async function missingRightsOfGateway(
  connection: Pick<Connection, 'run'>,
  keys: Keys,
): Promise<readonly string[]> {
  const { apps } = keys
  const onOwn = commandsOfGateways
    .filter(name => name !== 'script|load')
    .map(name => [name, ...replicaCommands[name]!.map(word => (word === key ? apps.epoch : word))])
  const own = [apps.intents, keys.activity('app', 'x'), keys.activityFlushed('app')].map(each => [
    'hset',
    each,
    'a',
    'b',
  ])
  const toRead = [apps.routes, apps.members].flatMap(each => [
    ['hgetall', each],
    ['hmget', each, 'a'],
  ])
  const rings = [
    ['xadd', apps.bell, '*', 'a', 'b'],
    ['xread', 'STREAMS', apps.bell, '0'],
  ]
  const words = [...onOwn, ['script', 'load', 'return 1'], ...own, ...toRead, ...rings]
  const missing = (await connection.run('check-rights', [apps.epoch], [JSON.stringify(words)])) as string[]
  return [...new Set(missing)]
}

/**
 * Lists the commands that this connection's user is not allowed to call on keys of its installation, or `hmget` if it has
 * no right to read who is in which tenant. The server judges.
 * @param tenants keys of those who serve tenants, where a process reads them
 * @throws {RetryLater} when Redis does not answer, or permits no scripts
 */
export async function missingRights(
  connection: Pick<Connection, 'run'>,
  keys: Keys,
  tenants?: Keys,
): Promise<readonly string[]> {
  const commands = Object.entries(replicaCommands).map(([name, args]) => [name, ...args])
  if (tenants) commands.push(['hmget', tenants.tenantMembers, 'field'])
  const missing = (await connection.run('check-rights', [keys.last], [JSON.stringify(commands)])) as string[]
  return [...new Set(missing)]
}
