/** Joins the watches of tenants. */
import type { KubeClient } from '../../kube/client.ts'
import { Reflector } from '../../kube/reflector.ts'
import { WatchGroup } from '../../kube/watch-group.ts'
import { Sight } from '../../reconcile/sight.ts'
import type { Fact } from '../../reconcile/types.ts'
import type { TenantSettings } from '../../tenants/spec.ts'
import { projectionOf, type TenantSights, type TenantWatch, tenantWatches } from '../../tenants/watches.ts'
import { tenantLabels } from '../../tenants/words.ts'
import type { Basics } from '../basics.ts'

export function joinWatches({ clock, log }: Basics, client: KubeClient, { installation, tenants }: TenantSettings) {
  const names = Object.keys(tenantWatches) as TenantWatch[]
  const made = names.map(name => {
    const { apiVersion, kind, labelled } = tenantWatches[name]
    const project = projectionOf(name, tenants.labelPrefixes)
    const labelSelector = labelled ? `${tenantLabels.installation}=${installation}` : undefined
    const reflector = new Reflector<Fact>({ client, apiVersion, kind, labelSelector, project, clock, log })
    return [name, reflector, new Sight({ reflector, apiVersion, kind, project, clock })] as const
  })
  const reflectors = Object.fromEntries(made.map(([name, reflector]) => [name, reflector]))
  const sights = Object.fromEntries(made.map(([name, , sight]) => [name, sight]))
  return {
    group: new WatchGroup(reflectors as Record<TenantWatch, Reflector<Fact>>),
    sights: sights as unknown as TenantSights,
  }
}
