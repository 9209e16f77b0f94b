/** The status of an LNamespace: its conditions, with reasons in words. Pure. */
import { type Billing, billingText } from '../base/bill.ts'
import { asObject, type JsonObject } from '../base/json.ts'
import { keyOf } from '../kube/cache.ts'
import type { Fact, Result, StatusPatch } from '../reconcile/types.ts'
import { type BillingWorld, billedSoFar, billedType, billingOf, isBilled } from './billing.ts'
import { mayImpersonate } from './effective.ts'
import { runningGrants } from './grants.ts'
import { platformName, sudoGroup } from './names.ts'
import { isOwnedBy } from './objects.ts'
import { type Checked, conditionIn, countsOf, generationOf, nameOf, type TenantSpec } from './spec.ts'
import { frozenWords } from './words.ts'
import { admitted, ownNamespace, type TenantWorld } from './world.ts'

export const conditionTypes = ['Accepted', 'NamespaceReady', 'AccessReady', 'Ready'] as const
export type ConditionType = (typeof conditionTypes)[number]

interface State {
  readonly is: boolean
  readonly reason: string
  readonly message: string
}

const yes = (reason: string): State => ({ is: true, reason, message: '' })
const no = (reason: string, message: string): State => ({ is: false, reason, message })

/** `report` of the kind *tenant*. It is silent while it is not known whether policies are missing, or only for a moment. */
export function tenantStatus(name: string, world: TenantWorld, result: Result, nowMs: number): StatusPatch | undefined {
  const of = world.sights.lnamespaces.get(name)
  if (!of || of.deleting) return undefined
  if (result.onlyRevocations !== undefined && world.longUnguarded() === undefined) return undefined
  const admission = admitted(of, world)
  const spec = 'spec' in admission ? admission.spec : undefined
  const accepted = acceptedState(admission, result)
  const namespace = namespaceState(of, spec, world, result)
  const access = accessState(of, spec, world, result, nowMs)
  const states = { Accepted: accepted, NamespaceReady: namespace, AccessReady: access }
  const ready = readyState(Object.values(states), result)
  const billing = billingIn(of, spec !== undefined, world)
  const billed = billing && billedState(of, billing, world.billing!, result)
  const all = { ...states, ...(billed && { [billedType]: billed }), Ready: ready }
  return {
    of,
    status: {
      ...{ ...factsOf(of, spec, world, nowMs), ...billingFacts(of, billing) },
      conditions: conditionsOf(of, all, nowMs),
    },
  }
}

/** Billing in effect; undefined where there is no bill. */
const billingIn = (of: Fact, isAdmitted: boolean, { billing }: TenantWorld): Billing | undefined =>
  billing && isBilled(of, isAdmitted) ? billingOf(of, billing.config) : undefined

/** Billing in effect, without the keys that were; nothing of it where bills are not sent. */
function billingFacts(of: Fact, billing: Billing | undefined): JsonObject {
  const before = Object.keys(asObject(asObject(of.owned.status).billing))
  if (!billing) return before.length === 0 ? {} : { billing: null }
  const former = before.filter(key => !Object.hasOwn(billing, key)).map(key => [key, null])
  return { billing: { ...Object.fromEntries(former), ...billing } }
}

/** The replica that sends knows it. Others leave it as the status has it: they know less than its writer. */
function billedState(of: Fact, inEffect: Billing, world: BillingWorld, { due }: Result): State {
  const told = world.told(of.uid)
  if (told?.is === 'written' && told.text === billingText(inEffect)) return yes('Billed')
  if (told?.is === 'not') return no(told.reason, told.message)
  const { status, reason, message } = billedSoFar(of, inEffect) ?? {}
  if (typeof reason === 'string' && typeof message === 'string') {
    return { is: status === 'True', reason, message }
  }
  return no('Waiting', due.includes('billing') ? 'Redis does not answer' : 'the bill was not sent yet')
}

function factsOf(of: Fact, spec: TenantSpec | undefined, world: TenantWorld, nowMs: number): JsonObject {
  const running = spec ? runningGrants(of, spec, nowMs) : []
  return {
    observedGeneration: generationOf(of),
    namespaceUID: ownNamespace(of, world)?.uid ?? null,
    sudoGroup: sudoGroup(nameOf(of)),
    counts: countsOf(of),
    grants: running.length === 0 ? null : running.map(({ declared }) => declared),
  }
}

