/** The labels and annotations by which objects of ours are known again. Pure. */

export const labels = {
  /** Which installation made an object; what bears another value is foreign. */
  installation: 'skylab/installation',
  /** The op that made it. */
  op: 'skylab/op',
  managedBy: 'app.kubernetes.io/managed-by',
  component: 'app.kubernetes.io/component',
  argoInstance: 'argocd.argoproj.io/instance',
} as const

export const annotations = {
  /** The user's true name, which the slug may only resemble. */
  user: 'skylab/user',
  /** On the namespace: the view as JSON, from which the lab can be rebuilt. */
  record: 'skylab/record',
  /** On the namespace: by which the record is known to be ours. */
  recordMac: 'skylab/record-mac',
  argoCompareOptions: 'argocd.argoproj.io/compare-options',
  argoSyncOptions: 'argocd.argoproj.io/sync-options',
} as const

/**
 * The labels and annotations of a namespace or a pod that this program believes. The policy `skylab-reserved` lets only
 * the controller and administrators write these; the list stands in `k8s/base/policy.yaml` too.
 */
export const reserved: readonly string[] = [
  labels.installation,
  labels.op,
  annotations.user,
  annotations.record,
  annotations.recordMac,
]
