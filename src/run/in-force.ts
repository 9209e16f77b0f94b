/** A process that starts waits until its admission policies are in force. */
import type { Clock } from '../base/clock.ts'
import type { AdmissionWatch } from '../kube/policies/watch.ts'
import { kubernetesName } from './readiness.ts'

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
    await waitFor(refusal, waiting, clock, signal)
  }
}

/** Waits until it is known whether they are in force. */
export async function untilAnswered(
  policies: Pick<AdmissionWatch, 'refusal' | 'answered'>,
  waiting: Set<string>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!policies.answered) await waitFor(policies.refusal ?? kubernetesName, waiting, clock, signal)
}

async function waitFor(what: string, waiting: Set<string>, clock: Clock, signal: AbortSignal): Promise<void> {
  waiting.add(what)
  await clock.sleep(lookMs, signal)
  waiting.delete(what)
}
