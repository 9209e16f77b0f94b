/** The status of an LNamespace: its conditions, with reasons in words. Pure. */
import { asObject, asObjects, type JsonObject } from '../base/json.ts'
import { keyOf } from '../kube/cache.ts'
import type { Fact, Result, StatusPatch } from '../reconcile/types.ts'
import { mayImpersonate } from './effective.ts'
import { runningGrants } from './grants.ts'
import { platformName, sudoGroup } from './names.ts'
import { isOwnedBy } from './objects.ts'
import { type Checked, countsOf, generationOf, nameOf, type TenantSpec } from './spec.ts'
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

/** `report` of the kind *tenant*. Nothing is told while it is not known whether policies are missing, or only for a moment. */
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
  return {
    of,
    status: { ...factsOf(of, spec, world, nowMs), conditions: conditionsOf(of, { ...states, Ready: ready }, nowMs) },
  }
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
  if (!spec || !result.settled) return unless(spec, result, 'not all rights are as declared yet')
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

function conditionsOf(of: Fact, states: Readonly<Record<ConditionType, State>>, nowMs: number): readonly JsonObject[] {
  const before = new Map(asObjects(asObject(of.owned.status).conditions).map(condition => [condition.type, condition]))
  const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z`
  return conditionTypes.map(type => {
    const { is, reason, message } = states[type]
    const status = is ? 'True' : 'False'
    const former = before.get(type)
    const lastTransitionTime = former?.status === status ? (former.lastTransitionTime ?? now) : now
    return { type, status, reason, message, observedGeneration: generationOf(of), lastTransitionTime }
  })
}

/** Whether a condition is true, as the status says. */
export const isTrue = ({ owned }: Fact, type: ConditionType): boolean =>
  asObjects(asObject(owned.status).conditions).some(condition => condition.type === type && condition.status === 'True')
