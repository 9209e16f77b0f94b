import { Agent, request } from 'node:https'
import { systemClock } from '../../src/base/clock.ts'

export interface ApiAnswer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes, read in few places
  body: any
}

/** A minimal Kubernetes client for bringing up a cluster: requests as the administrator, by token. */
export class ApiClient {
  readonly #url: string
  readonly #token: string
  readonly #agent: Agent

  constructor(url: string, token: string, ca: string) {
    this.#url = url
    this.#token = token
    this.#agent = new Agent({ ca, keepAlive: true, maxSockets: 8 })
  }

  /** Rejects when there is no response within 5 s. */
  request(method: string, path: string, body?: object): Promise<ApiAnswer> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' }
      const outgoing = request(
        `${this.#url}${path}`,
        { method, headers, agent: this.#agent, timeout: 5000 },
        answer => {
          const chunks: Buffer[] = []
          answer.on('data', (chunk: Buffer) => chunks.push(chunk))
          answer.once('error', reject)
          answer.once('end', () => {
            resolve({ status: answer.statusCode ?? 0, body: parseBody(Buffer.concat(chunks).toString()) })
          })
        },
      )
      outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer to ${method} ${path}`)))
      outgoing.once('error', reject)
      outgoing.end(body && JSON.stringify(body))
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export interface WaitOptions {
  what: string
  limitMs: number
  signal?: AbortSignal | undefined
  /** Throws when waiting has become pointless, for example when the program has ended. */
  check?: () => void
}

/**
 * The pause before a question is repeated, in ms. It grows with the wait: a hundred tests that wait at once would keep
 * the machine busy with questions.
 */
export const pauseMs = (waitedMs: number): number => Math.min(Math.max(waitedMs / 20, 50), 250)

/** Repeats the question until the answer is true; a rejection counts as false. Throws after the limit. */
export async function waitUntil(question: () => Promise<boolean>, options: WaitOptions): Promise<void> {
  const begunMs = systemClock.monotonicMs()
  for (;;) {
    options.signal?.throwIfAborted()
    if (await question().catch(() => false)) return
    options.check?.()
    const waitedMs = systemClock.monotonicMs() - begunMs
    if (waitedMs > options.limitMs) throw new Error(`${options.what}: not ready after ${options.limitMs / 1000} s`)
    await systemClock.sleep(pauseMs(waitedMs), options.signal)
  }
}
