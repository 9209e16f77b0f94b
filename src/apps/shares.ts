/**
 * Quotas of groups that share a namespace. A ResourceQuota there would bound all of them together, and one by priority class counts
 * no GPUs. So Skylab sums what the group's Deployments ask for, and what its pods take beyond that, before one more may run. Pure.
 */
import { asNumber, asObject, asObjects, asText, type JsonObject } from '../base/json.ts'
import { parseQuantity } from '../base/quantity.ts'
import type { AppsConfig } from '../config/apps.ts'
import { appObjectName } from './names.ts'
import { appLabels } from './words.ts'

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

const nameOf = ({ metadata }: JsonObject): string => asText(asObject(metadata).name)
/** The name of the Deployment of a pod's app. */
const deploymentOf = ({ metadata }: JsonObject): string =>
  appObjectName(asText(asObject(asObject(metadata).labels)[appLabels.of]))
const isOver = ({ status }: JsonObject): boolean => /^(Succeeded|Failed)$/.test(asText(asObject(status).phase))
const isEnding = ({ metadata }: JsonObject): boolean => asObject(metadata).deletionTimestamp !== undefined

/** What Deployments and pods of a group's apps take together. An app takes what it asks for, or what it has, and what ends. */
function usedBy(quota: Quota, deployments: readonly JsonObject[], pods: readonly JsonObject[]): Amounts {
  const asked = new Map<string, Amounts>()
  const running = new Map<string, Amounts>()
  const add = (to: Map<string, Amounts>, key: string, podSpec: JsonObject, times = 1) =>
    to.set(key, plus(to.get(key) ?? {}, taken(quota, podSpec), times))
  for (const each of deployments) add(asked, nameOf(each), podSpecOf(each), replicasOf(each))
  let used: Amounts = {}
  for (const pod of pods) {
    if (isEnding(pod)) used = plus(used, taken(quota, asObject(pod.spec)))
    else add(running, deploymentOf(pod), asObject(pod.spec))
  }
  for (const name of new Set([...asked.keys(), ...running.keys()])) {
    const [one, other] = [asked.get(name) ?? {}, running.get(name) ?? {}]
    used = plus(used, larger(quota, one, other))
  }
  return used
}

const plus = (sum: Amounts, more: Amounts, times = 1): Amounts =>
  Object.fromEntries(Object.entries(more).map(([name, amount]) => [name, rounded((sum[name] ?? 0) + amount * times)]))

const larger = (quota: Quota, one: Amounts, other: Amounts): Amounts =>
  Object.fromEntries(Object.keys(quota).map(name => [name, Math.max(one[name] ?? 0, other[name] ?? 0)]))

/**
 * @param deployments those of the group
 * @param pods those of the group. Of the app itself only those count that end: the others go, or are those that it would have
 * @param wanted the Deployment that the app would have
 * @returns why there is no room, in words like those of a ResourceQuota; undefined if there is
 */
export function excessOf(
  group: string,
  quota: Quota,
  { deployments, pods = [] }: { readonly deployments: readonly JsonObject[]; readonly pods?: readonly JsonObject[] },
  wanted: JsonObject,
): string | undefined {
  const requested = taken(quota, podSpecOf(wanted))
  const own = nameOf(wanted)
  const used = usedBy(
    quota,
    deployments.filter(each => nameOf(each) !== own),
    pods.filter(pod => !isOver(pod) && (isEnding(pod) || deploymentOf(pod) !== own)),
  )
  const isBeyond = (name: string) =>
    requested[name]! > 0 && rounded((used[name] ?? 0) + requested[name]!) > parseQuantity(quota[name]!)
  const beyond = Object.keys(quota).filter(isBeyond)
  if (beyond.length === 0) return undefined
  const words = (amounts: Readonly<Record<string, string | number>>) =>
    beyond.map(name => `${name}=${amounts[name] ?? 0}`).join()
  return `exceeded quota of the group ${group}, requested: ${words(requested)}, used: ${words(used)}, limited: ${words(quota)}`
}
