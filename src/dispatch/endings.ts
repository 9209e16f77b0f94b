/** Why a machine ends, in the words of its record, and how its boot ended by that. Pure. */
import type { ShutdownReason } from './types.ts'

/** Nobody of ours asked for it. */
export const endedByCloud = 'the cloud shows it as gone'
/** Anything that a failed creation made is removed. */
export const creationFailed = 'its creation failed'

const failures: readonly ShutdownReason[] = ['boot', 'broken', 'unreachable']
const failed: ReadonlySet<string> = new Set([...failures, creationFailed])

/** How the boot of a machine ended that was never ready. `aborted`: it was not needed any more, or an operator ended it. */
export function bootOutcomeOf(ending: string): 'failure' | 'aborted' | 'disappeared' {
  if (ending === endedByCloud) return 'disappeared'
  return failed.has(ending) ? 'failure' : 'aborted'
}
