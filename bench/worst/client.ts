/** Twenty users with an even pace of requests, or one who sends the worst allowed load. A process of its own. */
import { Agent, request } from 'node:http'
import { systemClock } from '../../src/base/clock.ts'
import { configSchema } from '../../src/config/schema.ts'
import { answerQuestions } from '../measure/worker.ts'

export interface Asker {
  readonly name: string
  readonly token: string
}

export type WorstQuestion =
  | {
      readonly do: 'steady'
      readonly urls: readonly string[]
      readonly users: readonly Asker[]
      readonly seconds: number
      /** Whether each user requests a lab too, one after the other, evenly spread over that time. */
      readonly creates?: boolean
    }
  | {
      readonly do: 'worst'
      readonly urls: readonly string[]
      readonly user: Asker
      /** The Idempotency-Key of a create of this user that was accepted, or is now: later ones are repeats. */
      readonly key: string
      readonly seconds: number
    }

/** Duration of each request from its due time, and the number of each status. */
export interface Steady {
  readonly ms: readonly number[]
  /** The part of `ms` that was due in the first seconds, when all buckets are full; `laterMs` is the rest. */
  readonly burstMs: readonly number[]
  readonly laterMs: readonly number[]
  readonly statuses: Readonly<Record<string, number>>
  /** Number of each status for users who requested a lab. */
  readonly created: Readonly<Record<string, number>>
}

/** By kind of request, the number of each status. */
export type Worst = Readonly<Record<string, Readonly<Record<string, number>>>>

const prefix = '/nublado/spawner/v1'
const { limits } = configSchema.parse({}).api
/** Requests per second of each of the twenty users. */
export const steadyPerSecond = 10
/** Time after which the full buckets of rates are used up. */
const burstSeconds = 3

