/** Requests that go on whatever happens, through every replica, each answer held against what may be said. */
import type { Answer } from '../../kit/fleet/client.ts'

/** What is asked again and again. */
export interface Question {
  readonly what: string
  /** Through the replica of this address. */
  ask(url: string): Promise<Answer<unknown>>
  /** Whether this may be said: not asked of a 503, which may always be said for a while. */
  allows(answer: Answer<unknown>): boolean
}

const everyMs = 50

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const saysWhenToReturn = ({ headers }: Answer<unknown>) => Number(headers.get('retry-after')) > 0

/** Asks until the answer is no 503. @throws when one of those does not say when to come again */
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
  /** How many were put off with a 503, and when the last one was. */
  putOff = 0
  lastPutOffMs = 0
  readonly #done = new AbortController()
  readonly #loops: Promise<void>[]

  /** Asks all of it through each of these replicas every 50 ms, or as fast as the answers come. */
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
