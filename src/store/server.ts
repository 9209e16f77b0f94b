/** Facts of a Redis server from its INFO, read for every new connection, and reasons not to use it. Pure. */

export interface Server {
  /** Undefined if INFO is not permitted. */
  readonly version: string | undefined
  readonly mode: string | undefined
  readonly runId: string | undefined
  readonly replicationId: string | undefined
  readonly replica: boolean
  readonly cluster: boolean
  readonly evictionPolicy: string | undefined
}

/** The reason why a reachable Redis is not used; see `Trouble`. */
export interface Refusal {
  readonly words: string
  readonly final: boolean
}

/** The oldest version with all features in use: several sections of INFO at once, and the codes of errors in scripts. */
const oldest = [7, 0] as const

export const noCluster =
  'Redis is a Redis Cluster, which is not supported: it must be one server, with cluster-enabled no'

export function readServer(info: Readonly<Record<string, string>>): Server {
  return {
    version: info.redis_version,
    mode: info.redis_mode,
    runId: info.run_id,
    replicationId: info.master_replid,
    replica: info.role === 'slave',
    cluster: info.cluster_enabled === '1',
    evictionPolicy: info.maxmemory_policy,
  }
}

/** Reads a field of INFO's text. */
export function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1]
}

/** The reason why a server must not be used; undefined if it can be. */
export function refusalOf(server: Server): Refusal | undefined {
  const words = unfit(server)
  if (words !== undefined) return { words, final: true }
  if (server.replica) return { words: 'Redis is a replica of another one: it takes no writes', final: false }
  return undefined
}

function unfit({ version, mode, cluster, evictionPolicy }: Server): string | undefined {
  if (version === undefined) return 'Redis does not report its version: its user must be permitted the command INFO'
  if (isOlder(version)) return `Redis is ${version}: it must be ${oldest.join('.')} or newer`
  if (mode === 'sentinel') return 'Redis is a Sentinel: redis.url must name the server that it watches'
  if (cluster) return noCluster
  if (evictionPolicy !== undefined && evictionPolicy !== 'noeviction') {
    return `Redis has maxmemory-policy ${evictionPolicy}: it must be noeviction, or labs would be forgotten`
  }
  return undefined
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(part => Number.parseInt(part, 10) || 0)
  return major < oldest[0] || (major === oldest[0] && minor < oldest[1])
}
