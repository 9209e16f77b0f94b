/** Requests of users for labs: accepted, and followed to the last event. */
import { type Agent, type IncomingMessage, type RequestOptions, request } from 'node:http'
import { createParser } from 'eventsource-parser'
import { systemClock } from '../../src/base/clock.ts'

export interface User {
  readonly name: string
  readonly token: string
}

export interface LabRequest {
  readonly kind: 'create' | 'delete'
  /** URL of the balancer. */
  readonly url: string
  readonly user: User
  /** The administrator's token, which deletes. */
  readonly adminToken: string
  readonly agent: Agent
}

/** The end of an operation, by its events. */
export interface End {
  /** The last event, or `no event`. */
  readonly outcome: string
  /** Whether the events' numbers had a gap. */
  readonly gap: boolean
}

const prefix = '/nublado/spawner/v1'
/** As a Hub sends it: the idle engine asks labs with this token. Without one it reads their Secrets. */
export const labEnv: Readonly<Record<string, string>> = { JUPYTERHUB_API_TOKEN: 'token-of-the-bench' }

const body = JSON.stringify({ options: { image_type: 'recommended', size: 'small' }, env: labEnv })
const accepted: readonly number[] = [202, 303]
const reconnectMs = 500

export const isAccepted = (status: number): boolean => accepted.includes(status)

/** Resolves with the status of the answer. */
export async function sendLabRequest({ kind, url, user, adminToken, agent }: LabRequest): Promise<number> {
  const lab = `${url}${prefix}/labs/${user.name}`
  const answer =
    kind === 'create'
      ? await ask(`${lab}/create`, { method: 'POST', agent, headers: headersOf(user.token, body) }, body)
      : await ask(lab, { method: 'DELETE', agent, headers: headersOf(adminToken) })
  answer.resume()
  return answer.statusCode ?? 0
}

/** Reads the events up to the last one, with as many connections as needed. */
export async function followLab({ url, user, agent }: Omit<LabRequest, 'kind' | 'adminToken'>): Promise<End> {
  let seq = 0
  let gap = false
  let lastId: string | undefined
  for (;;) {
    const headers = { ...headersOf(user.token), ...(lastId !== undefined && { 'last-event-id': lastId }) }
    const answer = await ask(`${url}${prefix}/labs/${user.name}/events`, { agent, headers })
    let outcome: string | undefined
    const parser = createParser({
      onEvent: event => {
        seq += 1
        gap ||= event.id?.split('-')[1] !== String(seq)
        lastId = event.id
        if (event.event === 'complete' || event.event === 'failed') outcome = event.event
      },
    })
    await feed(answer, chunk => parser.feed(chunk))
    if (outcome !== undefined) return { outcome, gap }
    if (answer.statusCode === 204) return { outcome: 'no event', gap }
    await systemClock.sleep(reconnectMs)
  }
}

/** A connection that breaks ends the reading as a complete answer does. */
async function feed(answer: IncomingMessage, take: (chunk: string) => void): Promise<void> {
  try {
    for await (const chunk of answer.setEncoding('utf8')) take(chunk as string)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error
  }
}

const headersOf = (token: string, content?: string) => ({
  authorization: `Bearer ${token}`,
  ...(content !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) }),
})

function ask(url: string, options: RequestOptions, content?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(url, options, resolve)
    sent.once('error', reject)
    sent.end(content)
  })
}
