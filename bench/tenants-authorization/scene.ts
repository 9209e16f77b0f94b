/** Shared parts of the bench. */
import type { Cluster } from '../../dev/cluster/types.ts'
import type { Progress } from '../../dev/process/progress.ts'
import type { AdminKube } from '../../test/kit/cluster/kube.ts'

/** Numbers of tenants, of askings of each question, and of admissions of each object. */
export const defaults = { tenants: 1000, questions: 400, admissions: 40 }

export interface Scene {
  readonly cluster: Cluster
  readonly kube: AdminKube
  readonly options: typeof defaults
  readonly progress: Progress
  readonly signal: AbortSignal
}
