/**
 * Intents: a member wants an app to be started. A gateway has no rights in the cluster, so it leaves them for those who serve
 * apps. They must not believe one: the user, the app and its state are checked before anything is done.
 */
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { Connection } from '../connection.ts'
import type { Keys } from '../keys.ts'
import { appId, uidForm, whole } from './routes.ts'

export interface Intent {
  readonly id: string
  /** The app that the user saw, and its generation. */
  readonly uid: string
  readonly generation: number
  readonly user: string
}

export interface TakenIntent extends Intent {
  /** When it was asked, by Redis' clock. */
  readonly atMs: number
}

/** The same is not asked for again within this time. */
const againMs = 5_000
/** Apps that can wait to be started. */
const mostIntents = 1_000
/** An older intent is forgotten. */
const keepMs = 600_000
/** A replica that has not ended one by then is gone. */
const forMs = 30_000

const schema = z.strictObject({ id: appId, uid: uidForm, generation: whole, user: z.string().min(1).max(1_024) })

export class IntentStore {
  readonly #connection: Pick<Connection, 'run'>
  readonly #keys: Keys

  constructor(connection: Pick<Connection, 'run'>, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  /**
   * @returns `waits` if the same was asked a moment ago, or too many wait
   * @throws {RetryLater} when Redis does not answer
   */
  async ask({ id, uid, generation, user }: Intent): Promise<'asked' | 'waits'> {
    const { apps } = this.#keys
    const intent = JSON.stringify(schema.parse({ id, uid, generation, user }))
    const args = [id, againMs, mostIntents, keepMs, intent]
    return (await this.#connection.run('ask-start', [apps.intents, apps.bell], args)) as 'asked' | 'waits'
  }

  /**
   * Takes intents that nobody else has. Each must be ended; one that was not within 30 s is another replica's.
   * @param token of this replica, such as the name of its pod
   * @throws {RetryLater} when Redis does not answer
   */
  async take(token: string, limit = 32): Promise<readonly TakenIntent[]> {
    if (!/^\S+$/.test(token)) throw new Error('a token has no spaces')
    const flat = (await this.#connection.run(
      'take-intents',
      [this.#keys.apps.intents],
      [token, limit, forMs, keepMs],
    )) as string[]
    const taken: TakenIntent[] = []
    for (let i = 0; i + 2 < flat.length; i += 3) {
      const [id, atMs] = [flat[i]!, Number(flat[i + 1])]
      const parsed = schema.safeParse(parseJson(flat[i + 2]!))
      if (parsed.success && parsed.data.id === id) taken.push({ ...parsed.data, atMs })
      else await this.end({ id, atMs })
    }
    return taken
  }

  /** Forgets an intent, however it ended. If the member has asked anew meanwhile, it stays. */
  async end({ id, atMs }: Pick<TakenIntent, 'id' | 'atMs'>): Promise<void> {
    await this.#connection.run('end-intent', [this.#keys.apps.intents], [id, atMs])
  }
}
