/** Replaces every replica while labs are being created through the Service: no user may notice. */
import { randomUUID } from 'node:crypto'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { systemClock } from '../../src/base/clock.ts'
import { roundSeconds } from '../demo/say.ts'
import type { DemoUsers } from '../stack/config.ts'
import { OnceMore } from './once-more.ts'
import { type InCluster, placedPods, rolledOut } from './stack.ts'

export interface RolloutReport {
  readonly labs: number
  /** Users whose last event was not `complete`, or who got no event, with the reason. */
  readonly failedSpawns: readonly string[]
  /** Number of creations in progress when the rollout began, and of those that began before it ended. */
  readonly inProgress: number
  readonly begunMeanwhile: number
  readonly requests: number
  /** Number of requests that needed a second try. */
  readonly repeated: number
  /** Requests that failed in the second try too. */
  readonly failedRequests: readonly string[]
  /** Number of event streams that ended before their operation and were resumed. */
  readonly streamsResumed: number
  /** Number of replicas that were there before and after: 0 when all were replaced. */
  readonly survivors: number
  readonly seconds: { readonly rollout: number; readonly all: number }
}

/** Half of the labs are requested at once, the others spread over this time while replicas are replaced. */
const spanMs = 20_000
/** Interval at which users request the status of their labs meanwhile. */
const askMs = 500

/** Creates a lab for each of that many users during `kubectl rollout restart`. Labs must go to KWOK already. */
export async function rolloutUnderLoad(stack: InCluster, labs: number, signal?: AbortSignal): Promise<RolloutReport> {
  const { kubectl, users } = stack
  const names = Object.keys(users).slice(-labs)
  const client = new OnceMore({ signal })
  const spawns = new Map<string, Spawn>()
  const before = await replicaNames(stack)
  const begunMs = systemClock.monotonicMs()
  const begin = (name: string) => spawns.set(name, spawn({ ...stack, client, signal }, name, users))
  for (const name of names.slice(0, labs / 2)) begin(name)
  await Promise.all([...spawns.values()].map(({ accepted }) => accepted))
  const asking = new AbortController()
  const asked = askOn(stack, client, names, asking.signal)
  const inProgress = [...spawns.values()].filter(({ ended }) => !ended()).length
  await kubectl(['rollout', 'restart', 'deployment/skylab', '-n', 'skylab'])
  const rollout = rolledOut(kubectl, 'deployment/skylab').then(() => systemClock.monotonicMs() - begunMs)
  const isRollingOut = pending(rollout)
  let begunMeanwhile = 0
  for (const name of names.slice(labs / 2)) {
    if (isRollingOut()) begunMeanwhile += 1
    begin(name)
    await systemClock.sleep((2 * spanMs) / labs, signal)
  }
  const outcomes = await Promise.all([...spawns].map(async ([name, { done }]) => ({ name, ...(await done) })))
  const rolloutMs = await rollout
  asking.abort()
  await asked
  const after = await replicaNames(stack)
  const { sent, repeated, failed } = client.counts
  return {
    labs,
    failedSpawns: outcomes.flatMap(({ name, failure }) => (failure === null ? [] : [`${name}: ${failure}`])),
    ...{ inProgress, begunMeanwhile, requests: sent, repeated, failedRequests: failed },
    streamsResumed: outcomes.reduce((sum, { resumed }) => sum + resumed, 0),
    survivors: after.filter(name => before.includes(name)).length,
    seconds: { rollout: roundSeconds(rolloutMs), all: roundSeconds(systemClock.monotonicMs() - begunMs) },
  }
}

async function replicaNames({ kubectl }: InCluster): Promise<string[]> {
  return (await placedPods(kubectl)).map(({ name }) => name).filter(name => /^skylab-[0-9a-f]+-/.test(name))
}

/** Whether a promise is still pending. */
function pending(promise: Promise<unknown>): () => boolean {
  let isPending = true
  const settle = () => {
    isPending = false
  }
  promise.then(settle, settle)
  return () => isPending
}

interface Spawn {
  /** Settles when the creation is accepted or refused. */
  readonly accepted: Promise<void>
  readonly ended: () => boolean
  readonly done: Promise<{ readonly failure: string | null; readonly resumed: number }>
}

type Asker = Pick<InCluster, 'url'> & { readonly client: OnceMore; readonly signal?: AbortSignal | undefined }

function spawn(asker: Asker, name: string, users: DemoUsers): Spawn {
  const headers = { authorization: `Bearer ${users[name]!.token}` }
  const accepted = create(asker, name, headers)
  const done = accepted
    .then(() => follow(asker, name, headers))
    .catch((error: Error) => {
      asker.signal?.throwIfAborted()
      return { failure: error.message, resumed: 0 }
    })
  const isPending = pending(done)
  return { accepted: accepted.catch(() => {}), ended: () => !isPending(), done }
}

const api = ({ url }: Asker, path: string) => `${url}/nublado/spawner/v1/${path}`

async function create(asker: Asker, name: string, headers: Record<string, string>): Promise<void> {
  const response = await asker.client.send(api(asker, `labs/${name}/create`), {
    method: 'POST',
    // The same key in both tries, so that a lost answer causes no second creation.
    headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
    body: JSON.stringify({ options: { image_type: 'recommended', size: 'small' }, env: {} }),
  })
  const text = await response.text()
  if (response.status !== 303) throw new Error(`create: ${response.status} ${text}`)
}

/** Reads events to the last one, and resumes streams that end before it. */
async function follow(asker: Asker, name: string, headers: Record<string, string>) {
  let lastId: string | undefined
  let last = 'no events'
  for (let streams = 0; ; streams++) {
    const from: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId }
    const response = await asker.client.send(api(asker, `labs/${name}/events`), { headers: { ...headers, ...from } })
    if (response.status !== 200) throw new Error(`events: ${response.status} after ${last}`)
    for await (const { event, data, id } of messagesOf(response)) {
      lastId = id ?? lastId
      last = `${event}: ${data}`
      if (event === 'complete') return { failure: null, resumed: streams }
      if (event === 'failed') return { failure: last, resumed: streams }
    }
  }
}

/** The messages of a stream; a broken stream ends like a closed one. */
async function* messagesOf({ body }: Response) {
  if (!body) return
  const reader = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader()
  for (;;) {
    const read = await reader.read().catch(() => ({ done: true as const, value: undefined }))
    if (read.done) return
    yield read.value
  }
}

/** Users request the status of their labs, one after another, until the signal. */
async function askOn(stack: InCluster, client: OnceMore, names: readonly string[], stop: AbortSignal): Promise<void> {
  await Promise.all(
    names.map(async name => {
      const headers = { authorization: `Bearer ${stack.users[name]!.token}` }
      while (!stop.aborted) {
        const response = await client.send(`${stack.url}/nublado/spawner/v1/user-status`, { headers }).catch(() => null)
        await response?.body?.cancel()
        await systemClock.sleep(askMs, stop).catch(() => {})
      }
    }),
  )
}

/** The failures that a rollout caused; empty when users noticed nothing. */
export function complaints({ failedSpawns, failedRequests, survivors, inProgress }: RolloutReport): string[] {
  return [
    ...failedSpawns,
    ...failedRequests,
    ...(survivors > 0 ? [`${survivors} replicas were not replaced`] : []),
    ...(inProgress === 0 ? ['no creation was in progress when the rollout began'] : []),
  ]
}
