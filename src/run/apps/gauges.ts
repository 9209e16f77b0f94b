/** The gauges of a process that serves apps. */

import { countApps } from '../../apps/census.ts'
import type { AppWorld } from '../../apps/world.ts'
import type { TenantFollower } from '../../appwork/tenants.ts'
import type { AdmissionWatch } from '../../kube/policies/watch.ts'
import { createAppGauges } from '../../telemetry/app-gauges.ts'
import { createProcessGauges } from '../../telemetry/gauges.ts'
import { forgetLabs } from '../../telemetry/metrics.ts'
import { type Basics, version } from '../basics.ts'
import type { joinKube } from '../kube.ts'
import type { AppAccess } from './leases.ts'
import type { joinWatches } from './watches.ts'

interface Parts {
  readonly basics: Basics
  readonly kube: ReturnType<typeof joinKube>['kube']
  readonly access: AppAccess
  readonly watches: ReturnType<typeof joinWatches>
  readonly policies: AdmissionWatch
  readonly tenants: TenantFollower
  readonly world: AppWorld
}

export function addGauges({ basics, kube, access, watches, policies, tenants, world }: Parts): void {
  const { registry } = basics.metrics
  forgetLabs(registry)
  createProcessGauges(registry, {
    version,
    run: basics.config.run.join(),
    redisConnected: () => access.connection.connected(),
    watchSilenceMs: () => {
      const ofTenants = tenants.silenceMs()
      return { ...watches.group.lastWordAgeMs(), ...(ofTenants !== undefined && { lnamespaces: ofTenants }) }
    },
    kubernetesLoad: () => kube.load(),
  })
  createAppGauges(registry, { apps: () => countApps(world), policyActive: () => policies.active })
}
