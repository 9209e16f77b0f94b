/** An owner goes on while Redis is away, for as long as its lease lasts. */
import type { Clock } from '../base/clock.ts'
import { isUnavailable } from '../base/errors.ts'

export interface Insisting {
  readonly clock: Pick<Clock, 'sleep'>
  /** Aborted when the lease is lost. */
  readonly signal: AbortSignal
  /** Called before each attempt. @throws when the lease has expired */
  readonly check: () => unknown
}

const againMs = 100

/** Repeats a command until Redis answers. @throws what `check` throws, the signal's reason, and any other error of the command */
export async function insist<T>({ clock, signal, check }: Insisting, ask: () => Promise<T>): Promise<T> {
  while (true) {
    check()
    try {
      return await ask()
    } catch (error) {
      if (!isUnavailable(error)) throw error
      await clock.sleep(againMs, signal)
    }
  }
}
