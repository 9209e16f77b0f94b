/** A process that starts waits until its admission policies are in force. */
import type { Clock } from '../base/clock.ts'
import type { AdmissionWatch } from '../kube/policies/watch.ts'

const lookMs = 200

/**
 * A rollout stops at a replica whose rights nothing bounds. If the policies are missing later, it stays ready, and tells.
 * @param waiting has the refusal meanwhile
 */
export async function untilInForce(
  policies: Pick<AdmissionWatch, 'refusal'>,
  waiting: Set<string>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (let { refusal } = policies; refusal !== undefined; { refusal } = policies) {
    waiting.add(refusal)
    await clock.sleep(lookMs, signal)
    waiting.delete(refusal)
  }
}
