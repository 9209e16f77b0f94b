/** Errors of drivers. They steer: each says what its caller does next. Texts are safe to show. */

/** The cloud wants fewer calls: none of this sort before `untilMs`, by Redis' clock as far as the caller knows it. */
export class RateLimited extends Error {
  override readonly name = 'RateLimited'
  readonly untilMs: number
  constructor(message: string, untilMs: number) {
    super(message)
    this.untilMs = untilMs
  }
}

/** No more machines of this group of types, until one of them ends. */
export class AtQuota extends Error {
  override readonly name = 'AtQuota'
  readonly group: string
  constructor(message: string, group: string) {
    super(message)
    this.group = group
  }
}

/** The cloud has no machine of this type now. */
export class NoCapacity extends Error {
  override readonly name = 'NoCapacity'
}

/** The token of this intent was used, and its machine has ended: it will never make one. */
export class IntentOver extends Error {
  override readonly name = 'IntentOver'
}

/** The request may have been carried out, or not. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
}

/** The cloud refuses until someone changes something: credentials, image, network. */
export class CloudRefused extends Error {
  override readonly name = 'CloudRefused'
  /** The cloud's own word for it, if it has one. */
  readonly code: string | undefined
  constructor(message: string, code?: string) {
    super(message)
    this.code = code
  }
}
