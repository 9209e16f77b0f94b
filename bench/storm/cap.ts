/**
 * A proxy before the API server that answers 429 above a rate, as the server's own fairness does for one account. Watches
 * pass as they come. A process of its own.
 */
import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { systemClock } from '../../src/base/clock.ts'
import { answerQuestions } from '../measure/worker.ts'

export type CapQuestion =
  | {
      readonly do: 'start'
      /** URL of the API server. */
      readonly server: string
      /** Files of the API server: its certificate, which is the proxy's too, and its authority. */
      readonly files: { readonly key: string; readonly cert: string; readonly ca: string }
      readonly perSecond: number
    }
  | { readonly do: 'count' }

/** Requests since the last question. */
export interface CapCount {
  readonly passed: number
  readonly refused: number
}

/** Shorter than the API server's, which would close the connection during a request. */
const idleMs = 30_000
const retryAfterSeconds = '1'
const hopHeaders = ['connection', 'keep-alive', 'transfer-encoding'] as const
const refusal = JSON.stringify({
  ...{ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'TooManyRequests', code: 429 },
  message: 'too many requests, please try again later',
})

let count = { passed: 0, refused: 0 }

/** So many requests a second on average, and at most a second's worth at once. */
class Bucket {
  readonly #perSecond: number
  #left: number
  #filledMs = systemClock.monotonicMs()

  constructor(perSecond: number) {
    this.#perSecond = perSecond
    this.#left = perSecond
  }

  take(): boolean {
    const nowMs = systemClock.monotonicMs()
    this.#left = Math.min(this.#perSecond, this.#left + ((nowMs - this.#filledMs) / 1000) * this.#perSecond)
    this.#filledMs = nowMs
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}

/** `start` answers with the proxy's URL. */
answerQuestions(async (question: CapQuestion): Promise<string | CapCount> => {
  if (question.do === 'start') return start(question)
  const before = count
  count = { passed: 0, refused: 0 }
  return before
})

function start({ server, files, perSecond }: Extract<CapQuestion, { do: 'start' }>): Promise<string> {
  const [key, cert, ca] = [files.key, files.cert, files.ca].map(file => readFileSync(file))
  const agent = new Agent({ ca, keepAlive: true, timeout: idleMs })
  const bucket = new Bucket(perSecond)
  const proxy = createServer({ key, cert, keepAliveTimeout: 3 * idleMs }, (incoming, outgoing) => {
    if (bucket.take()) {
      count.passed += 1
      pass(server, agent, incoming, outgoing)
    } else {
      count.refused += 1
      incoming.resume()
      outgoing.writeHead(429, { 'retry-after': retryAfterSeconds, 'content-type': 'application/json' })
      outgoing.end(refusal)
    }
  })
  return new Promise(resolve => {
    proxy.listen(0, '127.0.0.1', () => resolve(`https://127.0.0.1:${(proxy.address() as AddressInfo).port}`))
  })
}

function pass(server: string, agent: Agent, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method, url, headers } = incoming
  const sent = request(server + url, { method, headers: withoutHop(headers), agent }, answer => {
    outgoing.writeHead(answer.statusCode ?? 502, withoutHop(answer.headers))
    // The head of a watch must not wait for its first event.
    outgoing.flushHeaders()
    pipeline(answer, outgoing, () => {})
  })
  sent.once('error', () => outgoing.destroy())
  outgoing.once('close', () => sent.destroy())
  incoming.pipe(sent)
}

function withoutHop(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const kept = { ...headers }
  for (const name of hopHeaders) delete kept[name]
  return kept
}
