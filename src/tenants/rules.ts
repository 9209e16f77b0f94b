/**
 * Checks an LNamespace again, although its definition and the admission policies did: it may be older than these, and what is
 * granted here is granted. Pure.
 */
import { asObject, type JsonObject } from '../base/json.ts'
import { parseQuantity } from '../base/quantity.ts'
import { type PlatformConfig, podSecurityLevels } from '../config/tenants.ts'
import type { Fact } from '../reconcile/types.ts'
import { reservedIn } from './settings.ts'
import type { Checked, TenantSettings, TenantSpec } from './spec.ts'
import { isDnsLabel, shown, subjectsAt, Unfit } from './subjects.ts'
import { tenantLabels } from './words.ts'

export const longestSudoSeconds = 28_800
const defaultSudoSeconds = 3_600
const mostLabels = 64
const mostQuantities = 64

/** A user may be sudoer of a thousand tenants, each of which is asked at each look at him. */
const known = new WeakMap<Fact, { readonly settings: TenantSettings; readonly result: Checked }>()

/** The spec of an LNamespace, or the reason why it gets nothing. Never throws. The same fact is checked once. */
export function checked(fact: Fact, settings: TenantSettings): Checked {
  const before = known.get(fact)
  if (before?.settings === settings) return before.result
  const result = check(fact, settings)
  known.set(fact, { settings, result })
  return result
}

function check(fact: Fact, settings: TenantSettings): Checked {
  const { name } = fact.ref
  if (!isDnsLabel(name)) return refused('Invalid', `${shown(name)} cannot be the name of a namespace`)
  const reserved = reservedBy(name, settings)
  if (reserved) return refused('Reserved', `the name ${name} is reserved: ${reserved}`)
  try {
    return { spec: specOf(asObject(fact.owned.spec), settings) }
  } catch (error) {
    if (!(error instanceof Unfit)) throw error
    return refused('Invalid', error.message)
  }
}

const refused = (reason: 'Reserved' | 'Invalid', message: string): Checked => ({ refusal: { reason, message } })

/** The owner of a reserved name; undefined if a tenant may have it. */
export function reservedBy(name: string, settings: TenantSettings): string | undefined {
  const { ownNamespace, labPrefix } = settings
  if (name === 'default' || name === 'kube' || name.startsWith('kube-')) return 'it is one of the cluster’s own'
  if (name === ownNamespace) return 'it is the controller’s own'
  if (name === labPrefix || name.startsWith(`${labPrefix}-`)) return 'it is that of a lab'
  const { names, prefixes } = reservedIn(settings)
  const isReserved = names.includes(name) || prefixes.some(prefix => name.startsWith(prefix))
  return isReserved ? 'by the configuration' : undefined
}

function specOf(declared: JsonObject, { tenants }: TenantSettings): TenantSpec {
  const { users, managers, sudoers, istioRevision, namespaceLabelOverrides, sudo, platform } = declared
  const { eligible, maxSeconds } = asObject(sudo)
  const { labels, closedLabels } = labelsOf(namespaceLabelOverrides, tenants.labelPrefixes)
  const revision = istioRevision ?? ''
  if (typeof revision !== 'string' || !isLabelValue(revision))
    throw new Unfit('spec.istioRevision is no value of a label')
  return {
    users: subjectsAt(users, 'spec.users'),
    managers: subjectsAt(managers, 'spec.managers'),
    sudoers: subjectsAt(sudoers, 'spec.sudoers', ['User']).map(({ name }) => name),
    eligible: subjectsAt(eligible, 'spec.sudo.eligible'),
    maxSeconds: secondsOf(maxSeconds),
    closedLabels,
    labels: { ...labels, ...(revision !== '' && { [tenantLabels.istioRevision]: revision }) },
    platform: platformOf(asObject(platform), tenants.platform),
  }
}

function secondsOf(value: unknown): number {
  const seconds = value ?? defaultSudoSeconds
  const isFit = Number.isInteger(seconds) && (seconds as number) > 0 && (seconds as number) <= longestSudoSeconds
  if (!isFit) throw new Unfit(`spec.sudo.maxSeconds is not a whole number from 1 to ${longestSudoSeconds}`)
  return seconds as number
}

/**
 * A label without an open prefix is not set, whoever declared it: who may override is seen at admission alone. It costs
 * nobody a right, since that would be a high price for a label.
 */
function labelsOf(value: unknown, prefixes: readonly string[]): Pick<TenantSpec, 'labels' | 'closedLabels'> {
  const entries = Object.entries(asObject(value))
  if (entries.length > mostLabels) throw new Unfit(`spec.namespaceLabelOverrides has more than ${mostLabels} labels`)
  for (const [key, label] of entries) {
    if (!labelKey.test(key)) throw new Unfit(`spec.namespaceLabelOverrides: ${shown(key)} is no key of a label`)
    if (typeof label !== 'string' || !isLabelValue(label)) {
      throw new Unfit(`spec.namespaceLabelOverrides: the value of ${shown(key)} is no value of a label`)
    }
  }
  const isOpen = (key: string) => prefixes.some(prefix => key.startsWith(prefix))
  return {
    labels: Object.fromEntries(entries.filter(([key]) => isOpen(key))) as Record<string, string>,
    closedLabels: entries.map(([key]) => key).filter(key => !isOpen(key)),
  }
}

const labelKey =
  /^(?=[^/]{1,253}\/|[^/]+$)([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$/

const isLabelValue = (text: string): boolean => /^([A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?$/.test(text)

function platformOf({ podSecurity, quota, limits, network }: JsonObject, byDefault: PlatformConfig): PlatformConfig {
  const { default: limit, defaultRequest, max } = asObject(limits)
  return {
    podSecurity: oneOf(podSecurityLevels, podSecurity, 'spec.platform.podSecurity') ?? byDefault.podSecurity,
    network: oneOf(['deny', 'open'] as const, network, 'spec.platform.network') ?? byDefault.network,
    quota: quota === undefined ? byDefault.quota : quantitiesOf(quota, 'spec.platform.quota'),
    limits:
      limits === undefined
        ? byDefault.limits
        : {
            default: quantitiesOf(limit, 'spec.platform.limits.default'),
            defaultRequest: quantitiesOf(defaultRequest, 'spec.platform.limits.defaultRequest'),
            max: quantitiesOf(max, 'spec.platform.limits.max'),
          },
  }
}

function oneOf<T extends string>(values: readonly T[], value: unknown, at: string): T | undefined {
  if (value === undefined) return undefined
  const known = values.find(each => each === value)
  if (known === undefined) throw new Unfit(`${at} is ${shown(value)}; it can be ${values.join(', ')}`)
  return known
}

function quantitiesOf(value: unknown, at: string): Record<string, string> {
  const entries = Object.entries(asObject(value))
  if (entries.length > mostQuantities) throw new Unfit(`${at} has more than ${mostQuantities} resources`)
  for (const [name, quantity] of entries) {
    if (!/^[A-Za-z0-9][-A-Za-z0-9_./]{0,252}$/.test(name)) throw new Unfit(`${at}: ${shown(name)} is no resource`)
    if (!isQuantity(quantity)) throw new Unfit(`${at}.${name}: ${shown(quantity)} is no quantity`)
  }
  return Object.fromEntries(entries.map(([name, quantity]) => [name, String(quantity)]))
}

function isQuantity(value: unknown): boolean {
  if (typeof value !== 'string' && typeof value !== 'number') return false
  try {
    return parseQuantity(value) >= 0
  } catch {
    return false
  }
}
