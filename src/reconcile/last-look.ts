/** The last look of a turn. */
import { type Look, lookAt } from './look.ts'
import type { Memory } from './memory.ts'
import type { Kind } from './types.ts'
import type { Writer } from './writer.ts'

/** The calls of a turn to the API server. */
export type TurnWriter = Pick<Writer, 'send' | 'report' | 'readName'>

/**
 * A turn looks before and after each wait, and mostly nothing happens meanwhile. So the last look counts until the key is asked
 * for, an answer of the API server comes, or the verdict changes by the time. Events that ask for no key may have brought new
 * versions: a write by an old one is refused, and then the turn looks again.
 */
export class LastLook<World> {
  readonly #kind: Kind<World>
  readonly #key: string
  readonly #memory: Pick<Memory, 'asked'>
  #last: { readonly look: Look; readonly asked: number } | undefined

  constructor(kind: Kind<World>, key: string, memory: Pick<Memory, 'asked'>) {
    this.#kind = kind
    this.#key = key
    this.#memory = memory
  }

  /** @returns undefined if the key is none of ours. @param nowMs since the epoch */
  at(nowMs: number): Look | undefined {
    const { asked } = this.#memory
    const last = this.#last
    if (last && last.asked === asked && nowMs < (last.look.verdict.dueMs ?? Number.POSITIVE_INFINITY)) return last.look
    const look = lookAt(this.#kind, this.#key, nowMs)
    this.#last = look && { look, asked }
    return look
  }

  /** The next look is a new one. */
  forget(): void {
    this.#last = undefined
  }

  /** The writer; what it is answered changes what the next look sees. */
  noticing(writer: TurnWriter): TurnWriter {
    const noticed = async <T>(answer: Promise<T>): Promise<T> => {
      try {
        return await answer
      } finally {
        this.forget()
      }
    }
    return {
      send: act => noticed(writer.send(act)),
      report: patch => noticed(writer.report(patch)),
      readName: (ref, signal) => noticed(writer.readName(ref, signal)),
    }
  }
}
