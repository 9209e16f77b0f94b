/** Loads a past into an empty Redis and a cluster, under its own names: a past can be loaded once at a time. */
import { Redis } from 'ioredis'
import { waitUntil } from '../../../dev/process/api-client.ts'
import { systemClock } from '../../../src/base/clock.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { creationPath } from '../../../src/kube/kinds.ts'
import { AdminKube } from '../cluster/kube.ts'
import { World } from '../cluster/world.ts'
import { testBed } from '../testbed.ts'
import type { Past, RedisEntry } from './files.ts'
import { exchangeUids, moveEntry, moveTimes } from './times.ts'

export interface LoadOptions {
  readonly redisUrl: string
  /** Whether Redis stays empty, so that only the cluster is loaded. Default: false. */
  readonly withoutRedis?: boolean
}

/** New UIDs by recorded ones. */
export type UidTable = ReadonlyMap<string, string>

/** Below the limit of a test, so that a failure gives its reason. */
const removalLimitMs = 40_000
/** A new namespace refuses pods until it has its ServiceAccount. */
const refusalLimitMs = 10_000
const pollMs = 50

export async function loadPast(past: Past, { redisUrl, withoutRedis = false }: LoadOptions): Promise<UidTable> {
  const kube = new AdminKube(testBed().kubeconfig)
  const redis = new Redis(redisUrl).on('error', () => {})
  try {
    await makeWay(past, redisUrl)
    const table = new Map<string, string>()
    const make = async (objects: readonly KubeObject[]) => {
      await Promise.all(
        objects.map(async object => table.set(object.metadata.uid!, await makeObject(kube, object, table))),
      )
    }
    const of = (...kinds: readonly string[]) => past.cluster.filter(({ kind }) => kinds.includes(kind))
    await make(of('Namespace'))
    await make(past.cluster.filter(({ kind }) => kind !== 'Namespace' && kind !== 'Pod'))
    await make(of('Pod'))
    await Promise.all(of('Pod').map(pod => awaitPlayed(kube, pod)))
    // The one number. It is taken late, so that recorded leases are still valid when replicas start.
    const byMs = await sinceRecorded(redis, past)
    if (!withoutRedis) await restore(redis, past, byMs, table)
    await Promise.all(of('Pod').map(pod => bringStatus(kube, pod, byMs)))
    return table
  } finally {
    kube.close()
    redis.disconnect()
  }
}

/** Removes an earlier load of this past that a failed test may have left. */
async function makeWay({ config }: Past, redisUrl: string): Promise<void> {
  const { installation = '', lab = {}, redis = {} } = config
  const { namespacePrefix = '' } = lab
  const world = new World({ installation, namespacePrefix, keyPrefix: redis.keyPrefix ?? '', redis: { url: redisUrl } })
  try {
    await world.removeAll()
    await world.emptied(removalLimitMs)
  } finally {
    world.close()
  }
}

/**
 * In whole seconds, as Kubernetes' times are.
 * @throws if Redis' clock is before the recording: ops are times too, and stay
 */
async function sinceRecorded(redis: Redis, { about }: Past): Promise<number> {
  const [seconds] = await redis.time()
  const byMs = (Number(seconds) - Math.floor(about.recordedAtMs / 1000)) * 1000
  if (byMs < 0)
    throw new Error(`${about.name} was recorded after the present time of Redis: set the clock of this machine`)
  return byMs
}

/** The object without the fields that the API server assigns itself. */
function asNew({ metadata, status: _, ...rest }: KubeObject): KubeObject {
  const { uid: __, creationTimestamp: ___, ...kept } = metadata
  const { clusterIP, clusterIPs, ...spec } = (rest.spec ?? {}) as { clusterIP?: string; clusterIPs?: string[] }
  const headless = clusterIP === 'None' ? { clusterIP, clusterIPs } : {}
  return { ...rest, metadata: kept, ...(rest.spec !== undefined && { spec: { ...spec, ...headless } }) }
}

/** @returns the UID of the new object */
async function makeObject(kube: AdminKube, recorded: KubeObject, table: UidTable): Promise<string> {
  const object = exchangeUids(asNew(recorded), table)
  const { apiVersion, kind, metadata } = object
  const path = creationPath(apiVersion, kind, metadata.namespace)
  for (const endMs = performance.now() + refusalLimitMs; ; await systemClock.sleep(pollMs)) {
    const { status, body } = await kube.request('POST', path, object)
    if (status === 201) return body.metadata.uid
    const isFinal = status !== 403 || performance.now() > endMs
    if (isFinal) throw new Error(`${kind} ${metadata.name}: ${status} ${body.message}`)
  }
}

const isBound = ({ spec }: KubeObject) => (spec as { nodeName?: string }).nodeName !== undefined

/** KWOK marks every pod with a node as running, and writes nothing after that. A later status therefore stays. */
async function awaitPlayed(kube: AdminKube, pod: KubeObject): Promise<void> {
  if (!isBound(pod)) return
  const { name, namespace } = pod.metadata
  const runs = async () => (await kube.get('Pod', name, namespace)).status?.phase === 'Running'
  await waitUntil(runs, { what: `the pod ${name}`, limitMs: refusalLimitMs })
}

/** Writes the recorded status. The scheduler handles pods without a node. */
async function bringStatus(kube: AdminKube, pod: KubeObject, byMs: number): Promise<void> {
  if (!isBound(pod)) return
  const { name, namespace } = pod.metadata
  await kube.patch('Pod', name, namespace, { status: moveTimes(pod.status, byMs) }, 'status')
}

async function restore(redis: Redis, { redis: entries, about }: Past, byMs: number, table: UidTable): Promise<void> {
  const writes = redis.multi()
  for (const [key, recorded] of Object.entries(exchangeUids(entries, table))) {
    const entry = moveEntry(key, recorded, about.times, byMs)
    writeEntry(writes, key, entry)
    if (entry.ttlMs !== null) writes.pexpireat(key, about.recordedAtMs + entry.ttlMs + byMs)
  }
  for (const [error] of (await writes.exec()) ?? []) if (error) throw error
}

/** Into a transaction, without its TTL. */
export function writeEntry(writes: ReturnType<Redis['multi']>, key: string, entry: RedisEntry): void {
  switch (entry.type) {
    case 'string':
      writes.set(key, entry.value)
      return
    case 'hash':
      writes.hset(key, entry.value)
      return
    case 'set':
      writes.sadd(key, ...entry.value)
      return
    case 'zset':
      for (const [member, score] of Object.entries(entry.value)) writes.zadd(key, score, member)
      return
    case 'stream':
      for (const [id, fields] of entry.value) writes.xadd(key, id, ...Object.entries(fields).flat())
  }
}
