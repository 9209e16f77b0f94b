/** A stop that is a patch of an object: requested in Redis first, then written by the version from before the look. */

import { RetryLater } from '../base/errors.ts'
import type { Failpoint } from '../base/failpoint.ts'
import { KubeError } from '../kube/client.ts'
import type { ActivityStore } from '../store/activity.ts'
import type { StopRequest } from '../store/idle.ts'
import type { StopResult } from './workloads/workload.ts'

export interface PatchedStop {
  readonly request: StopRequest
  readonly store: Pick<ActivityStore, 'requestStop' | 'tellStop' | 'withdrawStop'>
  readonly failpoint: Failpoint
  /** Writes it, unless somebody has edited the object since the look. @returns whether the object is still there */
  readonly patch: () => Promise<boolean>
  /** Whether the watches show it as stopped. */
  readonly isStopped: () => boolean
}

/**
 * @returns `written` if this call has written it
 * @throws {RetryLater} {KubeError}
 */
export async function stopByPatch(stop: PatchedStop): Promise<StopResult | 'written'> {
  const { request, store, failpoint } = stop
  const answer = await store.requestStop(request)
  if (answer !== 'requested') return answer
  await failpoint('idle.requested', `${request.kind}:${request.id}`)
  const result = await carryOut(stop)
  if (result !== 'changed') await tell(stop)
  return result
}

/** Once it is written: requests that are taken back again and again would fill the stream of everybody's events. */
async function tell({ request, store }: PatchedStop): Promise<void> {
  try {
    await store.tellStop(request)
  } catch (error) {
    // The stop is reported when its checks end.
    if (!(error instanceof RetryLater)) throw error
  }
}

/** A stop that was not written counts for the fuse no longer: an object that refuses all writes must not hold those of others. */
async function carryOut({
  request,
  store,
  patch,
  isStopped,
}: PatchedStop): Promise<'written' | 'requested' | 'changed'> {
  let refusal: unknown
  try {
    if (await patch()) return 'written'
  } catch (error) {
    // Of any other error nobody knows whether it was written.
    if (!isRefused(error)) throw error
    // After a lost reply this is our own change.
    if (isConflict(error) && isStopped()) return 'requested'
    refusal = error
  }
  await store.withdrawStop(request)
  if (refusal !== undefined && !isConflict(refusal)) throw refusal
  return 'changed'
}

const isConflict = (error: unknown): boolean => error instanceof KubeError && error.status === 409
const isRefused = (error: unknown): boolean => error instanceof KubeError && error.status >= 400 && error.status < 500
