/** Cases of the alerts of idle labs, as those of alerts.ts. */
import { ofTenants, type Story, testsOf } from './alerts.ts'

const lane = (name: string, kind = 'lab', replica = 'a') =>
  `skylab_idle_lane_workloads{instance="${replica}",kind="${kind}",lane="${name}"}`
const lanes = (fast: string, slow: string, kind = 'lab') => ({
  [lane('fast', kind)]: fast,
  [lane('slow', kind)]: slow,
  // Every replica reports the same values.
  [lane('fast', kind, 'b')]: fast,
  [lane('slow', kind, 'b')]: slow,
})
const held = (cause: string) => `skylab_idle_holds_total{instance="a",cause="${cause}"}`
const late = (bound: string) => `skylab_idle_check_lateness_seconds_bucket{instance="a",kind="lab",le="${bound}"}`
const lateness = (within: string, all: string) => ({
  [late('20')]: within,
  [late('60')]: within,
  [late('300')]: all,
  [late('+Inf')]: all,
})
const checks = (result: string, kind = 'lab', replica = 'a') =>
  `skylab_idle_checks_total{instance="${replica}",kind="${kind}",result="${result}"}`

const stories: readonly Story[] = [
  { alert: 'SkylabIdleUnknown', at: 30, series: lanes('75x60', '25x60'), raised: true },
  { alert: 'SkylabIdleUnknown', at: 30, series: lanes('85x60', '15x60'), raised: false },
  // One lab that hangs of two says nothing.
  { alert: 'SkylabIdleUnknown', at: 30, series: lanes('1x60', '1x60'), raised: false },
  // A kind that answers does not hide another one.
  {
    ...{ alert: 'SkylabIdleUnknown', at: 30, raised: true },
    series: { ...lanes('0x60', '30x60'), ...lanes('900x60', '0x60', 'notebook') },
  },
  {
    ...{ alert: 'SkylabIdleUnknown', at: 30, raised: true },
    series: { ...lanes('900x60', '0x60'), ...lanes('20x60', '10x60', 'notebook') },
  },
  // A network that was away for a few minutes.
  { alert: 'SkylabIdleUnknown', at: 22, series: lanes('100x15 20x8 100x60', '0x15 80x8 0x60'), raised: false },
  { alert: 'SkylabIdleHeld', at: 30, series: { [held('fuse')]: '0x5 0+20x60' }, raised: true },
  // A hundred that were idle at once are stopped in five minutes.
  { alert: 'SkylabIdleHeld', at: 14, series: { [held('fuse')]: '0x5 0+80x5 400x60' }, raised: false },
  { alert: 'SkylabIdleHeld', at: 30, series: { [held('watch')]: '0+20x60', [held('fuse')]: '0x60' }, raised: false },
  { alert: 'SkylabIdleChecksLate', at: 30, series: lateness('0+980x60', '0+1000x60'), raised: true },
  { alert: 'SkylabIdleChecksLate', at: 30, series: lateness('0+995x60', '0+1000x60'), raised: false },
  // All replicas were away for a moment.
  ...[19, 30].map(at => ({
    ...{ alert: 'SkylabIdleChecksLate', at, raised: false },
    series: lateness('0+100x15 1500+100x60', '0+100x15 1900+100x60'),
  })),
  { alert: 'SkylabIdleClockStepped', at: 15, series: { [held('clock')]: '0x10 1x30' }, raised: true },
  { alert: 'SkylabIdleClockStepped', at: 40, series: { [held('clock')]: '0x10 1x60' }, raised: false },
  {
    alert: 'SkylabIdleClockStepped',
    at: 15,
    series: { [held('fuse')]: '0x10 1x30', [held('clock')]: '0x60' },
    raised: false,
  },
  {
    ...{ alert: 'SkylabIdleChecksStopped', at: 45, raised: true },
    series: { ...lanes('40x60', '0x60'), [checks('seen')]: '0+8x15 120x60', [checks('failed')]: '0+8x60' },
  },
  // Another replica has all the work.
  {
    ...{ alert: 'SkylabIdleChecksStopped', at: 45, raised: false },
    series: { ...lanes('40x60', '0x60'), [checks('seen')]: '0x60', [checks('seen', 'lab', 'b')]: '0+8x60' },
  },
  // Nothing runs, so nothing is checked.
  {
    ...{ alert: 'SkylabIdleChecksStopped', at: 45, raised: false },
    series: { ...lanes('0x60', '0x60'), [checks('seen')]: '0x60' },
  },
  {
    ...{ alert: 'SkylabIdleChecksStopped', at: 45, raised: false },
    series: { ...lanes('0x60', '7x60'), [checks('seen')]: '0x60', [checks('denied')]: '0+1x60' },
  },
  // Where `idle` is off there are no such series.
  ...['Unknown', 'Held', 'ChecksLate', 'ClockStepped', 'ChecksStopped'].map(name => ({
    ...{ alert: `SkylabIdle${name}`, at: 45, raised: false },
    series: { [ofTenants('a')]: '1x60' },
  })),
]

export const idleAlertTests = testsOf(stories)
/** Alerts with a case that raises them. */
export const raisedIdleAlerts: readonly string[] = stories.filter(({ raised }) => raised).map(({ alert }) => alert)
