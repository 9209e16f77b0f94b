/** The state of a fleet outside its replicas: objects in the cluster and keys in Redis. */
import { Redis } from 'ioredis'
import { waitUntil } from '../../../dev/process/api-client.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { annotations, labels } from '../../../src/kube/labels.ts'
import { labNames } from '../../../src/labs/names.ts'
import { pairs } from '../../../src/store/fields.ts'
import { Keys } from '../../../src/store/keys.ts'
import { parseEvent } from '../../../src/store/records.ts'
import type { ClusterObject, RedisKey, StreamEvent } from '../evidence/evidence.ts'
import { testBed } from '../testbed.ts'
import { AdminKube } from './kube.ts'

export interface WorldOf {
  readonly installation: string
  readonly namespacePrefix: string
  readonly keyPrefix: string
  readonly redis: { readonly url: string }
}

/** Kinds that a lab is made of, by their paths within a namespace. */
const paths = {
  ConfigMap: (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`,
  Secret: (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`,
  PersistentVolumeClaim: (namespace: string) => `/api/v1/namespaces/${namespace}/persistentvolumeclaims`,
  ResourceQuota: (namespace: string) => `/api/v1/namespaces/${namespace}/resourcequotas`,
  NetworkPolicy: (namespace: string) => `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`,
  RoleBinding: (namespace: string) => `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`,
  Service: (namespace: string) => `/api/v1/namespaces/${namespace}/services`,
  Pod: (namespace: string) => `/api/v1/namespaces/${namespace}/pods`,
} as const

const goneLimitMs = 30_000

export class World {
  readonly kube = new AdminKube(testBed().kubeconfig)
  readonly keys: Keys
  readonly #of: WorldOf
  #redis: Redis | undefined
  #redisUrl: string | undefined

  constructor(of: WorldOf) {
    this.#of = of
    this.keys = new Keys(of.keyPrefix)
  }

  /** A connection to the fleet's current Redis. */
  get redis(): Redis {
    const { url } = this.#of.redis
    if (this.#redisUrl !== url) this.#redis?.disconnect()
    if (this.#redisUrl !== url) this.#redis = new Redis(url).on('error', () => {})
    this.#redisUrl = url
    return this.#redis!
  }

  /** All namespaces of the installation. */
  namespaces(): Promise<readonly KubeObject[]> {
    return this.kube.list('/api/v1/namespaces', `${labels.installation}=${this.#of.installation}`)
  }

  /** A user's namespace; null without one. */
  namespaceOf(username: string) {
    return this.kube.get('Namespace', labNames(this.#of.namespacePrefix, username).namespace)
  }

  /** A user's pod; null without one. */
  podOf(username: string) {
    const { namespace, lab } = labNames(this.#of.namespacePrefix, username)
    return this.kube.get('Pod', lab, namespace)
  }

  /** The objects in a user's namespace, of the kinds of a lab, without those that the cluster itself makes. */
  async objectsOf(username: string): Promise<readonly KubeObject[]> {
    const { namespace } = labNames(this.#of.namespacePrefix, username)
    const lists = await Promise.all(
      Object.entries(paths).map(async ([kind, path]) =>
        (await this.kube.list(path(namespace))).map(object => ({ ...object, kind })),
      ),
    )
    return lists.flat().filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt')
  }

  /** Sets the status that a kubelet would report of the user's pod. */
  async setPodStatus(username: string, status: object): Promise<void> {
    const { namespace, lab } = labNames(this.#of.namespacePrefix, username)
    await this.kube.patch('Pod', lab, namespace, { status }, 'status')
  }

  /** All keys in Redis, with their TTLs in ms; -1: for ever. */
  async redisKeys(): Promise<ReadonlyMap<string, number>> {
    const names = await this.redis.keys('*')
    const asked = this.redis.pipeline()
    for (const name of names) asked.pttl(name)
    const times = (await asked.exec()) ?? []
    return new Map(
      times.map(([error, ms], index) => {
        if (error) throw error
        return [names[index]!, Number(ms)]
      }),
    )
  }

  /** All of Redis. */
  async redisDump(): Promise<ReadonlyMap<string, RedisKey>> {
    const names = await this.redis.keys('*')
    const kinds = this.redis.pipeline()
    for (const name of names) kinds.type(name).pttl(name)
    const replies = ((await kinds.exec()) ?? []).map(([, answer]) => answer)
    const read = this.redis.pipeline()
    for (const [i, name] of names.entries()) {
      const type = replies[2 * i]
      if (type === 'hash') read.hgetall(name)
      else if (type === 'zset') read.zrange(name, 0, '-1', 'WITHSCORES')
      else if (type === 'stream') read.xrange(name, '-', '+')
      else read.exists(name)
    }
    const values = (await read.exec()) ?? []
    return new Map(
      names.map((name, i) => {
        const type = String(replies[2 * i])
        return [name, { type, ttlMs: Number(replies[2 * i + 1]), value: redisValue(type, values[i]?.[1]) }]
      }),
    )
  }

  /** All objects of the installation, in any namespace. */
  async objects(): Promise<readonly ClusterObject[]> {
    const selector = `${labels.installation}=${this.#of.installation}`
    const kinds = [
      ['Namespace', '/api/v1/namespaces'],
      ...Object.entries(paths).map(([kind, path]) => [kind, path('')]),
    ]
    const lists = await Promise.all(
      kinds.map(async ([kind, path]) =>
        (await this.kube.list(path!.replace('/namespaces//', '/'), selector)).map(object =>
          clusterObject(kind!, object),
        ),
      ),
    )
    return lists.flat()
  }

  /** Remains of a user that a deletion should have removed, in words. Waits while the namespace is being deleted. */
  async leftOf(username: string): Promise<string[]> {
    const found: string[] = []
    if (await this.namespaceOf(username)) found.push(`the namespace of ${username}`)
    for (const [key, ttlMs] of await this.redisKeys()) {
      if (key.split(':').includes(username) && ttlMs === -1) found.push(`Redis key ${key} without expiry`)
    }
    for (const list of [this.keys.index, this.keys.waiting, this.keys.owned]) {
      if ((await this.redis.zscore(list, username)) !== null) found.push(`${username} in Redis key ${list}`)
    }
    return found
  }

  /** Waits until the cluster has no namespace of the installation. */
  async emptied(limitMs = goneLimitMs): Promise<void> {
    const isEmpty = async () => (await this.namespaces()).length === 0
    await waitUntil(isEmpty, { what: `no namespace of ${this.#of.installation}`, limitMs })
  }

  /** Starts the deletion of all namespaces of the installation, and does not wait for its end. */
  async removeAll(): Promise<void> {
    const all = await this.namespaces()
    await Promise.all(all.map(({ metadata }) => this.kube.delete('Namespace', metadata.name)))
  }

  close(): void {
    this.kube.close()
    this.#redis?.disconnect()
  }
}

function redisValue(type: string, raw: unknown): RedisKey['value'] {
  if (type === 'hash') return { fields: raw as Record<string, string> }
  if (type === 'stream') return { events: (raw as Parameters<typeof parseEvent>[0][]).map(parseEvent) as StreamEvent[] }
  if (type !== 'zset') return {}
  const members = [...pairs(raw as string[])].map(([member, score]): [string, number] => [member, Number(score)])
  return { members: Object.fromEntries(members) }
}

function clusterObject(kind: string, object: KubeObject): ClusterObject {
  const { metadata } = object
  const op = metadata.labels?.[labels.op]
  return {
    kind,
    name: metadata.name,
    namespace: kind === 'Namespace' ? metadata.name : (metadata.namespace ?? ''),
    uid: metadata.uid ?? '',
    op: op === undefined ? undefined : Number(op),
    owner: metadata.ownerReferences?.[0]?.uid,
    terminating: metadata.deletionTimestamp !== undefined,
    user: metadata.annotations?.[annotations.user],
  }
}

/** Waits until `question` returns something truthy, and returns that. The limit prevents hanging, and times nothing. */
export async function eventually<T>(
  what: string,
  question: () => Promise<T>,
  limitMs = 90_000,
): Promise<NonNullable<T>> {
  let answer: T | undefined
  const ask = async () => {
    answer = await question()
    return Boolean(answer)
  }
  await waitUntil(ask, { what, limitMs })
  return answer!
}
