/** Cases of alerts: series over time in the notation of `promtool test rules`, and the alerts that must fire. */

export interface Story {
  readonly alert: string
  /** Minutes after the start. */
  readonly at: number
  /** Series by name, with a value for each minute. */
  readonly series: Readonly<Record<string, string>>
  readonly raised: boolean
}

const creations = (result: string, kind = '') =>
  `skylab_operation_duration_seconds_count{kind="create",result="${result}"${kind}}`
const ofLabs = ',subject_kind="lab"'
const ofToys = ',subject_kind="toy"'
const readingsFailed = 'skylab_image_catalogue_refresh_duration_seconds_count{result="failed"}'
const failing = (replica: string) => `skylab_image_prepulls_failing{instance="${replica}"}`
const auditFailures = 'skylab_audit_write_failures_total'
const faults = (reason: string, replica = 'a') => `skylab_http_faults_total{instance="${replica}",reason="${reason}"}`
const refusals = (reason: string) => `skylab_kubernetes_refusals_total{instance="a",verb="create",reason="${reason}"}`
const replicas = (values: readonly string[]) =>
  Object.fromEntries(values.map((each, i) => [`skylab_build_info{instance="${i}",version="1",node="v24"}`, each]))
const inBoth = (name: string, first: string, second: string) => ({
  [`${name}{namespace="first"}`]: first,
  [`${name}{namespace="second"}`]: second,
})
const here = 'skylab_build_info{version="1",node="v24"}'
const serving = (what: string) => (instance: string) =>
  `skylab_build_info{instance="${instance}",version="1",node="v24",run="${what}"}`
/** A replica that serves tenants. */
export const ofTenants = serving('tenants')
/** A replica that stops notebooks. */
export const ofNotebooks = serving('notebooks')
/** A replica that serves apps. */
export const ofApps = serving('apps')
/** A replica that serves containers on machines. */
export const ofDispatch = serving('dispatch')
const always = { [here]: '1x120' }

