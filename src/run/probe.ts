/** Asks a source of identities at the start, so that a mistake shows before a user meets it. */
import type { Clock } from '../base/clock.ts'

/** Retry interval, until it has answered once. */
const probeMs = 5000

/** Not awaited by a start: what needs no identity goes on without it. */
export async function probeUntilAnswered(
  probe: () => Promise<unknown>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const answers = () =>
    probe().then(
      () => true,
      () => false,
    )
  while (!signal.aborted && !(await answers())) await clock.sleep(probeMs, signal).catch(() => {})
}
