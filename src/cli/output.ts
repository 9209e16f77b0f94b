/** What commands write to, and the codes by which they end. */

export interface Output {
  out(text: string): void
  err(text: string): void
}

/** Exit codes: all is well; what was asked for cannot be had; the command or the configuration is not right. */
export const codes = { ok: 0, failed: 1, refused: 2 } as const

/** Warnings of parts that have a log elsewhere. */
export function warningsTo({ err }: Output) {
  return {
    warn(fields: object, message: string): void {
      const { err: cause } = fields as { err?: unknown }
      err(`warning: ${message}${cause instanceof Error ? `: ${cause.message}` : ''}\n`)
    },
  }
}
