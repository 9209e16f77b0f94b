/** Joins the watches of apps and of the quotas of their groups. */
import { type QuotaSights, quotaWatches } from '../../apps/quotas.ts'
import { type AppSights, type AppWatch, appWatches, projectionOf, type WatchedKind } from '../../apps/watches.ts'
import type { KubeObject } from '../../base/domain.ts'
import type { KubeClient } from '../../kube/client.ts'
import { Reflector, type ReflectorTimes } from '../../kube/reflector.ts'
import { WatchGroup } from '../../kube/watch-group.ts'
import { factOf } from '../../reconcile/facts.ts'
import { Sight } from '../../reconcile/sight.ts'
import type { Fact } from '../../reconcile/types.ts'
import type { Basics } from '../basics.ts'

/** Times of watches for the idle engine: it stops nobody by a watch that was silent for 10 s. */
const idleTimes: Partial<ReflectorTimes> = { watchTimeoutMs: 6_000 }

/** A watch as a sight of the engine. */
export function joinSight(
  { clock, log }: Pick<Basics, 'clock' | 'log'>,
  client: KubeClient,
  { apiVersion, kind, selector, namespace, paths }: WatchedKind,
  project: (object: KubeObject) => Fact = object => factOf(object, paths),
  times: Partial<ReflectorTimes> = {},
) {
  const reflector = new Reflector<Fact>({
    ...{ client, apiVersion, kind, namespace, labelSelector: selector, project, times, clock, log },
  })
  return { reflector, sight: new Sight({ reflector, apiVersion, kind, project, clock }) }
}

export function joinWatches(basics: Basics, client: KubeClient) {
  const names = Object.keys(appWatches) as AppWatch[]
  const timesOf = (name: AppWatch) =>
    basics.config.idle.enabled && (name === 'applications' || name === 'pods') ? idleTimes : {}
  const ofApps = names.map(
    name => [name, joinSight(basics, client, appWatches[name], projectionOf(name), timesOf(name))] as const,
  )
  const ofQuotas = Object.entries(quotaWatches(basics.config.installation)).map(
    ([name, watched]) => [name, joinSight(basics, client, watched)] as const,
  )
  const sightsOf = (joined: typeof ofApps | typeof ofQuotas) =>
    Object.fromEntries(joined.map(([name, { sight }]) => [name, sight]))
  return {
    group: new WatchGroup<string>(
      Object.fromEntries([...ofApps, ...ofQuotas].map(([name, { reflector }]) => [name, reflector])),
    ),
    sights: sightsOf(ofApps) as unknown as AppSights,
    quotaSights: sightsOf(ofQuotas) as unknown as QuotaSights,
  }
}
