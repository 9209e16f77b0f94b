/** Cases of the alerts of tenants, as those of alerts.ts. */
import { ofTenants, type Story, testsOf } from './alerts.ts'

const replicas = (values: readonly string[]) =>
  Object.fromEntries(values.map((each, i) => [ofTenants(String(i)), each]))
const always = replicas(['1x60', '1x60', '1x60'])
const reactions = (all: string, withinASecond: string, kind = 'tenant') => ({
  ...always,
  [`skylab_reconcile_reaction_seconds_count{instance="a",kind="${kind}"}`]: all,
  [`skylab_reconcile_reaction_seconds_bucket{instance="a",kind="${kind}",le="1"}`]: withinASecond,
})
const overdue = (replica: string) => `skylab_tenant_sudo_overdue{instance="${replica}"}`
const active = (replica: string) => `skylab_tenant_policy_active{instance="${replica}"}`
const unvetted = (replica: string) => `skylab_vet_differences{instance="${replica}"}`
const contended = (kind: string) => `skylab_reconcile_contended{instance="a",kind="${kind}"}`
const queued = (replica: string) => `skylab_reconcile_queue_depth{instance="${replica}",kind="tenant"}`
const counted = (condition: string) => `skylab_tenants{instance="a",condition="${condition}"}`
const oldest = (replica: string) => `skylab_billing_oldest_seconds{instance="${replica}"}`
const compares = (result: string) => `skylab_billing_compares_total{instance="a",driver="postgres",result="${result}"}`
const bills = (result: string) => `skylab_billing_bills_total{instance="a",driver="postgres",result="${result}"}`

const stories: readonly Story[] = [
  { alert: 'SkylabTenantsDown', at: 5, series: { 'skylab_build_info{run="labs"}': '1x60' }, raised: true },
  { alert: 'SkylabTenantsDown', at: 5, series: always, raised: false },
  { alert: 'SkylabTenantsReplicasMissing', at: 30, series: replicas(['1x60', '1x60', '1x5']), raised: true },
  { alert: 'SkylabTenantsReplicasMissing', at: 30, series: always, raised: false },
  { alert: 'SkylabTenantEditsSlow', at: 30, series: reactions('0+100x60', '0+98x60'), raised: true },
  { alert: 'SkylabTenantEditsSlow', at: 30, series: reactions('0+1x60', '0x60', 'sudoer'), raised: true },
  { alert: 'SkylabTenantEditsSlow', at: 30, series: reactions('0+1000x60', '0+999x60'), raised: false },
  // One slow edit of few says nothing.
  { alert: 'SkylabTenantEditsSlow', at: 30, series: reactions('0x20 1x40', '0x60'), raised: false },
  // Another kind has objectives of its own.
  { alert: 'SkylabTenantEditsSlow', at: 30, series: reactions('0+100x60', '0x60', 'toy'), raised: false },
  {
    ...{ alert: 'SkylabTenantSudoOverdue', at: 10, raised: true },
    series: { ...always, [overdue('a')]: '0x5 1x20', [overdue('b')]: '0x5 1x20' },
  },
  {
    ...{ alert: 'SkylabTenantSudoOverdue', at: 10, raised: false },
    series: { ...always, [overdue('a')]: '0x8 1 0x20', [overdue('b')]: '0x60' },
  },
  {
    ...{ alert: 'SkylabTenantPoliciesInactive', at: 20, raised: true },
    series: { ...always, [active('a')]: '1x5 0x20', [active('b')]: '1x60' },
  },
  { alert: 'SkylabTenantPoliciesInactive', at: 20, series: { ...always, [active('a')]: '1x60' }, raised: false },
  { alert: 'SkylabTenantsUnvetted', at: 30, series: { ...always, [unvetted('a')]: '0x5 2x60' }, raised: true },
  { alert: 'SkylabTenantsUnvetted', at: 30, series: { ...always, [unvetted('a')]: '2x5 0x60' }, raised: false },
  { alert: 'SkylabTenantsContended', at: 20, series: { ...always, [contended('sudoer')]: '0x5 1x20' }, raised: true },
  { alert: 'SkylabTenantsContended', at: 20, series: { ...always, [contended('tenant')]: '0x60' }, raised: false },
  { alert: 'SkylabTenantsQueued', at: 30, series: { ...always, [queued('b')]: '0x5 500x60' }, raised: true },
  // A thousand creations at once are done in a minute.
  { alert: 'SkylabTenantsQueued', at: 30, series: { ...always, [queued('a')]: '0x25 900 0x60' }, raised: false },
  {
    ...{ alert: 'SkylabTenantsNotReady', at: 30, raised: true },
    series: { ...always, [counted('Accepted')]: '8x60', [counted('Ready')]: '8x5 7x60', [counted('Exists')]: '9x60' },
  },
  // The author of a refused LNamespace has to mend it.
  {
    ...{ alert: 'SkylabTenantsNotReady', at: 30, raised: false },
    series: { ...always, [counted('Accepted')]: '8x60', [counted('Ready')]: '8x60', [counted('Exists')]: '9x60' },
  },
  // Another replica takes over in the middle.
  {
    ...{ alert: 'SkylabBillsLate', at: 40, raised: true },
    series: { ...always, [oldest('a')]: '0x5 60+60x20 _x40', [oldest('b')]: '_x27 1380+60x40' },
  },
  { alert: 'SkylabBillsLate', at: 30, series: { ...always, [oldest('a')]: '0x5 60+60x8 0x40' }, raised: false },
  { alert: 'SkylabBillsRefused', at: 30, series: { ...always, [bills('refused')]: '0x5 1x60' }, raised: true },
  { alert: 'SkylabBillsRefused', at: 30, series: { ...always, [bills('closed')]: '0x5 0+1x60' }, raised: true },
  // What is older than what stands is as it should be.
  { alert: 'SkylabBillsRefused', at: 30, series: { ...always, [bills('older')]: '0+1x60' }, raised: false },
  { alert: 'SkylabBillsNotCompared', at: 40, series: { ...always, [compares('failed')]: '0+0.2x60' }, raised: true },
  { alert: 'SkylabBillsNotCompared', at: 40, series: { ...always, [compares('different')]: '0+1x60' }, raised: false },
  // A database that was away once.
  { alert: 'SkylabBillsNotCompared', at: 40, series: { ...always, [compares('failed')]: '0x20 1x40' }, raised: false },
]

export const tenantAlertTests = testsOf(stories)
/** Alerts with a case that raises them. */
export const raisedTenantAlerts: readonly string[] = stories.filter(({ raised }) => raised).map(({ alert }) => alert)
