/** Redis and the cluster in their present state, as readable text. */
import type { Redis } from 'ioredis'
import type { KubeObject } from '../../../src/base/domain.ts'
import { collectionPath } from '../../../src/kube/kinds.ts'
import { labels } from '../../../src/kube/labels.ts'
import { pairs } from '../../../src/store/fields.ts'
import type { AdminKube } from '../cluster/kube.ts'
import type { RedisEntry, StreamEntry } from './files.ts'

/** All of Redis at one moment, with its clock. */
export async function snapshotRedis(redis: Redis): Promise<{ atMs: number; entries: Record<string, RedisEntry> }> {
  const keys = (await redis.keys('*')).sort()
  const types = await Promise.all(keys.map(key => redis.type(key)))
  const moment = redis.multi().time()
  for (const [i, key] of keys.entries()) read(moment.pttl(key), key, types[i]!)
  const [time, ...answers] = ((await moment.exec()) ?? []).map(([error, answer]) => {
    if (error) throw error
    return answer
  })
  const [seconds, micros] = time as [string, string]
  const entries = keys.map((key, i): [string, RedisEntry] => {
    const ttlMs = Number(answers[2 * i])
    return [key, { ttlMs: ttlMs < 0 ? null : ttlMs, ...readable(types[i]!, answers[2 * i + 1]) } as RedisEntry]
  })
  return { atMs: Number(seconds) * 1000 + Math.floor(Number(micros) / 1000), entries: Object.fromEntries(entries) }
}

function read(moment: ReturnType<Redis['multi']>, key: string, type: string): void {
  if (type === 'string') moment.get(key)
  else if (type === 'hash') moment.hgetall(key)
  else if (type === 'zset') moment.zrange(key, 0, '-1', 'WITHSCORES')
  else if (type === 'set') moment.smembers(key)
  else if (type === 'stream') moment.xrange(key, '-', '+')
  else throw new Error(`${key} is a ${type}, which no past can hold`)
}

function readable(type: string, raw: unknown) {
  if (type === 'zset') return { type, value: Object.fromEntries(pairs(raw as string[])) }
  if (type !== 'stream') return { type, value: raw }
  const entries = raw as [string, string[]][]
  return { type, value: entries.map(([id, flat]): StreamEntry => [id, Object.fromEntries(pairs(flat))]) }
}

const kinds = [
  ['v1', 'Namespace'],
  ['v1', 'ConfigMap'],
  ['v1', 'Secret'],
  ['v1', 'PersistentVolumeClaim'],
  ['v1', 'ResourceQuota'],
  ['networking.k8s.io/v1', 'NetworkPolicy'],
  ['v1', 'Service'],
  ['v1', 'Pod'],
] as const

/** Fields of `metadata` that say nothing about a lab. */
const bookkeeping = new Set(['managedFields', 'resourceVersion', 'generation'])

/** All objects of an installation, in an order in which they can be created again. */
export async function snapshotCluster(kube: AdminKube, installation: string): Promise<KubeObject[]> {
  const lists = await Promise.all(
    kinds.map(async ([apiVersion, kind]) => {
      const list = await kube.list(collectionPath(apiVersion, kind), `${labels.installation}=${installation}`)
      return list.map(({ metadata, apiVersion: _, kind: __, ...rest }): KubeObject => {
        if (metadata.deletionTimestamp) throw new Error(`the ${kind} ${metadata.name} is on its way out`)
        const kept = Object.entries(metadata).filter(([field]) => !bookkeeping.has(field))
        return { apiVersion, kind, metadata: Object.fromEntries(kept) as KubeObject['metadata'], ...rest }
      })
    }),
  )
  return lists.flat()
}