function acceptedState(admission: Checked, { conflicts, onlyRevocations }: Result): State {
  if ('refusal' in admission) return no(admission.refusal.reason, admission.refusal.message)
  const [first] = conflicts
  if (first) return no('Conflict', `${namedIn(first)} exists, and is not that of this LNamespace`)
  if (onlyRevocations !== undefined) {
    return no(onlyRevocations === frozenWords ? 'Unvetted' : 'PolicyMissing', onlyRevocations)
  }
  const { closedLabels } = admission.spec
  const unset = `not set, since no prefix of tenants.labelPrefixes allows them: the labels ${closedLabels.join(', ')}`
  return closedLabels.length === 0 ? yes('Accepted') : { ...yes('Accepted'), message: unset.slice(0, 1_000) }
}

const namedIn = ({ ref: { kind, namespace, name } }: Fact): string => `the ${kind} ${keyOf(namespace, name)}`

function namespaceState(of: Fact, spec: TenantSpec | undefined, world: TenantWorld, result: Result): State {
  const own = ownNamespace(of, world)
  if (own && !own.deleting && spec && boundsStand(of, spec, world)) return yes('Made')
  const awaited = result.awaited.find(({ ref }) => ref.kind === 'Namespace')
  if (awaited && !isOwnedBy(awaited, of)) {
    return no('FormerTerminating', 'the namespace of a former LNamespace of this name is being deleted')
  }
  if (awaited) return no('Terminating', 'the namespace is being deleted, and will be made again')
  return unless(spec, result, 'the namespace, or what bounds it, is not there yet')
}

function boundsStand(of: Fact, { platform: { quota, limits, network } }: TenantSpec, { sights }: TenantWorld): boolean {
  const stands = (watch: 'quotas' | 'limitRanges' | 'networkPolicies') => {
    const fact = sights[watch].get(keyOf(nameOf(of), platformName))
    return fact !== undefined && isOwnedBy(fact, of)
  }
  const isAny = (values: object) => Object.keys(values).length > 0
  return (
    (!isAny(quota) || stands('quotas')) &&
    (!Object.values(limits).some(isAny) || stands('limitRanges')) &&
    (network === 'open' || stands('networkPolicies'))
  )
}

function accessState(of: Fact, spec: TenantSpec | undefined, world: TenantWorld, result: Result, nowMs: number): State {
  // A bill that waits for Redis delays no right.
  if (!spec || !result.made) return unless(spec, result, 'not all rights are as declared yet')
  const users = [...spec.sudoers, ...runningGrants(of, spec, nowMs).map(({ user }) => user)]
  const waiting = users.filter(user => !mayImpersonate(user, of, world))
  if (waiting.length === 0) return yes('Granted')
  const rest = waiting.length > 1 ? ` and ${waiting.length - 1} more` : ''
  const message = `${JSON.stringify(waiting[0])}${rest} cannot impersonate himself yet, so not the group either`
  return no(result.onlyRevocations === undefined ? 'Waiting' : 'PolicyMissing', message)
}

/** Why something is not as it should be. */
function unless(spec: TenantSpec | undefined, result: Result, waiting: string): State {
  if (!spec) return no('NotAccepted', 'the LNamespace is not accepted')
  if (result.conflicts.length > 0) return no('Conflict', 'another’s object has one of the names')
  if (result.contended) return no('Contended', 'another writer changes the objects again and again')
  if (result.failure !== undefined) return no('Refused', result.failure)
  if (result.onlyRevocations !== undefined) return no('PolicyMissing', result.onlyRevocations)
  return no('Waiting', waiting)
}

function readyState(states: readonly State[], { contended }: Result): State {
  const not = states.find(({ is }) => !is)
  if (not) return not
  return contended ? no('Contended', 'another writer changes the objects again and again') : yes('Ready')
}

function conditionsOf(of: Fact, states: Readonly<Record<string, State>>, nowMs: number): readonly JsonObject[] {
  const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z`
  return Object.entries(states).map(([type, { is, reason, message }]) => {
    const status = is ? 'True' : 'False'
    const former = conditionIn(of, type)
    const lastTransitionTime = former?.status === status ? (former.lastTransitionTime ?? now) : now
    return { type, status, reason, message, observedGeneration: generationOf(of), lastTransitionTime }
  })
}

/** Whether a condition is true, as the status says. */
export const isTrue = (fact: Fact, type: ConditionType | typeof billedType): boolean =>
  conditionIn(fact, type)?.status === 'True'
