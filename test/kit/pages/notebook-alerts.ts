/** Cases of the alerts of notebooks, as those of alerts.ts. */
import { ofNotebooks, ofTenants, type Story, testsOf } from './alerts.ts'

const always = { [ofNotebooks('a')]: '1x120', [ofNotebooks('b')]: '1x120' }

const active = (replica: string) => `skylab_notebook_policy_active{instance="${replica}"}`

const stories: readonly Story[] = [
  { alert: 'SkylabNotebooksDown', at: 20, series: { [ofTenants('a')]: '1x60' }, raised: true },
  { alert: 'SkylabNotebooksDown', at: 20, series: always, raised: false },
  { alert: 'SkylabNotebooksReplicasMissing', at: 60, series: { ...always, [ofNotebooks('b')]: '1x5' }, raised: true },
  { alert: 'SkylabNotebooksReplicasMissing', at: 60, series: always, raised: false },
  {
    ...{ alert: 'SkylabNotebooksPolicyInactive', at: 20, raised: true },
    series: { ...always, [active('a')]: '1x5 0x20', [active('b')]: '1x60' },
  },
  { alert: 'SkylabNotebooksPolicyInactive', at: 20, series: { ...always, [active('a')]: '1x60' }, raised: false },
]

export const notebookAlertTests = testsOf(stories)
/** Alerts with a case that raises them. */
export const raisedNotebookAlerts: readonly string[] = stories.filter(({ raised }) => raised).map(({ alert }) => alert)
