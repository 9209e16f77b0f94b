/** The checked spec of a PhApplication. The server checks it too, but any field may be missing or wrong nevertheless. Pure. */
import { type AppScope, appScopes } from '../base/app-route.ts'
import { asNumber, asObject, asObjects, asText, asTimeMs, type JsonObject } from '../base/json.ts'
import type { AppsConfig } from '../config/apps.ts'
import type { Fact } from '../reconcile/types.ts'
import type { AppGroup, AppSettings } from './groups.ts'
import { isAppId } from './names.ts'
import { appAnnotations } from './words.ts'

export type InstanceType = AppsConfig['instanceTypes'][string]

export interface ServicePort {
  readonly name?: string
  readonly port: number
  readonly protocol: 'TCP' | 'UDP' | 'SCTP'
  readonly targetPort: number | string
}

export interface AppSpec {
  readonly id: string
  readonly namespace: string
  readonly stop: boolean
  readonly group: AppGroup
  readonly scope: AppScope
  /** Undefined where no instance type has the name. Only an app that is stopped goes without. */
  readonly instance: InstanceType | undefined
  /** Unread: rendering takes of them what it knows. */
  readonly podTemplate: JsonObject
  readonly svcTemplate: JsonObject
  readonly ports: readonly ServicePort[]
  /** The port of the web interface. */
  readonly http: ServicePort | undefined
  readonly rewrite: boolean
  /** Two pods of it never run at once. */
  readonly isRecreated: boolean
}

/** Why an app is not made as it is. */
export interface Refusal {
  /** With `InstanceType` the Deployment stays as it is; else nothing does. */
  readonly reason: 'Invalid' | 'WrongGroup' | 'InstanceType' | 'Conflict'
  readonly message: string
}

/** With an unknown instance type there are both. */
export interface CheckedApp {
  readonly spec?: AppSpec
  readonly refusal?: Refusal
}

/** Facts beyond one PhApplication. */
export interface AppSurroundings {
  /** Of its namespace. */
  readonly groups: readonly AppGroup[]
  /** Whether an older app has its id, in another namespace. */
  readonly isTaken: boolean
}

export const generationOf = ({ owned }: Fact): number => asNumber(asObject(owned.metadata).generation)
export const createdMsOf = ({ owned }: Fact): number => asTimeMs(asObject(owned.metadata).creationTimestamp)
export const annotationsOf = ({ owned }: Fact): JsonObject => asObject(asObject(owned.metadata).annotations)
export const isStopped = ({ owned }: Fact): boolean => asObject(owned.spec).stop === true
export const scopeOf = ({ owned }: Fact): AppScope =>
  appScopes.find(scope => scope === asObject(owned.spec).scope) ?? 'group'
export const groupNameOf = ({ owned }: Fact): string => asText(asObject(owned.spec).groupName)
export const displayNameOf = (fact: Fact): string => asText(asObject(fact.owned.spec).displayName) || fact.ref.name

/** If two apps have one id, the older has it; at the same age, that of the lower UID. */
export const isOlder = (one: Fact, other: Fact): boolean => {
  const [first, second] = [createdMsOf(one), createdMsOf(other)]
  return first === second ? one.uid < other.uid : first < second
}

export function readApp(fact: Fact, { apps }: AppSettings, { groups, isTaken }: AppSurroundings): CheckedApp {
  const spec = asObject(fact.owned.spec)
  const group = groups.find(({ name }) => name === groupNameOf(fact))
  const ports = portsOf(asObject(asObject(spec.svcTemplate).spec).ports)
  const problem = problemOf(fact, ports)
  if (problem !== undefined || ports === undefined) return refused('Invalid', problem ?? 'it has no ports')
  if (!group) return refused('WrongGroup', wrongGroup(fact, groups))
  if (isTaken) return refused('Conflict', 'an older app in another namespace has this name')
  const type = asText(spec.instanceType) || apps.defaultInstanceType
  const instance = Object.hasOwn(apps.instanceTypes, type) ? apps.instanceTypes[type] : undefined
  const checked = { spec: specOf(fact, group, ports, instance) }
  if (instance || isStopped(fact)) return checked
  return { ...checked, ...refused('InstanceType', `there is no instance type ${JSON.stringify(type.slice(0, 63))}`) }
}

