/** The load: requests labs as that many users would, and follows each to its end. A process of its own. */
import { Agent, type ClientRequest, type IncomingMessage, type RequestOptions, request } from 'node:http'
import { createParser } from 'eventsource-parser'
import { systemClock } from '../../src/base/clock.ts'
import { answerQuestions } from '../measure/worker.ts'

export interface Load {
  readonly kind: 'create' | 'delete'
  /** URL of the balancer. */
  readonly url: string
  readonly users: readonly { readonly name: string; readonly token: string }[]
  /** The administrator's token, which deletes. */
  readonly adminToken: string
  /** Whether to read the events of each lab to the last one; if not, only the acceptance is measured. */
  readonly follow: boolean
  /** Rate of requests, regardless of responses. Default: all at once. */
  readonly perSecond?: number | undefined
}

export interface LoadResult {
  /** From the first request to the last response or event. */
  readonly seconds: number
  /** From the due time of each request. */
  readonly acceptMs: readonly number[]
  readonly endedMs: readonly number[]
  /** The last event of each lab, or the status of a refusal. */
  readonly outcomes: readonly string[]
  readonly streamsWithGaps: number
}

type User = Load['users'][number]

const body = JSON.stringify({ options: { image_type: 'recommended', size: 'small' }, env: {} })
const accepted: readonly number[] = [202, 303]
const reconnectMs = 500

answerQuestions(async (load: Load): Promise<LoadResult> => {
  const agent = new Agent({ keepAlive: true })
  const begunMs = systemClock.monotonicMs()
  const results = await Promise.all(
    load.users.map(async (user, index) => {
      const dueMs = load.perSecond === undefined ? begunMs : begunMs + (1000 * index) / load.perSecond
      if (dueMs > begunMs) await systemClock.sleep(dueMs - systemClock.monotonicMs())
      return one(load, user, agent, dueMs)
    }),
  )
  agent.destroy()
  return {
    seconds: (systemClock.monotonicMs() - begunMs) / 1000,
    acceptMs: results.map(({ acceptMs }) => acceptMs),
    endedMs: results.map(({ endedMs }) => endedMs),
    outcomes: results.map(({ outcome }) => outcome),
    streamsWithGaps: results.filter(({ gap }) => gap).length,
  }
})

async function one(load: Load, user: User, agent: Agent, dueMs: number) {
  const status = await accept(load, user, agent)
  const acceptMs = systemClock.monotonicMs() - dueMs
  const following = load.follow && accepted.includes(status)
  const end = following ? await follow(load, user, agent) : { outcome: String(status), gap: false }
  return { acceptMs, endedMs: systemClock.monotonicMs() - dueMs, ...end }
}

async function accept({ kind, url, adminToken }: Load, user: User, agent: Agent): Promise<number> {
  const lab = `${url}/nublado/spawner/v1/labs/${user.name}`
  const answer =
    kind === 'create'
      ? await ask(`${lab}/create`, { method: 'POST', agent, headers: headersOf(user.token, body) }, body)
      : await ask(lab, { method: 'DELETE', agent, headers: headersOf(adminToken) })
  answer.resume()
  return answer.statusCode ?? 0
}

/** Reads the events up to the last one, with as many connections as needed. */
async function follow({ url }: Load, { name, token }: User, agent: Agent): Promise<{ outcome: string; gap: boolean }> {
  let seq = 0
  let gap = false
  let lastId: string | undefined
  for (;;) {
    const headers = { ...headersOf(token), ...(lastId !== undefined && { 'last-event-id': lastId }) }
    const answer = await ask(`${url}/nublado/spawner/v1/labs/${name}/events`, { agent, headers })
    let outcome: string | undefined
    const parser = createParser({
      onEvent: event => {
        seq += 1
        gap ||= event.id?.split('-')[1] !== String(seq)
        lastId = event.id
        if (event.event === 'complete' || event.event === 'failed') outcome = event.event
      },
    })
    for await (const chunk of answer.setEncoding('utf8')) parser.feed(chunk as string)
    if (outcome !== undefined) return { outcome, gap }
    if (answer.statusCode === 204) return { outcome: 'no event', gap }
    await systemClock.sleep(reconnectMs)
  }
}

const headersOf = (token: string, content?: string) => ({
  authorization: `Bearer ${token}`,
  ...(content !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) }),
})

function ask(url: string, options: RequestOptions, content?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = request(url, options, resolve)
    sent.once('error', reject)
    sent.end(content)
  })
}
