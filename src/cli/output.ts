/** Output streams of commands, and their exit codes. */

export interface Output {
  out(text: string): void
  err(text: string): void
}

/** Exit codes: success; the result cannot be produced; the command or the configuration is wrong. */
export const codes = { ok: 0, failed: 1, refused: 2 } as const

/** What a terminal would obey or hide, but for the line breaks of JSON. */
const unseen = /(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** @returns the characters as JSON writes them */
export const escaped = (text: string): string =>
  Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')

/** @returns the value as JSON, with a line break at its end. Texts in it are anybody's, and no orders for a terminal */
export const jsonOf = (value: unknown, indent?: number): string =>
  `${JSON.stringify(value, null, indent)}\n`.replace(unseen, escaped)

/** Prints warnings of parts that otherwise have a log. */
export function warningsTo({ err }: Output) {
  return {
    warn(fields: object, message: string): void {
      const { err: cause } = fields as { err?: unknown }
      err(`warning: ${message}${cause instanceof Error ? `: ${cause.message}` : ''}\n`)
    },
  }
}
