/** The labels and annotations by which our objects are recognized. Pure. */

export const labels = {
  /** The installation that made the object; an object with another value is foreign. */
  installation: 'skylab/installation',
  /** The op that made it. */
  op: 'skylab/op',
  managedBy: 'app.kubernetes.io/managed-by',
  component: 'app.kubernetes.io/component',
  argoInstance: 'argocd.argoproj.io/instance',
} as const

export const annotations = {
  /** The user name itself, which the slug may only resemble. */
  user: 'skylab/user',
  /** On the namespace: the view as JSON, from which the lab's record can be rebuilt. */
  record: 'skylab/record',
  /** On the namespace: proves that the record is ours. */
  recordMac: 'skylab/record-mac',
  argoCompareOptions: 'argocd.argoproj.io/compare-options',
  argoSyncOptions: 'argocd.argoproj.io/sync-options',
} as const

/**
 * The labels and annotations of a namespace or a pod that this program trusts. The policy `skylab-reserved` lets only
 * the controller and administrators write them; `k8s/base/policy.yaml` repeats the list.
 */
export const reserved: readonly string[] = [
  labels.installation,
  labels.op,
  annotations.user,
  annotations.record,
  annotations.recordMac,
]
