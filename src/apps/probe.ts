/** The request by which the policy of apps is found to be in force: it must be refused. Pure. */
import type { KubeObject } from '../base/domain.ts'
import { appLabelValue } from './words.ts'

/** The policy; its binding has the same name. */
export const appPolicy = 'skylab-apps'
/** Name of the ServiceAccount of apps. */
export const appsAccount = 'skylab-apps'

/** A Deployment of nobody, in the controller's own namespace; never made, since it is asked for as a dry run. */
export const appProbe = (ownNamespace: string): KubeObject => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
  metadata: { name: 'policy-probe-of-apps', namespace: ownNamespace },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: appLabelValue } },
    template: {
      metadata: { labels: { app: appLabelValue } },
      spec: { containers: [{ name: 'probe', image: 'probe' }] },
    },
  },
})
