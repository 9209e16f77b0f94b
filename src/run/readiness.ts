/** What a replica waits for, and what does not work although it is ready, in words that operators understand. */
import type { Readiness } from '../api/monitoring.ts'
import { inFull, type Reason } from '../base/reasons.ts'
import { applyRbac } from '../kube/client.ts'
import type { Replica } from './replica.ts'

export const redisName = 'Redis'
export const kubernetesName = 'the Kubernetes API'

/** @param waiting what is waited for at the start, and at the end; may change */
export function readinessOf(waiting: ReadonlySet<string>, replica: Replica): Readiness {
  return { waitingFor: () => waitingFor(waiting, replica), troubles: () => troublesOf(waiting, replica) }
}

/**
 * The reasons why this replica is unready, in words. A Redis that is away later makes no replica unready: each request is
 * answered 503, since no other replica has another Redis. One that will never do is named, and so is one whose clock the
 * last compare doubted.
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
 * What does not work although the replica is ready. A right that is withdrawn later is missing at all replicas: were they
 * unready, nobody would be left to answer what needs no right. A replica that starts without it waits, so a rollout stops.
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

/** Why dependencies cannot be used. */
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
