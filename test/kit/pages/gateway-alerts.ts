/** Cases of the alerts of the gateway, as those of alerts.ts. */
import { type Story, testsOf } from './alerts.ts'

const up = { 'skylab_build_info{run="gateway"}': '1x60' }
const rechecks = (result: string) => `skylab_gateway_rechecks_total{instance="a",result="${result}"}`
const logins = (result: string) => `skylab_gateway_logins_total{instance="a",result="${result}"}`

const stories: readonly Story[] = [
  { alert: 'SkylabGatewayDown', at: 5, series: { 'skylab_build_info{run="labs"}': '1x60' }, raised: true },
  { alert: 'SkylabGatewayDown', at: 5, series: up, raised: false },
  {
    ...{ alert: 'SkylabGatewayIdentityAway', at: 8, raised: true },
    series: { ...up, [rechecks('silent')]: '0x4 1+5x20', [rechecks('same')]: '0+1x4 4x30' },
  },
  // Of one login, whose answer cannot be used.
  {
    ...{ alert: 'SkylabGatewayIdentityAway', at: 20, raised: false },
    series: { ...up, [rechecks('silent')]: '0+5x60', [rechecks('same')]: '0+1x60' },
  },
  {
    ...{ alert: 'SkylabGatewayLoginsFail', at: 30, raised: true },
    series: { ...up, [logins('denied')]: '0+1x60', [logins('in')]: '7x60' },
  },
  {
    ...{ alert: 'SkylabGatewayLoginsFail', at: 30, raised: false },
    series: { ...up, [logins('denied')]: '0+1x60', [logins('in')]: '0+0.2x60' },
  },
]

export const gatewayAlertTests = testsOf(stories)
/** Alerts with a case that raises them. */
export const raisedGatewayAlerts: readonly string[] = stories.filter(({ raised }) => raised).map(({ alert }) => alert)
