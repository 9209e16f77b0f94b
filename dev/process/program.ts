import { constants } from 'node:os'

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The reason with which a program's signal is aborted. */
export class Interrupted extends Error {
  readonly exitCode: number

  constructor(signal: (typeof stopSignals)[number]) {
    super(`interrupted by ${signal}`)
    this.name = 'Interrupted'
    this.exitCode = 128 + constants.signals[signal]
  }
}

/** Thrown for a command line that is not understood; the message says what is wrong with it. */
export class UsageError extends Error {}

const usageCode = 2

/** A program with a command line. */
export interface Command<Options> {
  /** What `--help` prints. */
  readonly usage: string
  /** @throws {UsageError} */
  parse(args: readonly string[]): Options
  /** Gives the exit code. May throw a UsageError too. */
  run(options: Options, signal: AbortSignal): Promise<number>
}

/** Runs a program as `runProgram` does. What it does not understand is answered with its usage, and exit code 2. */
export function runCommand<Options>({ usage, parse, run }: Command<Options>): Promise<never> {
  return runProgram(async signal => {
    const args = process.argv.slice(2)
    if (args.includes('--help')) {
      process.stdout.write(usage)
      return 0
    }
    try {
      return await run(parse(args), signal)
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      process.stderr.write(`${error.message}\n\n${usage}`)
      return usageCode
    }
  })
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/**
 * Runs a program and exits with its code. SIGINT, SIGTERM and SIGHUP abort its signal: it cleans up and returns, or
 * rejects. A second one changes nothing, since a terminal and a starter may both send it.
 */
export async function runProgram(main: (signal: AbortSignal) => Promise<number>): Promise<never> {
  const controller = new AbortController()
  for (const signal of stopSignals) process.on(signal, () => controller.abort(new Interrupted(signal)))
  // Waiting for a signal alone does not keep Node running.
  setInterval(() => {}, 2 ** 30)
  // A terminal that is gone, or a reader that left, must not keep us from cleaning up.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  try {
    process.exit(await main(controller.signal))
  } catch (error) {
    const reason = controller.signal.aborted ? controller.signal.reason : error
    process.stderr.write(`${reason instanceof Error ? reason.message : reason}\n`)
    process.exit(reason instanceof Interrupted ? reason.exitCode : 1)
  }
}
