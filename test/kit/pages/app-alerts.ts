/** Cases of the alerts of apps, as those of alerts.ts. */
import { ofApps, type Story, testsOf } from './alerts.ts'

const replicas = (values: readonly string[]) => Object.fromEntries(values.map((each, i) => [ofApps(String(i)), each]))
const always = replicas(['1x60', '1x60', '1x60'])
const reactions = (all: string, withinASecond: string, kind = 'app') => ({
  ...always,
  [`skylab_reconcile_reaction_seconds_count{instance="a",kind="${kind}"}`]: all,
  [`skylab_reconcile_reaction_seconds_bucket{instance="a",kind="${kind}",le="1"}`]: withinASecond,
})
const active = (replica: string) => `skylab_app_policy_active{instance="${replica}"}`
const pending = (replica: string) => `skylab_app_conditions{instance="${replica}",condition="RoutesPending"}`
const contended = (kind: string) => `skylab_reconcile_contended{instance="a",kind="${kind}"}`
const queued = (replica: string) => `skylab_reconcile_queue_depth{instance="${replica}",kind="app"}`

const logs = (ending: string) => `skylab_log_streams_total{instance="a",ending="${ending}"}`

const stories: readonly Story[] = [
  { alert: 'SkylabAppsDown', at: 5, series: { 'skylab_build_info{run="labs"}': '1x60' }, raised: true },
  { alert: 'SkylabAppsDown', at: 5, series: always, raised: false },
  { alert: 'SkylabAppsReplicasMissing', at: 30, series: replicas(['1x60', '1x60', '1x5']), raised: true },
  { alert: 'SkylabAppsReplicasMissing', at: 30, series: always, raised: false },
  { alert: 'SkylabAppEditsSlow', at: 30, series: reactions('0+100x60', '0+98x60'), raised: true },
  { alert: 'SkylabAppEditsSlow', at: 30, series: reactions('0+1x60', '0x60', 'members'), raised: true },
  { alert: 'SkylabAppEditsSlow', at: 30, series: reactions('0+1000x60', '0+999x60'), raised: false },
  // Another kind has objectives of its own.
  { alert: 'SkylabAppEditsSlow', at: 30, series: reactions('0+100x60', '0x60', 'tenant'), raised: false },
  {
    ...{ alert: 'SkylabAppPolicyInactive', at: 20, raised: true },
    series: { ...always, [active('a')]: '1x5 0x20', [active('b')]: '1x60' },
  },
  { alert: 'SkylabAppPolicyInactive', at: 20, series: { ...always, [active('a')]: '1x60' }, raised: false },
  { alert: 'SkylabAppRoutesPending', at: 20, series: { ...always, [pending('a')]: '0x5 3x20' }, raised: true },
  { alert: 'SkylabAppRoutesPending', at: 20, series: { ...always, [pending('a')]: '0x18 1 0x20' }, raised: false },
  { alert: 'SkylabAppsContended', at: 20, series: { ...always, [contended('quota')]: '0x5 1x20' }, raised: true },
  { alert: 'SkylabAppsContended', at: 20, series: { ...always, [contended('app')]: '0x60' }, raised: false },
  { alert: 'SkylabAppsQueued', at: 30, series: { ...always, [queued('b')]: '0x5 500x60' }, raised: true },
  {
    ...{ alert: 'SkylabAppLogsFail', at: 30, raised: true },
    series: { ...always, [logs('failed')]: '0+1x60', [logs('complete')]: '0+9x60' },
  },
  {
    ...{ alert: 'SkylabAppLogsFail', at: 30, raised: false },
    series: { ...always, [logs('failed')]: '0+1x60', [logs('complete')]: '0+30x60' },
  },
  // Containers that have no log yet.
  {
    ...{ alert: 'SkylabAppLogsFail', at: 30, raised: false },
    series: { ...always, [logs('failed')]: '0x20 2x60', [logs('refused')]: '0+9x60' },
  },
  // Many creations at once are done in a minute.
  { alert: 'SkylabAppsQueued', at: 30, series: { ...always, [queued('a')]: '0x25 900 0x60' }, raised: false },
]

export const appAlertTests = testsOf(stories)
/** Alerts with a case that raises them. */
export const raisedAppAlerts: readonly string[] = stories.filter(({ raised }) => raised).map(({ alert }) => alert)
