/** Bounds the large answers that wait for their readers: slow readers would fill the memory. */
import type { ServerResponse } from 'node:http'
import type { Context } from 'hono'
import { ApiError } from '../../base/errors.ts'
import { whenAnswered } from '../../http/answered.ts'
import type { ApiEnv } from '../request/env.ts'
import { enterBoth, PerUserLimit, TotalLimit } from './held.ts'

/** Answers from here on are large. */
const largeBytes = 65_536

export class LargeAnswers {
  readonly #perUser: PerUserLimit
  readonly #total: TotalLimit

  constructor(onRefusal: () => void = () => {}) {
    this.#perUser = new PerUserLimit(4, 'large answers', onRefusal)
    this.#total = new TotalLimit(16, 'large answers', onRefusal)
  }

  /**
   * @returns an answer with this JSON, as it is: to read it again would double what a large one takes
   * @throws {ApiError} 429, 503
   */
  answer(c: Context<ApiEnv>, json: string, headers: Readonly<Record<string, string>> = {}): Response {
    this.#hold(c, json)
    return answerOf(c, json, headers)
  }

  /** The same for what has taken effect: a refusal would say that it has not. */
  answerAnyway(c: Context<ApiEnv>, json: string): Response {
    try {
      this.#hold(c, json)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
    }
    return answerOf(c, json)
  }

  /**
   * @param onSent calls its listener when the answer was sent, or its reader is gone
   * @throws {ApiError} 429, 503
   */
  hold(username: string, json: string, onSent: (listener: () => void) => unknown): void {
    if (json.length >= largeBytes) onSent(enterBoth(this.#perUser, this.#total, username))
  }

  #hold(c: Context<ApiEnv>, json: string): void {
    const outgoing = c.env?.outgoing
    if (!outgoing || !('req' in outgoing)) return
    // Its reader may be gone by now.
    this.hold(c.get('caller').username, json, leave => whenAnswered(outgoing as ServerResponse, leave))
  }
}

const answerOf = (c: Context<ApiEnv>, json: string, headers: Readonly<Record<string, string>> = {}) =>
  c.body(json, 200, { 'Content-Type': 'application/json', ...headers })
