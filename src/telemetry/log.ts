/** Structured logs: one JSON object per line, with a constant message and fields. They contain no secret. */
import { type Bindings, type DestinationStream, type Logger, pino } from 'pino'
import { withoutSecrets } from './without-secrets.ts'

export type { Logger }

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  /** Name of this replica, on every line. */
  readonly replica: string
  /** Default: standard output. */
  readonly destination?: DestinationStream
}

/** The logger of a process. Rooms take children of it with their own fields (`user`, `op`, `step`). */
export function createLogger({ level, replica, destination }: LogOptions): Logger {
  const options = {
    level,
    base: { replica },
    timestamp: pino.stdTimeFunctions.isoTime,
    // pino's own redaction takes 15 µs of a line: it walks through all paths for each value.
    formatters: { level: (label: string) => ({ level: label }), log: formatLine },
    // Described already; pino's own serializer would add all properties of the error.
    serializers: { err: (described: unknown) => described },
  }
  return alsoInChildren(pino(options, destination ?? pino.destination({ dest: 1, sync: true })))
}

function formatLine(fields: { readonly err?: unknown }): Record<string, unknown> {
  const shown = fields.err === undefined ? fields : { ...fields, err: describeError(fields.err) }
  return withoutSecrets(shown) as Record<string, unknown>
}

/** pino formats the fields of lines, but not those that a child adds to its lines. */
function alsoInChildren(logger: Logger): Logger {
  const { child } = logger
  // Children inherit this function.
  logger.child = function hiding(this: Logger, bindings: Bindings) {
    return child.call(this, formatLine(bindings))
  } as Logger['child']
  return logger
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
