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
