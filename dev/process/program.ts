import { constants } from 'node:os'

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The abort reason of a program's signal. */
export class Interrupted extends Error {
  readonly exitCode: number

  constructor(signal: (typeof stopSignals)[number]) {
    super(`interrupted by ${signal}`)
    this.name = 'Interrupted'
    this.exitCode = 128 + constants.signals[signal]
  }
}

/** Thrown for an invalid command line; the message names the fault. */
export class UsageError extends Error {}

const usageCode = 2

/** A program with a command line. */
export interface Command<Options> {
  /** The text of `--help`. */
  readonly usage: string
  /** @throws {UsageError} */
  parse(args: readonly string[]): Options
  /** Returns the exit code. Can throw a UsageError too. */
  run(options: Options, signal: AbortSignal): Promise<number>
}

/** Runs a program as `runProgram` does. For a usage error it prints the usage and exits with 2. */
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
 * rejects. A second signal changes nothing, since terminal and parent may both send one.
 */
export async function runProgram(main: (signal: AbortSignal) => Promise<number>): Promise<never> {
  const controller = new AbortController()
  for (const signal of stopSignals) process.on(signal, () => controller.abort(new Interrupted(signal)))
  // Waiting for a signal does not keep Node running.
  setInterval(() => {}, 2 ** 30)
  // A closed terminal or pipe must not stop the cleaning up.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  try {
    process.exit(await main(controller.signal))
  } catch (error) {
    const reason = controller.signal.aborted ? controller.signal.reason : error
    process.stderr.write(`${reason instanceof Error ? reason.message : reason}\n`)
    process.exit(reason instanceof Interrupted ? reason.exitCode : 1)
  }
}
