/** A control: an edit of the source that takes a guard away, with which an attack must fail. */

/** One change to a file of the product. Its text must occur exactly once. */
export interface Edit {
  /** Path from the root of the checkout. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

export interface Control {
  readonly name: string
  readonly edits: readonly Edit[]
  /** Another control that is applied with it, if either guard alone would suffice. */
  readonly beside?: string
  /** Whether its attacks run in full size. */
  readonly whole?: boolean
  /** The attacks that must fail without this guard; empty if a control serves an attack of its own. */
  readonly attacks: readonly Reddened[]
}

/** An attack by the start of its name, with a pattern for its violations or its failure. */
export interface Reddened {
  readonly name: string
  readonly expected: RegExp
}
