/** The billing of an LNamespace's namespace, and whether the table of bills has it. Pure. */
import { createHash } from 'node:crypto'
import { type BillEntry, type Billing, billingText } from '../base/bill.ts'
import { asObject, asText, type JsonObject } from '../base/json.ts'
import { type BillingConfig, billingKey, longestBillingValue, mostBillingKeys, unprintable } from '../config/billing.ts'
import type { Effect, Fact } from '../reconcile/types.ts'
import { conditionIn, generationOf, nameOf, requesterOf } from './spec.ts'
import { tenantAnnotations } from './words.ts'

/** The sender's knowledge of one LNamespace. */
export type Told =
  | { readonly is: 'written'; readonly text: string }
  /** Not yet, with a reason as one word and in words. */
  | { readonly is: 'not'; readonly reason: string; readonly message: string }

/** The part of the world that concerns bills; there is none where billing is off. */
export interface BillingWorld {
  readonly config: Pick<BillingConfig, 'defaults'>
  /** Leaves a bill for the replica that sends. @throws as {@link Effect.apply} */
  put(entry: BillEntry): Promise<void>
  /** Undefined if this replica does not know it: another one sends. */
  told(uid: string): Told | undefined
}

/** The groups of the requester that admission noted, by those that the defaults name. */
const requesterGroups = ({ owned }: Fact): readonly string[] =>
  asText(asObject(asObject(owned.metadata).annotations)[tenantAnnotations.requesterGroups])
    .split('\n')
    .filter(group => group !== '')

/** Billing in effect: what the LNamespace says, and for the keys that it lacks the first default that fits. Never throws. */
export function billingOf(fact: Fact, { defaults }: Pick<BillingConfig, 'defaults'>): Billing {
  const requester = requesterOf(fact)
  const groups = requesterGroups(fact)
  const rule = defaults.find(
    each =>
      (each.users.length === 0 && each.groups.length === 0) ||
      (requester !== '' && each.users.includes(requester)) ||
      each.groups.some(group => groups.includes(group)),
  )
  const declared = Object.entries(asObject(asObject(fact.owned.spec).billing))
  return cleaned([...Object.entries(rule?.billing ?? {}), ...declared])
}

/** Within the bounds of the definition, which an LNamespace may be older than. What comes later counts. */
function cleaned(entries: readonly (readonly [string, unknown])[]): Billing {
  const fit = new Map(
    entries.flatMap(([key, value]) =>
      typeof value === 'string' && billingKey.test(key) ? [[key, printable(value)] as const] : [],
    ),
  )
  const sorted = [...fit].sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.slice(0, mostBillingKeys))
}

const printable = (text: string): string =>
  [...text.slice(0, longestBillingValue * 2)]
    .slice(0, longestBillingValue)
    .map(character => (unprintable.test(character) ? '\u{FFFD}' : character))
    .join('')

/** Billed is what has, or had, a namespace. */
export const isBilled = ({ owned }: Fact, isAdmitted: boolean): boolean =>
  isAdmitted || asText(asObject(owned.status).namespaceUID) !== ''

export const entryOf = (fact: Fact, config: Pick<BillingConfig, 'defaults'>): BillEntry => ({
  ...{ uid: fact.uid, name: nameOf(fact), generation: generationOf(fact), revision: 0 },
  billing: billingOf(fact, config),
})

/** The condition of this name, as the status has it. */
export const billedType = 'Billed'

/** The condition, if it is about what is in effect now. */
export function billedSoFar(fact: Fact, billing: Billing): JsonObject | undefined {
  const condition = conditionIn(fact, billedType)
  const told = asObject(asObject(fact.owned.status).billing) as Billing
  const isOfThis = condition?.observedGeneration === generationOf(fact) && billingText(told) === billingText(billing)
  return isOfThis ? condition : undefined
}

/** Whether the status says that the bill is in the table. What was lost since then is found by a compare. */
const isWritten = (fact: Fact, billing: Billing): boolean => billedSoFar(fact, billing)?.status === 'True'

/** The write by which a turn tells of the current generation; none where the status says that it is done. */
export function billingEffects(fact: Fact, billing: BillingWorld): readonly Effect[] {
  const entry = entryOf(fact, billing.config)
  if (isWritten(fact, entry.billing)) return []
  const hash = createHash('sha256').update(billingText(entry.billing)).digest('base64url')
  const mark = `${entry.uid} ${entry.generation} ${hash}`
  return [{ name: 'billing', mark, apply: () => billing.put(entry) }]
}
