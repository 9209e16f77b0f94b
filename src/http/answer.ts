/** The answer to an outgoing request, and the error for one that is against our limits. Pure. */

export interface Answer {
  /** The address of the answer, which differs from the request's after a redirect. */
  readonly url: URL
  readonly status: number
  /** The value of a header, by its name in lower case; empty without one. */
  header(name: string): string
  readonly body: Buffer
}

/** The message has our own words, without text of the server. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError'
}
