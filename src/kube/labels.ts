/** The labels and annotations by which our objects are recognized. Pure. */
import { createHash } from 'node:crypto'

export const labels = {
  /** The installation that made the object; an object with another value is foreign. */
  installation: 'skylab/installation',
  /** The op that made it. */
  op: 'skylab/op',
  managedBy: 'app.kubernetes.io/managed-by',
  component: 'app.kubernetes.io/component',
  argoInstance: 'argocd.argoproj.io/instance',
} as const

/** On every pod of an app (seed 001, "Controller"). */
export const appPods = { app: 'primehub-app' } as const

/**
 * On the pod of a lab whose user is in this group: apps of the group let it in. Any text is the name of a group, and none of
 * them fits a label. It counts only in the namespace of a lab, where the controller alone makes pods.
 */
export const groupKey = (group: string): string =>
  `group.skylab/${createHash('sha256').update(group, 'utf8').digest('hex').slice(0, 40)}`

export const annotations = {
  /** The user name itself, which the slug may only resemble. */
  user: 'skylab/user',
  /** On the namespace: the view as JSON, from which the lab's record can be rebuilt. */
  record: 'skylab/record',
  /** On the namespace: proves that the record is ours. */
  recordMac: 'skylab/record-mac',
  /** On the pod: the name of the lab's size. Only of an installation that stops idle labs: its rules match sizes. */
  size: 'skylab/size',
  argoCompareOptions: 'argocd.argoproj.io/compare-options',
  argoSyncOptions: 'argocd.argoproj.io/sync-options',
} as const

/** The annotations of what the idle engine watches: on a lab's pod, or on the object of another kind. */
export const stamps = {
  /** RFC 3339. Its presence means that it is stopped, or is to be. People may write it. */
  stopped: 'kubeflow-resource-stopped',
  /** RFC 3339: the latest activity. */
  lastActivity: 'notebooks.kubeflow.org/last-activity',
  /** RFC 3339: the last look. */
  checked: 'notebooks.kubeflow.org/last_activity_check_timestamp',
  /** RFC 3339: until when it is kept on request. */
  keepUntil: 'user.skylab/keep-until',
} as const

/** The only change of a pod that the policy `skylab` permits the controller; `k8s/base/policy.yaml` repeats the list. */
export const stampKeys: readonly string[] = Object.values(stamps)

/** A time as the value of a stamp: in UTC, to the second. */
export const stampOf = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')

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
  annotations.size,
]
