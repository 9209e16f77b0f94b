/** Client tokens with AWS' semantics. */
import type { Call } from './call.ts'
import { errorReply, type Reply } from './xml.ts'

interface Kept {
  readonly parameters: string
  readonly reply: Promise<Reply>
}

export class Tokens {
  readonly #kept = new Map<string, Kept>()

  /**
   * Carries a call out once for its token. A second one with the same parameters gets the answer of the first.
   * @param hasEnded whether what the first one made is gone
   */
  async once(call: Call, carryOut: () => Promise<Reply>, hasEnded: (reply: Reply) => Promise<boolean>): Promise<Reply> {
    if (call.token === undefined) return carryOut()
    const key = `${call.action} ${call.token}`
    const parameters = JSON.stringify([...call.parameters].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    const kept = this.#kept.get(key)
    if (kept === undefined) return this.#first(key, parameters, carryOut)
    if (kept.parameters !== parameters)
      return errorReply('IdempotentParameterMismatch', 'The token was used with other parameters.')
    const reply = await kept.reply
    if (reply.status >= 400) return reply
    if (await hasEnded(reply))
      return errorReply('IdempotentInstanceTerminated', 'The instance of this token has ended.')
    return reply
  }

  async #first(key: string, parameters: string, carryOut: () => Promise<Reply>): Promise<Reply> {
    const reply = carryOut()
    this.#kept.set(key, { parameters, reply })
    // A refusal is forgotten: the same token may succeed later.
    const forget = () => this.#kept.delete(key)
    reply.then(({ status }) => status >= 400 && forget(), forget)
    return reply
  }
}
