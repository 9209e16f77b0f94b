/** The reasons why a replica is unready, and the troubles of a ready one, in words for operators. */
import type { Readiness } from '../api/monitoring.ts'
import { inFull, type Reason } from '../base/reasons.ts'
import { applyRbac } from '../kube/client.ts'
import type { Replica } from './replica.ts'

export const redisName = 'Redis'
export const kubernetesName = 'the Kubernetes API'

/** @param waiting the conditions that the replica waits for at its start and its end; may change */
export function readinessOf(waiting: ReadonlySet<string>, replica: Replica): Readiness {
  return { waitingFor: () => waitingFor(waiting, replica), troubles: () => troublesOf(waiting, replica) }
}

/**
 * The reasons why this replica is unready. A later outage of Redis makes no replica unready: each request gets 503, since
 * no other replica has another Redis. A Redis that can never be used is a reason, and so is a doubt about its clock.
 */
function waitingFor(waiting: ReadonlySet<string>, replica: Replica): string[] {
  const { store, cluster, upkeep } = replica
  const { doubt } = upkeep.comparer
  const refused = cluster.watches.troubles().join('; ')
  const reasons = new Map([...(refused ? [[kubernetesName, refused] as const] : []), ...troublesByName(replica)])
  const redis = store.connection.trouble()?.final && !waiting.has(redisName) ? [redisName] : []
  return [...[...waiting, ...redis].map(what => named(what, reasons.get(what))), ...(doubt ? [doubt] : [])]
}

/**
 * Troubles of a ready replica. A right that is withdrawn later is missing for all replicas. If they became unready, no
 * replica would serve requests that need no right. A replica that starts without the right waits, so a rollout stops.
 */
function troublesOf(waiting: ReadonlySet<string>, replica: Replica): string[] {
  const { upkeep, cluster, images } = replica
  const reasons = [...troublesByName(replica)].filter(([name]) => !waiting.has(name))
  const { lacking } = upkeep.policy
  return [
    ...reasons.map(([name, reason]) => named(name, reason)),
    ...(lacking.length > 0 ? [`the account of the controller may not ${lacking.join(', ')}: ${applyRbac}`] : []),
    ...cluster.watches.troubles(),
    ...images.watches.troubles(),
  ]
}

const named = (what: string, reason: string | undefined) => (reason === undefined ? what : `${what}: ${reason}`)

/** The reasons why dependencies cannot be used, by their names. */
function troublesByName({ store, cluster, images, api }: Replica): ReadonlyMap<string, string> {
  const full = (reason: Reason | undefined) => reason && inFull(reason)
  const found = [
    [redisName, full(store.connection.trouble())],
    [kubernetesName, full(cluster.kube.trouble())],
    ['the registry', images.refresher.trouble()?.message],
    ['the identity provider', full(api.identity.trouble?.())],
  ] as const
  return new Map(found.flatMap(([name, reason]) => (reason === undefined ? [] : [[name, reason] as const])))
}
