/**
 * Quotas of groups that share a namespace. A ResourceQuota there would bound all of them together, and one by priority class counts
 * no GPUs. So Skylab sums what the group's Deployments ask for, before one more may run. Pure.
 */
import { asNumber, asObject, asObjects, type JsonObject } from '../base/json.ts'
import { parseQuantity } from '../base/quantity.ts'
import type { AppsConfig } from '../config/apps.ts'

type Quota = AppsConfig['groups'][string]['quota']
/** By name as in a quota, such as `requests.cpu`. */
type Amounts = Readonly<Record<string, number>>

const bare = /^(cpu|memory|ephemeral-storage)$/

/** Whether what a quota names is counted in a namespace that several groups share. */
export const isShareable = (name: string): boolean =>
  name === 'pods' || bare.test(name) || /^limits\.(cpu|memory|ephemeral-storage)$/.test(name) || isRequest(name)

const isRequest = (name: string): boolean => name.startsWith('requests.') && name !== 'requests.storage'

/** What one pod of this spec takes, of what this quota names. Containers that begin before the others end before them. */
function taken(quota: Quota, podSpec: JsonObject): Amounts {
  const [inits, mains] = [asObjects(podSpec.initContainers), asObjects(podSpec.containers)]
  const of = (name: string): number => {
    if (name === 'pods') return 1
    const [part, resource] = bare.test(name) ? ['requests', name] : splitAt(name)
    const amounts = (containers: readonly JsonObject[]) => containers.map(each => amountOf(each, part, resource))
    return Math.max(
      amounts(mains).reduce((sum, each) => sum + each, 0),
      ...amounts(inits),
    )
  }
  return Object.fromEntries(Object.keys(quota).map(name => [name, of(name)]))
}

function splitAt(name: string): readonly [part: string, resource: string] {
  const at = name.indexOf('.')
  return [name.slice(0, at), name.slice(at + 1)]
}

function amountOf({ resources }: JsonObject, part: string, resource: string): number {
  const { [part]: amounts, limits } = asObject(resources)
  // As the API server does, what is limited is requested.
  const value = asObject(amounts)[resource] ?? asObject(limits)[resource]
  return typeof value === 'string' || typeof value === 'number' ? parseQuantity(value) : 0
}

/** Tenths have no exact doubles: ten of them are less than one. */
const rounded = (sum: number): number => Number(sum.toPrecision(12))

const podSpecOf = (deployment: JsonObject): JsonObject => asObject(asObject(asObject(deployment.spec).template).spec)

/** Whether a Deployment runs that takes no less than another one would. */
export function isCovered(quota: Quota, standing: JsonObject, wanted: JsonObject): boolean {
  const before = replicasOf(standing) > 0 ? taken(quota, podSpecOf(standing)) : {}
  return Object.entries(taken(quota, podSpecOf(wanted))).every(([name, amount]) => amount <= (before[name] ?? 0))
}

const replicasOf = (deployment: JsonObject): number => asNumber(asObject(deployment.spec).replicas ?? 1)

/**
 * @param others Deployments of the group, without that of the app
 * @param wanted the Deployment that the app would have
 * @returns why there is no room, in words like those of a ResourceQuota; undefined if there is
 */
export function excessOf(
  group: string,
  quota: Quota,
  others: readonly JsonObject[],
  wanted: JsonObject,
): string | undefined {
  const requested = taken(quota, podSpecOf(wanted))
  const used: Record<string, number> = {}
  for (const other of others) {
    for (const [name, amount] of Object.entries(taken(quota, podSpecOf(other)))) {
      used[name] = rounded((used[name] ?? 0) + amount * replicasOf(other))
    }
  }
  const isBeyond = (name: string) =>
    requested[name]! > 0 && rounded((used[name] ?? 0) + requested[name]!) > parseQuantity(quota[name]!)
  const beyond = Object.keys(quota).filter(isBeyond)
  if (beyond.length === 0) return undefined
  const words = (amounts: Readonly<Record<string, string | number>>) =>
    beyond.map(name => `${name}=${amounts[name] ?? 0}`).join()
  return `exceeded quota of the group ${group}, requested: ${words(requested)}, used: ${words(used)}, limited: ${words(quota)}`
}
