import { RetryLater } from './errors.ts'

/** The logger that this room needs: a constant message and fields. pino's logger fits. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Logs an error of repeated work, except a `RetryLater`: the next round may succeed, and the other side reports its trouble. */
export function logUnexpected(log: Pick<Log, 'error'>, error: unknown, message: string): void {
  if (!(error instanceof RetryLater)) log.error({ err: error }, message)
}
