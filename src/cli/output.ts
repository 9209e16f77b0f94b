/** Output streams of commands, and their exit codes. */

export interface Output {
  out(text: string): void
  err(text: string): void
}

/** Exit codes: success; the result cannot be produced; the command or the configuration is wrong. */
export const codes = { ok: 0, failed: 1, refused: 2 } as const

/** Prints warnings of parts that otherwise have a log. */
export function warningsTo({ err }: Output) {
  return {
    warn(fields: object, message: string): void {
      const { err: cause } = fields as { err?: unknown }
      err(`warning: ${message}${cause instanceof Error ? `: ${cause.message}` : ''}\n`)
    },
  }
}