const stories: readonly Story[] = [
  { alert: 'SkylabDown', at: 5, series: {}, raised: true },
  { alert: 'SkylabDown', at: 5, series: always, raised: false },
  // Replicas that serve tenants or stop notebooks are no replicas of labs.
  { alert: 'SkylabDown', at: 5, series: { [ofTenants('1')]: '1x60', [ofNotebooks('2')]: '1x60' }, raised: true },
  {
    ...{ alert: 'SkylabReplicasMissing', at: 30, raised: true },
    series: { ...always, [ofTenants('1')]: '1x60', [ofDispatch('2')]: '1x60', [ofNotebooks('3')]: '1x60' },
  },
  {
    ...{ alert: 'SkylabRedisAway', at: 5, raised: false },
    series: { ...always, [ofTenants('1')]: '1x60', 'skylab_redis_connected{instance="1"}': '0x60' },
  },
  { alert: 'SkylabRedisAway', at: 5, series: { ...always, skylab_redis_connected: '1 1 0x10' }, raised: true },
  { alert: 'SkylabRedisAway', at: 5, series: { ...always, skylab_redis_connected: '1 1 0 1x10' }, raised: false },
  {
    ...{ alert: 'SkylabOperationsUnowned', at: 6, raised: true },
    series: { ...always, skylab_operations_longest_wait_seconds: '0 0 60+60x10' },
  },
  { alert: 'SkylabOperationsOverdue', at: 6, series: { ...always, skylab_operations_overdue: '0 1x10' }, raised: true },
  {
    ...{ alert: 'SkylabSpawnsFail', at: 20, raised: true },
    series: { ...always, [creations('failed')]: '0+1x30', [creations('complete')]: '0+3x30' },
  },
  {
    ...{ alert: 'SkylabSpawnsFail', at: 20, raised: true },
    series: { ...always, [creations('failed', ofLabs)]: '0+1x30', [creations('complete', ofLabs)]: '0+3x30' },
  },
  {
    ...{ alert: 'SkylabSpawnsFail', at: 20, raised: false },
    series: { ...always, [creations('failed', ofToys)]: '0+1x30', [creations('complete', ofToys)]: '0+3x30' },
  },
  {
    ...{ alert: 'SkylabSpawnsFail', at: 20, raised: false },
    series: { ...always, [creations('failed')]: '0+1x30', [creations('complete')]: '0+30x30' },
  },
  {
    ...{ alert: 'SkylabCompareStale', at: 60, raised: true },
    series: { ...always, skylab_compare_last_success_timestamp_seconds: '60x120' },
  },
  {
    ...{ alert: 'SkylabCompareStale', at: 60, raised: false },
    series: { ...always, skylab_compare_last_success_timestamp_seconds: '0+60x120' },
  },
  // A healthy installation does not hide an unhealthy one.
  {
    ...{ alert: 'SkylabCompareStale', at: 60, raised: true },
    series: inBoth('skylab_compare_last_success_timestamp_seconds', '0+60x120', '60x120'),
  },
  {
    ...{ alert: 'SkylabReplicasMissing', at: 30, raised: true },
    series: Object.fromEntries(
      ['1', '2', '3', '4'].map(i => [
        `skylab_build_info{namespace="${i === '4' ? 'second' : 'first'}",instance="${i}"}`,
        '1x60',
      ]),
    ),
  },
  {
    ...{ alert: 'SkylabImagesStale', at: 45, raised: true },
    series: { ...always, skylab_image_catalogue_age_seconds: '0+60x60' },
  },
  {
    ...{ alert: 'SkylabImagesStale', at: 20, raised: true },
    series: { ...always, [readingsFailed]: '0+6x60' },
  },
  {
    ...{ alert: 'SkylabImagesStale', at: 20, raised: false },
    series: { ...always, [readingsFailed]: '0+6x60', skylab_image_catalogue_age_seconds: '0+60x60' },
  },
  {
    ...{ alert: 'SkylabImagesStale', at: 45, raised: false },
    series: { ...always, skylab_image_catalogue_age_seconds: '0+60x38 0x20' },
  },
  { alert: 'SkylabAuditFails', at: 10, series: { ...always, [auditFailures]: '0x5 1x60' }, raised: true },
  { alert: 'SkylabAuditFails', at: 10, series: { ...always, [auditFailures]: '0x60' }, raised: false },
  {
    ...{ alert: 'SkylabPrepullsFail', at: 40, raised: true },
    series: { ...always, [failing('a')]: '0 1x15 0x60', [failing('b')]: '0x17 1x60' },
  },
  {
    ...{ alert: 'SkylabPrepullsFail', at: 25, raised: false },
    series: { ...always, [failing('a')]: '0 1x20 0x60', [failing('b')]: '0x60' },
  },
  // The first error of a replica must count: a series that starts with it would hide it.
  { alert: 'SkylabErrors', at: 15, series: { ...always, [faults('defect')]: '0x10 1x30' }, raised: true },
  {
    ...{ alert: 'SkylabErrors', at: 15, raised: false },
    series: { ...always, [faults('defect')]: '0x30', [faults('misconfigured')]: '0x10 1x30' },
  },
  { alert: 'SkylabErrors', at: 40, series: { ...always, [faults('defect')]: '0x10 1x60' }, raised: false },
  {
    ...{ alert: 'SkylabMisconfigured', at: 15, raised: true },
    series: { ...always, [faults('misconfigured', 'a')]: '0x30', [faults('misconfigured', 'b')]: '0x12 1x30' },
  },
  {
    ...{ alert: 'SkylabMisconfigured', at: 15, raised: false },
    series: { ...always, [faults('misconfigured')]: '0x30', [faults('defect')]: '0x10 1x30' },
  },
  {
    ...{ alert: 'SkylabRightsMissing', at: 10, raised: true },
    series: { ...always, skylab_kubernetes_rights_missing: '0x3 2x30' },
  },
  {
    ...{ alert: 'SkylabRightsMissing', at: 10, raised: false },
    series: { ...always, skylab_kubernetes_rights_missing: '0x3 2 0x30', [refusals('rights')]: '0x3 10x30' },
  },
  {
    ...{ alert: 'SkylabRightsMissing', at: 15, raised: true },
    series: { ...always, skylab_kubernetes_rights_missing: '0x60', [refusals('rights')]: '0x3 0+12x40' },
  },
  // Quotas that are not counted yet, ServiceAccounts that do not exist yet.
  {
    ...{ alert: 'SkylabRightsMissing', at: 30, raised: false },
    series: { ...always, skylab_kubernetes_rights_missing: '0x60', [refusals('other')]: '0+12x60' },
  },
  { alert: 'SkylabRefused', at: 30, series: { ...always, [refusals('policy')]: '0+12x60' }, raised: true },
  { alert: 'SkylabRefused', at: 30, series: { ...always, [refusals('other')]: '0+1x60' }, raised: false },
  { alert: 'SkylabReplicasMissing', at: 30, series: replicas(['1x60', '1x60', '1x5']), raised: true },
  { alert: 'SkylabReplicasMissing', at: 20, series: replicas(['1x60', '1x60', '1x60']), raised: false },
  {
    ...{ alert: 'SkylabReplicasMissing', at: 30, raised: false },
    series: replicas(['1x60', '1x60', '1x10 _x5 1x50']),
  },
]

/** The `tests:` of a file for promtool. Only the firing is checked; labels and texts of alerts are not. */
export const testsOf = (told: readonly Story[]) =>
  told.map(({ alert, at, series, raised }) => ({
    name: `${alert}${raised ? '' : ' is silent'}`,
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: `count(ALERTS{alertname="${alert}",alertstate="firing"})`,
        eval_time: `${at}m`,
        exp_samples: raised ? [{ labels: '{}', value: 1 }] : [],
      },
    ],
  }))

export const alertTests = testsOf(stories)

/**
 * A test for promtool of an expression over numbers of the whole installation, while a replica of the release before, whose
 * series have no `subject_kind`, and one of this release are scraped: both report 5.
 */
export const rolloutTest = (expr: string, metric: string, labels = '') => ({
  name: `${metric} in a rollout`,
  interval: '1m',
  input_series: ['instance="before"', 'instance="now",subject_kind="lab"'].map(replica => ({
    series: `${metric}{${[replica, labels].filter(text => text !== '').join()}}`,
    values: '5x10',
  })),
  promql_expr_test: [{ expr, eval_time: '5m', exp_samples: [{ labels: `{${labels}}`, value: 5 }] }],
})