interface Sent {
  readonly url: string
  readonly method?: 'GET' | 'POST'
  readonly path: string
  readonly token: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

function send(agent: Agent, { url, method = 'GET', path, token, headers = {}, body }: Sent): Promise<string> {
  const typed =
    body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  return new Promise(resolve => {
    const options = { agent, method, headers: { authorization: `Bearer ${token}`, ...typed, ...headers } }
    const sent = request(`${url}${prefix}/${path}`, options, answer => {
      answer.resume()
      answer.once('close', () => resolve(String(answer.statusCode)))
    })
    sent.once('error', error => resolve((error as NodeJS.ErrnoException).code ?? 'error'))
    sent.end(body)
  })
}

const counter = () => {
  const counts: Record<string, number> = {}
  const count = (status: string) => {
    counts[status] = (counts[status] ?? 0) + 1
  }
  return { counts, count }
}

async function steady({
  urls,
  users,
  seconds,
  creates = false,
}: Extract<WorstQuestion, { do: 'steady' }>): Promise<Steady> {
  const agent = new Agent({ keepAlive: true })
  const [ms, burstMs, laterMs]: [number[], number[], number[]] = [[], [], []]
  const { counts, count } = counter()
  const each = async (user: Asker, index: number) => {
    const all: Promise<void>[] = []
    for (let n = 0; n < seconds * steadyPerSecond; n++) {
      // Users are spread over the tenth of a second.
      const dueMs = begunMs + (n + index / users.length) * (1000 / steadyPerSecond)
      const waitMs = dueMs - systemClock.monotonicMs()
      if (waitMs > 0) await systemClock.sleep(waitMs)
      const asked = send(agent, { url: urls[(n + index) % urls.length]!, path: 'user-status', token: user.token })
      all.push(
        asked.then(status => {
          const tookMs = systemClock.monotonicMs() - dueMs
          ms.push(tookMs)
          const part = dueMs - begunMs < burstSeconds * 1000 ? burstMs : laterMs
          part.push(tookMs)
          count(status)
        }),
      )
    }
    await Promise.all(all)
  }
  const created = counter()
  const create = async ({ name, token }: Asker, index: number) => {
    const body = JSON.stringify({ options: { image_type: 'recommended' } })
    const path = `labs/${name}/create`
    await systemClock.sleep((index * seconds * 1000) / users.length)
    created.count(await send(agent, { url: urls[index % urls.length]!, method: 'POST', path, token, body }))
  }
  const begunMs = systemClock.monotonicMs()
  await Promise.all([...(creates ? users.map(create) : []), ...users.map(each)])
  agent.destroy()
  return { ms, burstMs, laterMs, statuses: counts, created: created.counts }
}

/** Bodies of the largest size, with the content that costs most to check. */
function largest(entry: (index: number) => string): string {
  const [head, tail] = ['{"options":{"image_type":"recommended"},"env":{', '}}']
  const entries: string[] = []
  for (let bytes = head.length + tail.length; bytes < limits.maxBodyBytes - 32; bytes += entries.at(-1)!.length + 1) {
    entries.push(entry(entries.length))
  }
  return `${head}${entries.join(',')}${tail}`
}

const bodies = [
  largest(i => `"${i}-":""`),
  largest(i => `"A${i}":""`),
  `{"options":{}${'\n'.repeat(limits.maxBodyBytes - 32)},"env":{}}`,
  '['.repeat(limits.maxBodyBytes),
  `{"options":{"image_type":"recommended"},"env":{"A":"${'\\u0001'.repeat(5_000)}"}}`,
]

/**
 * The requests of one user at each replica: so many at once, and then so many a second. Each reaches its bound at once,
 * and exceeds it throughout. More would only cost the sender's processor time, on the same machine.
 */
function kinds({ name, token }: Asker, idempotencyKey: string) {
  const create = `labs/${encodeURIComponent(name)}/create`
  let n = 0
  const madeUp = () => JSON.stringify({ options: { image_tag: `w_9999_${n++}` } })
  const unknown = Buffer.from('{"alg":"RS256","kid":"made-up"}').toString('base64url')
  return {
    read: { atOnce: 100, perSecond: 100, make: () => ({ path: 'user-status', token }) },
    body: {
      atOnce: 10,
      perSecond: 2,
      make: () => ({ method: 'POST', path: create, token, body: bodies[n++ % bodies.length]! }),
    },
    key: {
      atOnce: 3,
      perSecond: 3,
      make: () => {
        const headers = { 'idempotency-key': idempotencyKey }
        return { method: 'POST', path: create, token, headers, body: bodies[n++ % bodies.length]! }
      },
    },
    tag: { atOnce: 10, perSecond: 2, make: () => ({ method: 'POST', path: create, token, body: madeUp() }) },
    token: { atOnce: 50, perSecond: 50, make: () => ({ path: 'user-status', token: `${unknown}.e30.${n++}` }) },
  } as const
}

/** Keeps as many requests in flight as a user may have. */
async function worst({ urls, user, key, seconds }: Extract<WorstQuestion, { do: 'worst' }>): Promise<Worst> {
  const agent = new Agent({ keepAlive: true, maxSockets: limits.maxRequestsPerUser })
  const first = {
    path: `labs/${encodeURIComponent(user.name)}/create`,
    token: user.token,
    headers: { 'idempotency-key': key },
  }
  const body = JSON.stringify({ options: { image_type: 'recommended' } })
  await send(agent, { url: urls[0]!, method: 'POST', ...first, body })
  const begunMs = systemClock.monotonicMs()
  const sending = Object.entries(kinds(user, key)).map(async ([kind, { atOnce, perSecond, make }]) => {
    const { counts, count } = counter()
    const all: Promise<void>[] = []
    for (let n = 0; n < atOnce + seconds * perSecond; n++) {
      const waitMs = begunMs + ((n - atOnce) * 1000) / perSecond - systemClock.monotonicMs()
      if (waitMs > 0) await systemClock.sleep(waitMs)
      for (const url of urls) all.push(send(agent, { url, ...make() }).then(count))
    }
    await Promise.all(all)
    return [kind, counts] as const
  })
  const answered = Object.fromEntries(await Promise.all(sending))
  agent.destroy()
  return answered
}

answerQuestions(async (question: WorstQuestion) => (question.do === 'steady' ? steady(question) : worst(question)))
