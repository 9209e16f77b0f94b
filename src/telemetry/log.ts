/** Structured logs: one JSON object per line, with a constant message and fields. They contain no secret. */
import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger }

/** Fields that hold secrets, at the first three levels. */
const secretHeaders = ['authorization', 'Authorization', 'x-auth-request-token', 'x-skylab-ingress-secret']
const secretFields = ['token', ...secretHeaders, 'env', 'plan', 'password']
const redacted = secretFields.flatMap(name => ['', '*', '*.*'].map(parent => `${parent}["${name}"]`))
/** Removes secrets from all lines that this process writes. */
export const redact = { paths: redacted, censor: '***' }

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  /** Name of this replica, on every line. */
  readonly replica: string
  /** Default: standard output. */
  readonly destination?: DestinationStream
}

/** The logger of a process. Rooms take children of it with their own fields (`user`, `op`, `step`). */
export function createLogger({ level, replica, destination }: LogOptions): Logger {
  return pino(
    {
      level,
      base: { replica },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      redact,
      serializers: { err: describeError },
    },
    destination ?? pino.destination({ dest: 1, sync: true }),
  )
}

/** A logger without output. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' })
}

interface ErrorDescription {
  readonly type: string
  readonly message: string
  readonly code?: unknown
  readonly stack?: string
  readonly cause?: ErrorDescription
}

/**
 * The logged part of an error. Its other properties are left out: errors of clients contain the command or the request
 * that failed, with all its data.
 */
function describeError(error: unknown): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) }
  const { code } = error as NodeJS.ErrnoException
  return {
    type: error.name,
    message: withoutAdvice(error.message),
    ...(code !== undefined && { code }),
    ...(error.stack !== undefined && { stack: withoutAdvice(error.stack) }),
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  }
}

/** Removes Node's advice on untrusted authorities: operators cannot pass options to the Node of an image. */
function withoutAdvice(text: string): string {
  return text.replace(/; if the root CA is installed locally, try running Node\.js with --use-system-ca/g, '')
}