function specOf(
  fact: Fact,
  group: AppGroup,
  ports: readonly ServicePort[],
  instance: InstanceType | undefined,
): AppSpec {
  const { podTemplate, svcTemplate, httpPort, rewrite } = asObject(fact.owned.spec)
  return {
    ...{ id: fact.ref.name, namespace: fact.ref.namespace ?? '' },
    ...{ stop: isStopped(fact), group, scope: scopeOf(fact), instance, ports },
    ...{ podTemplate: asObject(podTemplate), svcTemplate: asObject(svcTemplate) },
    http: httpPortOf(ports, httpPort),
    rewrite: rewrite === true,
    isRecreated: annotationsOf(fact)[appAnnotations.strategy] === 'recreate',
  }
}

const refused = (reason: Refusal['reason'], message: string) => ({ refusal: { reason, message } })

function wrongGroup(fact: Fact, groups: readonly AppGroup[]): string {
  if (groups.length === 0) return 'no group has apps in this namespace'
  return `the apps of this namespace are not those of the group ${JSON.stringify(groupNameOf(fact).slice(0, 253))}`
}

function problemOf({ ref, owned }: Fact, ports: readonly ServicePort[] | undefined): string | undefined {
  const { stop, scope, podTemplate, svcTemplate, httpPort } = asObject(owned.spec)
  if (!isAppId(ref.name))
    return 'metadata.name is not 1 to 50 of a-z, 0-9 and -, from a letter on, without - at the end'
  if (stop !== undefined && typeof stop !== 'boolean') return 'stop is not true or false'
  if (scope !== undefined && !appScopes.some(each => each === scope))
    return `scope is not one of ${appScopes.join(', ')}`
  const [first] = asObjects(asObject(asObject(podTemplate).spec).containers)
  if (!first || asText(first.image) === '') return 'podTemplate.spec.containers has no container with an image'
  if (Buffer.byteLength(JSON.stringify([podTemplate, svcTemplate])) > maxTemplate)
    return 'podTemplate and svcTemplate are larger than 128 KiB'
  if (!ports) return 'svcTemplate.spec.ports is not a list of 1 to 16 ports, each once'
  if (httpPort !== undefined && !httpPortOf(ports, httpPort))
    return 'httpPort is not a TCP port of svcTemplate.spec.ports'
  return undefined
}

const httpPortOf = (ports: readonly ServicePort[], httpPort: unknown): ServicePort | undefined =>
  ports.find(({ port, protocol }) => port === httpPort && protocol === 'TCP')

/** The Deployment has it once more as an annotation, of which the server takes 256 KiB. */
const maxTemplate = 128 * 1_024

const protocols = ['TCP', 'UDP', 'SCTP'] as const
const isPort = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535
const portName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

function portsOf(value: unknown): readonly ServicePort[] | undefined {
  if (!Array.isArray(value) || value.length > 16) return undefined
  const ports = asObjects(value).flatMap(port => portOf(port) ?? [])
  const numbers = new Set(ports.map(({ port, protocol }) => `${protocol} ${port}`))
  return ports.length > 0 && ports.length === value.length && numbers.size === ports.length ? ports : undefined
}

function portOf({ name, port, protocol = 'TCP', targetPort }: JsonObject): ServicePort | undefined {
  const kind = protocols.find(each => each === protocol)
  const target = targetPort ?? port
  if (!isPort(port) || !kind) return undefined
  if (!isPort(target) && !(typeof target === 'string' && portName.test(target))) return undefined
  const isNamed = typeof name === 'string' && portName.test(name)
  return { ...(isNamed && { name }), port, protocol: kind, targetPort: target }
}
