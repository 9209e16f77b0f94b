/** Continuous requests through every replica. Each answer is checked against the allowed ones. */
import type { Answer } from '../../kit/fleet/client.ts'

/** A request that is repeated. */
export interface Question {
  readonly what: string
  /** Sends it through the replica at this address. */
  ask(url: string): Promise<Answer<unknown>>
  /** Whether the answer is allowed. Not called for a 503, which is always allowed for a while. */
  allows(answer: Answer<unknown>): boolean
}

const everyMs = 50

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const saysWhenToReturn = ({ headers }: Answer<unknown>) => Number(headers.get('retry-after')) > 0

/** Asks until the answer is no 503. @throws if a 503 has no Retry-After */
export async function insist<B>(ask: () => Promise<Answer<B>>): Promise<Answer<B>> {
  while (true) {
    const answer = await ask()
    if (answer.status !== 503) return answer
    if (!saysWhenToReturn(answer)) throw new Error('503 without Retry-After')
    await pause(20)
  }
}

export class Traffic {
  readonly violations: string[] = []
  asked = 0
  /** Number of 503s, and the time of the last one. */
  putOff = 0
  lastPutOffMs = 0
  readonly #done = new AbortController()
  readonly #loops: Promise<void>[]

  /** Sends all requests through each of these replicas every 50 ms, or as fast as answers come. */
  constructor(urls: readonly string[], questions: readonly Question[]) {
    this.#loops = urls.map(url => this.#goOn(url, questions))
  }

  async stop(): Promise<void> {
    this.#done.abort()
    await Promise.all(this.#loops)
  }

  async #goOn(url: string, questions: readonly Question[]): Promise<void> {
    while (!this.#done.signal.aborted) {
      const next = performance.now() + everyMs
      await Promise.all(questions.map(question => this.#ask(url, question)))
      await pause(Math.max(0, next - performance.now()))
    }
  }

  async #ask(url: string, question: Question): Promise<void> {
    this.asked += 1
    const answer = await question.ask(url).catch((error: Error) => error)
    const wrong = answer instanceof Error ? `no answer (${answer.message})` : this.#judge(question, answer)
    if (wrong) this.violations.push(`${question.what} at ${url}: ${wrong}`)
  }

  #judge(question: Question, answer: Answer<unknown>): string | undefined {
    if (answer.status === 503) {
      this.putOff += 1
      this.lastPutOffMs = performance.now()
      return saysWhenToReturn(answer) ? undefined : '503 without Retry-After'
    }
    return question.allows(answer) ? undefined : `${answer.status} ${JSON.stringify(answer.body)}`
  }
}
