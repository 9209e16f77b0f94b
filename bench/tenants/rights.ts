/** Asks the API server's authorizer, by SubjectAccessReviews. */
import { systemClock } from '../../src/base/clock.ts'
import type { AdminKube } from '../../test/kit/cluster/kube.ts'
import type { Question } from './people.ts'

const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' }

/** Time until a question is asked again whose answer is not the wanted one. */
const againMs = 5

export async function isAllowed(kube: AdminKube, spec: Question): Promise<boolean> {
  const { status, body } = await kube.request('POST', path, { ...review, spec })
  if (status !== 201) throw new Error(`${spec.user}: ${status} ${body.message}`)
  return body.status.allowed
}

/** Asks until the answer is the wanted one; resolves with the number of questions. */
export async function untilAllowed(
  kube: AdminKube,
  question: Question,
  wanted: boolean,
  signal: AbortSignal,
): Promise<number> {
  for (let asked = 1; ; asked++) {
    signal.throwIfAborted()
    if ((await isAllowed(kube, question)) === wanted) return asked
    await systemClock.sleep(againMs, signal)
  }
}
