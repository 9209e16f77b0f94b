/** Cases of the alerts of notebooks, as those of alerts.ts. */
import { ofNotebooks, ofTenants, type Story, testsOf } from './alerts.ts'

const always = { [ofNotebooks('a')]: '1x120', [ofNotebooks('b')]: '1x120' }
const workloads = (instance: string, state: string, kind = 'notebook') =>
  `skylab_idle_workloads{instance="${instance}",kind="${kind}",state="${state}"}`
const held = (instance: string, cause = 'fuse') => `skylab_idle_holds_total{instance="${instance}",cause="${cause}"}`

const stories: readonly Story[] = [
  { alert: 'SkylabNotebooksDown', at: 20, series: { [ofTenants('a')]: '1x60' }, raised: true },
  { alert: 'SkylabNotebooksDown', at: 20, series: always, raised: false },
  { alert: 'SkylabNotebooksReplicasMissing', at: 60, series: { ...always, [ofNotebooks('b')]: '1x5' }, raised: true },
  { alert: 'SkylabNotebooksReplicasMissing', at: 60, series: always, raised: false },
  {
    ...{ alert: 'SkylabNotebooksUnknown', at: 60, raised: true },
    series: { ...always, [workloads('a', 'unknown')]: '3x120', [workloads('a', 'active')]: '9x120' },
  },
  // Two replicas report the same workloads: they are counted once.
  {
    ...{ alert: 'SkylabNotebooksUnknown', at: 60, raised: false },
    series: {
      ...always,
      ...{ [workloads('a', 'unknown')]: '2x120', [workloads('b', 'unknown')]: '2x120' },
      ...{ [workloads('a', 'active')]: '9x120', [workloads('b', 'active')]: '9x120' },
    },
  },
  // Labs have objectives of their own.
  {
    ...{ alert: 'SkylabNotebooksUnknown', at: 60, raised: false },
    series: { ...always, [workloads('a', 'unknown', 'lab')]: '9x120', [workloads('a', 'active', 'lab')]: '1x120' },
  },
  { alert: 'SkylabNotebookStopsHeld', at: 20, series: { ...always, [held('a')]: '0x10 1x60' }, raised: true },
  { alert: 'SkylabNotebookStopsHeld', at: 20, series: { ...always, [held('a', 'clock')]: '0x10 1x60' }, raised: false },
  // A replica of labs.
  { alert: 'SkylabNotebookStopsHeld', at: 20, series: { ...always, [held('lab')]: '0x10 1x60' }, raised: false },
]

export const notebookAlertTests = testsOf(stories)
/** Alerts with a case that raises them. */
export const raisedNotebookAlerts: readonly string[] = stories.filter(({ raised }) => raised).map(({ alert }) => alert)
