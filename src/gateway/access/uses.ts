/** Extends the sessions that were used, once a minute and in batches: a request does not write. */
import type { Clock } from '../../base/clock.ts'
import { type Log, logUnexpected } from '../../base/log.ts'
import { Loop } from '../../base/loop.ts'
import type { SessionStore } from '../../store/apps/sessions.ts'
import type { Seen } from './checks.ts'

const everyMs = 60_000
const againMs = 5_000
/** More are extended at once. */
const mostNoted = 20_000

export interface UsesOptions {
  readonly sessions: Pick<SessionStore, 'extend'>
  readonly clock: Clock
  readonly log: Log
  readonly sessionMs: number
}

type Session = Pick<Seen['claim'], 'sessionHash' | 'loginHash'>

export class Uses {
  readonly #options: UsesOptions
  readonly #loop: Loop
  #noted = new Map<string, Session>()

  constructor(options: UsesOptions) {
    this.#options = options
    this.#loop = new Loop({
      clock: options.clock,
      round: async () => {
        await this.#extend()
        return { ms: this.#everyMs }
      },
      failed: error => {
        logUnexpected(options.log, error, 'sessions could not be extended')
        return { ms: againMs }
      },
    })
  }

  start(): void {
    this.#loop.start({ ms: this.#everyMs })
  }

  /** Extends the rest. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.#extend().catch(error => logUnexpected(this.#options.log, error, 'sessions could not be extended'))
  }

  note({ claim }: Pick<Seen, 'claim'>): void {
    const { sessionHash } = claim
    // While Redis does not answer; those that are used on are noted again.
    if (this.#noted.size > mostNoted || this.#noted.get(sessionHash) === claim) return
    this.#noted.set(sessionHash, claim)
    if (this.#noted.size === mostNoted) this.#loop.wake()
  }

  async #extend(): Promise<void> {
    const noted = this.#noted
    if (noted.size === 0) return
    this.#noted = new Map()
    const { sessions, sessionMs } = this.#options
    try {
      await sessions.extend([...noted.values()], sessionMs)
    } catch (error) {
      for (const [hash, session] of noted) if (!this.#noted.has(hash)) this.#noted.set(hash, session)
      throw error
    }
  }

  /** Short sessions are extended more often. */
  get #everyMs(): number {
    return Math.min(everyMs, this.#options.sessionMs / 4)
  }
}
