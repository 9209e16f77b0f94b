/** Steps of the demo: creates a lab, checks that it answers, deletes it, and checks that nothing is left. */
import { Redis } from 'ioredis'
import { systemClock } from '../../src/base/clock.ts'
import type { LabEvent } from '../../src/base/domain.ts'
import { labNames } from '../../src/labs/names.ts'
import { Keys } from '../../src/store/keys.ts'
import type { Kubectl } from '../kube/kubectl.ts'
import { waitUntil } from '../process/api-client.ts'
import { EventBar } from './bar.ts'
import { LabClient } from './client.ts'
import type { DemoOptions } from './options.ts'
import { roundSeconds, say } from './say.ts'

/** The user whose lab every demo makes, and the options of that lab. */
export const username = 'ada'
export const asked = { image_type: 'recommended', size: 'small' }
/** Defaults of the configuration; no demo changes them. */
export const namespacePrefix = 'nublado'
const keyPrefix = 'skylab'

/** A running lab, as the demo reports it. */
export interface DemoLab {
  readonly status: string
  readonly internal_url: string | null
  /** The status of JupyterLab's own /api; null when no real pod runs, or its address cannot be reached from here. */
  readonly http: number | null
}

export interface LabDemo {
  readonly username: string
  /** The API with the user's token. */
  readonly client: Pick<LabClient, 'create' | 'events'>
  /** The API with an administrator's token: only an administrator may read and delete the labs of others. */
  readonly admin: Pick<LabClient, 'status' | 'delete'>
  readonly kubectl: Kubectl
  readonly show: (event: LabEvent) => void
}

export interface LabDemoParts {
  readonly username: string
  readonly url: string
  /** Tokens by user, with the administrator's under `admin`. */
  readonly users: Readonly<Record<string, { readonly token: string }>>
  readonly kubectl: Kubectl
  /** Whether stdout is reserved for one line of JSON: events are shown on stderr. */
  readonly json: boolean
  readonly signal?: AbortSignal | undefined
}

export function makeLabDemo({ username, url, users, kubectl, json, signal }: LabDemoParts): LabDemo {
  const bar = new EventBar(json ? process.stderr : process.stdout)
  const client = (name: string) => new LabClient({ url, token: users[name]!.token, signal })
  return { username, client: client(username), admin: client('admin'), kubectl, show: event => bar.show(event) }
}

/** Maximum delay between a ready pod and its service address. */
const serviceLimitMs = 15_000

/** Creates a lab and resolves when it runs. Fails with the text of the last error event. */
export async function spawnLab(
  demo: LabDemo,
  options: Readonly<Record<string, string>>,
): Promise<Omit<DemoLab, 'http'>> {
  await demo.client.create(demo.username, options)
  await follow(demo, 'creation')
  const lab = await demo.admin.status(demo.username)
  if (lab?.status !== 'running') throw new Error(`the creation is complete, but the lab is ${lab?.status ?? 'missing'}`)
  return { status: lab.status, internal_url: lab.internal_url ?? null }
}

/** Deletes the lab and resolves when the deletion has ended. */
export async function deleteLab(demo: LabDemo): Promise<void> {
  if (!(await demo.admin.delete(demo.username))) throw new Error(`${demo.username} has no lab to delete`)
  await follow(demo, 'deletion')
}

async function follow({ client, username, show }: LabDemo, kind: string): Promise<void> {
  let reason = ''
  let last: LabEvent | undefined
  for await (const event of client.events(username)) {
    show(event)
    if (event.event === 'error') reason = event.data
    last = event
  }
  if (last?.event !== 'complete')
    throw new Error(`the ${kind} ended ${last?.event ?? 'without events'}: ${reason || last?.data}`)
}

/** Status of `GET <lab>/api` at the address of the lab's service, which needs no DNS. */
export async function askLab(kubectl: Kubectl, internalUrl: string, signal?: AbortSignal): Promise<number | null> {
  const url = new URL(internalUrl)
  const [service, namespace] = url.hostname.split('.')
  if (!service || !namespace) throw new Error(`not the address of a service: ${internalUrl}`)
  url.hostname = (
    await kubectl(['get', 'service', service, '-n', namespace, '-o', 'jsonpath={.spec.clusterIP}'])
  ).trim()
  url.pathname = `${url.pathname.replace(/\/$/, '')}/api`
  let status: number | null = null
  const answers = async () => {
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) })
    await response.body?.cancel()
    status = response.status
    return true
  }
  await waitUntil(answers, { what: `the lab at ${url}`, limitMs: serviceLimitMs, signal })
  return status
}

/** Deletes the lab and fails when something is left of it, in words for a person; returns the seconds of the deletion. */
export async function removeLab(demo: LabDemo, redisUrl: string, options: Pick<DemoOptions, 'json'>): Promise<number> {
  say(options, `The lab of ${demo.username} is deleted:\n`)
  const begunMs = systemClock.monotonicMs()
  await deleteLab(demo)
  const seconds = roundSeconds(systemClock.monotonicMs() - begunMs)
  await assertNoTraces(demo, redisUrl, 'The deletion is complete')
  say(options, `Deleted after ${seconds} s: no namespace, no answer but 404, no lasting key in Redis.\n`)
  return seconds
}

/**
 * Fails when something is left of a lab, and names it.
 * @param ended the beginning of the message: what has ended
 */
export async function assertNoTraces(demo: LabDemo, redisUrl: string, ended: string): Promise<void> {
  const { namespace } = labNames(namespacePrefix, demo.username)
  const left = await findTraces(demo, { redisUrl, keyPrefix, namespace })
  if (left.length > 0) throw new Error(`${ended}, but there is still:\n  ${left.join('\n  ')}`)
}

export interface TraceOptions {
  readonly redisUrl: string
  /** `redis.keyPrefix` of the configuration. */
  readonly keyPrefix: string
  /** The user's namespace in the cluster. */
  readonly namespace: string
}

/** Everything that a deleted lab left behind but should not, in words; empty when all is gone. */
export async function findTraces({ username, admin, kubectl }: LabDemo, options: TraceOptions): Promise<string[]> {
  const { namespace } = options
  const found: string[] = []
  const lab = await admin.status(username)
  if (lab) found.push(`the lab is still known, as ${lab.status}`)
  if (await kubectl(['get', 'namespace', namespace, '--ignore-not-found', '-o', 'name'])) {
    found.push(`namespace ${namespace}`)
  }
  return [...found, ...(await findKeys(username, options))]
}

/** Keys of a user that Redis would keep for ever, and lists that still contain the user. */
async function findKeys(username: string, { redisUrl, keyPrefix }: TraceOptions): Promise<string[]> {
  const redis = new Redis(redisUrl)
  const found: string[] = []
  try {
    for await (const keys of redis.scanStream({ match: `{${keyPrefix}}:*`, count: 1000 })) {
      for (const key of keys as string[]) {
        if (!key.split(':').includes(username)) continue
        if ((await redis.pttl(key)) === -1) found.push(`Redis key ${key} without expiry`)
      }
    }
    const { index, waiting, owned } = new Keys(keyPrefix)
    for (const list of [index, waiting, owned]) {
      if ((await redis.zscore(list, username)) !== null) found.push(`${username} in Redis key ${list}`)
    }
    return found
  } finally {
    redis.disconnect()
  }
}
