/** The Redis server as redlock sees it. */
import type { Redis } from 'ioredis'

/** The two commands of a client that redlock calls: with the key and the token, and with the TTL to acquire. */
type Scripts = Pick<Redis, 'evalsha' | 'eval'>
type Args = readonly (string | number)[]

/**
 * After a failed acquisition redlock releases what it may have set at a minority of servers. There is only one, and if it
 * refused it has set nothing: that second script is not sent. Without an answer it is.
 */
export class LockServer {
  readonly #redis: Scripts
  readonly #refused = new Set<string>()

  constructor(redis: Scripts) {
    this.#redis = redis
  }

  evalsha(hash: string, keys: number, args: Args): Promise<unknown> {
    return this.#call(args, () => this.#redis.evalsha(hash, keys, ...args))
  }

  eval(script: string, keys: number, args: Args): Promise<unknown> {
    return this.#call(args, () => this.#redis.eval(script, keys, ...args))
  }

  async #call([, token, ttlMs]: Args, send: () => Promise<unknown>): Promise<unknown> {
    const acquires = ttlMs !== undefined
    if (!acquires && this.#refused.delete(String(token))) return 1
    const answer = await send()
    if (acquires && answer === 0) this.#refused.add(String(token))
    return answer
  }
}
