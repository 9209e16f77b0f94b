/** Cases of the alerts of containers on machines, as those of alerts.ts. */
import { ofDispatch, ofTenants, type Story, testsOf } from './alerts.ts'

const replicas = (values: readonly string[]) =>
  Object.fromEntries(values.map((each, i) => [ofDispatch(String(i)), each]))
const always = replicas(['1x120', '1x120', '1x120'])
const calls = (error: 0 | 1) =>
  `arvados_dispatchcloud_driver_operations{instance="a",operation="List",error="${error}"}`
const boots = (outcome: string) => `arvados_dispatchcloud_boot_outcomes{instance="a",outcome="${outcome}"}`
const waited = (replica: string) => `arvados_dispatchcloud_containers_longest_wait_time_seconds{instance="${replica}"}`
const atQuota = 'arvados_dispatchcloud_at_quota{instance="a"}'
const doubt = (replica: string) => `skylab_dispatch_in_doubt{instance="${replica}"}`
const leaks = (kind: string) => `skylab_dispatch_leaks_destroyed_total{instance="a",kind="${kind}"}`
const vanished = (state: string) => `arvados_dispatchcloud_instances_disappeared{instance="a",state="${state}"}`
const lag = 'skylab_dispatch_spool_lag_seconds{instance="a"}'

const opened = (kind: string) => `skylab_dispatch_tunnels_total{instance="a",kind="${kind}",result="opened"}`
const failed = (reason: string) => `skylab_dispatch_tunnel_failures_total{instance="a",reason="${reason}"}`
const open = (replica: string) => `skylab_dispatch_tunnels_open{instance="${replica}"}`

const stories: readonly Story[] = [
  { alert: 'SkylabDispatchDown', at: 5, series: { [ofTenants('a')]: '1x60' }, raised: true },
  { alert: 'SkylabDispatchDown', at: 5, series: always, raised: false },
  { alert: 'SkylabDispatchReplicasMissing', at: 30, series: replicas(['1x60', '1x60', '1x5']), raised: true },
  { alert: 'SkylabDispatchReplicasMissing', at: 30, series: always, raised: false },
  {
    ...{ alert: 'SkylabDispatchCloudAway', at: 30, raised: true },
    series: { ...always, [calls(1)]: '0x5 0+1x60', [calls(0)]: '0+1x5 5x60' },
  },
  {
    ...{ alert: 'SkylabDispatchCloudAway', at: 30, raised: false },
    series: { ...always, [calls(1)]: '0+1x60', [calls(0)]: '0+1x60' },
  },
  {
    ...{ alert: 'SkylabDispatchBootsFail', at: 70, raised: true },
    series: { ...always, [boots('failure')]: '0+0.1x120', [boots('success')]: '4x120' },
  },
  {
    ...{ alert: 'SkylabDispatchBootsFail', at: 70, raised: false },
    series: { ...always, [boots('failure')]: '0+0.1x120', [boots('success')]: '0+0.1x120' },
  },
  // Every replica reports the same value.
  {
    ...{ alert: 'SkylabDispatchWaitsLong', at: 90, raised: true },
    series: { ...always, [waited('a')]: '0+60x120', [waited('b')]: '0+60x120', [atQuota]: '0x120' },
  },
  {
    ...{ alert: 'SkylabDispatchWaitsLong', at: 90, raised: false },
    series: { ...always, [waited('a')]: '0+60x120', [atQuota]: '1x120' },
  },
  {
    ...{ alert: 'SkylabDispatchInDoubt', at: 45, raised: true },
    series: { ...always, [doubt('a')]: '0x5 1x60', [doubt('b')]: '0x5 1x60' },
  },
  // A machine that was away for a quarter of an hour.
  { alert: 'SkylabDispatchInDoubt', at: 45, series: { ...always, [doubt('a')]: '0x5 1x15 0x60' }, raised: false },
  {
    ...{ alert: 'SkylabDispatchMachinesVanish', at: 30, raised: true },
    series: { ...always, [vanished('running')]: '0+0.1x60', [vanished('idle')]: '0+0.1x60' },
  },
  {
    ...{ alert: 'SkylabDispatchMachinesVanish', at: 30, raised: false },
    series: { ...always, [vanished('running')]: '0x10 1x60', [vanished('shutdown')]: '0+1x60' },
  },
  {
    ...{ alert: 'SkylabDispatchAmountsNotWritten', at: 40, raised: true },
    series: { ...always, 'skylab_billing_amount_failures_total{reason="Unreachable"}': '0+1x60' },
  },
  {
    ...{ alert: 'SkylabDispatchAmountsNotWritten', at: 40, raised: true },
    series: { ...always, 'skylab_billing_amounts_total{result="refused"}': '0x20 1x40' },
  },
  {
    ...{ alert: 'SkylabDispatchAmountsNotWritten', at: 40, raised: false },
    series: { ...always, 'skylab_billing_amounts_total{result="sent"}': '0+1x60' },
  },
  { alert: 'SkylabDispatchLeaks', at: 30, series: { ...always, [leaks('instance')]: '1+1x60' }, raised: true },
  {
    ...{ alert: 'SkylabDispatchLeaks', at: 30, raised: false },
    series: { ...always, [leaks('nic')]: '1+1x60', [leaks('instance')]: '0x10 1x60' },
  },
  { alert: 'SkylabDispatchSpoolLags', at: 30, series: { ...always, [lag]: '0x5 0+60x60' }, raised: true },
  { alert: 'SkylabDispatchSpoolLags', at: 30, series: { ...always, [lag]: '20x60' }, raised: false },
  {
    ...{ alert: 'SkylabDispatchTunnelsFail', at: 40, raised: true },
    series: { ...always, [opened('port')]: '0+10x60', [opened('shell')]: '0+1x60', [failed('unreachable')]: '0+2x60' },
  },
  // One machine is away, among many; and all of them for a moment.
  {
    ...{ alert: 'SkylabDispatchTunnelsFail', at: 40, raised: false },
    series: {
      ...always,
      [opened('port')]: '0+100x60',
      [failed('unreachable')]: '0+2x60',
      [failed('refused')]: '0+90x60',
    },
  },
  {
    ...{ alert: 'SkylabDispatchTunnelsFail', at: 40, raised: false },
    series: { ...always, [opened('port')]: '0x10 5x60', [failed('unreachable')]: '0x10 4x60' },
  },
  {
    ...{ alert: 'SkylabDispatchTunnelsFull', at: 30, raised: true },
    series: { ...always, [open('a')]: '0x5 450x60', [open('b')]: '0x60' },
  },
  {
    ...{ alert: 'SkylabDispatchTunnelsFull', at: 30, raised: false },
    series: { ...always, [open('a')]: '0x5 300x60', [open('b')]: '300x60' },
  },
  { alert: 'SkylabDispatchStranger', at: 30, series: { ...always, [failed('stranger')]: '0x25 1x60' }, raised: true },
  { alert: 'SkylabDispatchStranger', at: 30, series: { ...always, [failed('refused')]: '0+1x60' }, raised: false },
]

export const dispatchAlertTests = testsOf(stories)
/** Alerts with a case that raises them. */
export const raisedDispatchAlerts: readonly string[] = stories.filter(({ raised }) => raised).map(({ alert }) => alert)
