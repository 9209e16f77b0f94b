/** The load on a Hub: users spawn through its REST API at once, and follow the progress. A process of its own. */
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { createParser } from 'eventsource-parser'
import { systemClock } from '../../src/base/clock.ts'
import { answerQuestions } from '../measure/worker.ts'

export interface HubAddress {
  /** Address for users: the proxy's. */
  readonly url: string
  /** Address of the Hub itself. */
  readonly hubUrl: string
  /** Token of the service that acts for the users. */
  readonly token: string
}

export type HubQuestion =
  /** Makes users, with the `auth_state` that a login would have left. */
  | { readonly do: 'login'; readonly hub: HubAddress; readonly users: readonly { name: string; token: string }[] }
  | { readonly do: 'spawn'; readonly hub: HubAddress; readonly names: readonly string[]; readonly options: object }
  /** Stops servers; none may remain. */
  | { readonly do: 'stop'; readonly hub: HubAddress; readonly names: readonly string[] }

export interface SpawnResult {
  /** From the first request until the last server is ready. */
  readonly seconds: number
  /** From each request to its response, 202. */
  readonly acceptMs: readonly number[]
  /** From each request to the event that its server is ready. */
  readonly readyMs: readonly number[]
  /** `ready`, or the other outcome. */
  readonly outcomes: readonly string[]
  /** Number of events in all progress streams. */
  readonly events: number
  /** Durations of `/hub/health`, sent at an even pace meanwhile: the delay for all other requests. */
  readonly healthMs: readonly number[]
}

const healthEveryMs = 100
const reconnectMs = 500
/** Number of users logged in at once. */
const atOnce = 16

answerQuestions(async (question: HubQuestion): Promise<unknown> => {
  if (question.do === 'spawn') return spawn(question)
  const begunMs = systemClock.monotonicMs()
  await (question.do === 'login' ? login(question) : stop(question))
  return (systemClock.monotonicMs() - begunMs) / 1000
})

async function login({ hub, users }: Extract<HubQuestion, { do: 'login' }>): Promise<void> {
  await insist(hub, 'POST', '/users', { usernames: users.map(({ name }) => name) })
  await inTurns(users, ({ name, token }) => insist(hub, 'PATCH', `/users/${name}`, { auth_state: { token } }))
}

async function stop({ hub, names }: Extract<HubQuestion, { do: 'stop' }>): Promise<void> {
  await Promise.all(names.map(name => insist(hub, 'DELETE', `/users/${name}/server`)))
  const left = JSON.parse(await insist(hub, 'GET', '/users?state=active')).length
  if (left > 0) throw new Error(`${left} servers still run`)
}

async function spawn({ hub, names, options }: Extract<HubQuestion, { do: 'spawn' }>): Promise<SpawnResult> {
  const agent = new Agent({ keepAlive: true })
  const health = watchHealth(hub)
  const begunMs = systemClock.monotonicMs()
  const results = await Promise.all(names.map(name => spawnOne(hub, name, options, agent)))
  const seconds = (systemClock.monotonicMs() - begunMs) / 1000
  agent.destroy()
  return {
    seconds,
    acceptMs: results.map(({ acceptMs }) => acceptMs),
    readyMs: results.map(({ readyMs }) => readyMs),
    outcomes: results.map(({ outcome }) => outcome),
    events: results.reduce((sum, { events }) => sum + events, 0),
    healthMs: await health.stop(),
  }
}

async function spawnOne(hub: HubAddress, name: string, options: object, agent: Agent) {
  const begunMs = systemClock.monotonicMs()
  const path = `/users/${name}/server`
  const answer = await ask(hub, 'POST', path, { agent, body: options })
  const words = await text(answer)
  const acceptMs = systemClock.monotonicMs() - begunMs
  const isAccepted = answer.statusCode === 202 || answer.statusCode === 201
  const end = isAccepted
    ? await follow(hub, `${path}/progress`, agent)
    : { outcome: `${answer.statusCode} ${words.slice(0, 200)}`, events: 0 }
  return { acceptMs, readyMs: systemClock.monotonicMs() - begunMs, ...end }
}

/** Reads the progress as the Hub's page does, with as many connections as needed. */
async function follow(hub: HubAddress, path: string, agent: Agent): Promise<{ outcome: string; events: number }> {
  for (;;) {
    const answer = await ask(hub, 'GET', path, { agent })
    if (answer.statusCode !== 200) return { outcome: `progress ${answer.statusCode}`, events: 0 }
    let outcome: string | undefined
    let events = 0
    const parser = createParser({
      onEvent: ({ data }) => {
        events += 1
        const { ready, failed, message } = JSON.parse(data)
        if (ready) outcome = 'ready'
        else if (failed) outcome = `failed: ${withoutHeaders(message)}`
      },
    })
    for await (const chunk of answer.setEncoding('utf8')) parser.feed(chunk as string)
    if (outcome !== undefined) return { outcome, events }
    await systemClock.sleep(reconnectMs)
  }
}

/** The words of a failure; those of kubespawner have the headers of an answer, with an id in each. */
const withoutHeaders = (message: string): string => message.replace(/HTTP response headers:.*\n/, '').slice(0, 400)

/** Sends at its pace regardless of responses, so that more than one request shows a blocked Hub. */
function watchHealth({ hubUrl }: HubAddress): { stop(): Promise<readonly number[]> } {
  const agent = new Agent({ keepAlive: true })
  const asked: Promise<number>[] = []
  const one = async () => {
    const begunMs = systemClock.monotonicMs()
    await text(await send(`${hubUrl}/hub/health`, { method: 'GET', agent }))
    return systemClock.monotonicMs() - begunMs
  }
  const timer = setInterval(() => asked.push(one()), healthEveryMs)
  return {
    stop: async () => {
      clearInterval(timer)
      const durationsMs = await Promise.all(asked)
      agent.destroy()
      return durationsMs
    },
  }
}

async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = items.values()
  const worker = async () => {
    for (const item of left) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

/** @throws when the response is no success */
async function insist(hub: HubAddress, method: string, path: string, body?: object): Promise<string> {
  const answer = await ask(hub, method, path, { body })
  const words = await text(answer)
  if (answer.statusCode! >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${words}`)
  return words
}

interface Asking {
  readonly agent?: Agent
  readonly body?: object | undefined
}

function ask({ url, token }: HubAddress, method: string, path: string, { agent, body }: Asking) {
  const content = body && JSON.stringify(body)
  const headers = {
    authorization: `token ${token}`,
    ...(content && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) }),
  }
  return send(`${url}/hub/api${path}`, { method, headers, ...(agent && { agent }) }, content)
}

function send(url: string, options: object, content?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(url, options, resolve)
    sent.once('error', reject)
    sent.end(content)
  })
}
