/** A loop whose failures are logged rarely while they last, and their end once. */
import { type Backoff, backoffMs } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Loop, type Rest } from '../base/loop.ts'
import { briefly } from '../kube/client.ts'
import { Rarely } from '../telemetry/rarely.ts'

export interface ToldLoopOptions {
  readonly clock: Clock
  readonly log: Log
  /** The messages for the first failure, and for the end of the last one. */
  readonly words: { readonly trouble: string; readonly over: string }
  readonly round: (signal: AbortSignal) => Promise<Rest>
}

const backoff: Backoff = { baseMs: 1_000, capMs: 60_000 }

export function toldLoop({ clock, log, words, round }: ToldLoopOptions): Loop {
  const trouble = new Rarely({ clock, log, ...words })
  return new Loop({
    clock,
    round: async signal => {
      const rest = await round(signal)
      trouble.worked()
      return rest
    },
    failed: (error, failures) => {
      trouble.failed(briefly(error as Error))
      return { ms: backoffMs(failures, backoff) }
    },
  })
}
