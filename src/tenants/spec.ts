/** The checked spec of an LNamespace. Pure. */
import { asNumber, asObject, asObjects, asText, type JsonObject } from '../base/json.ts'
import type { PlatformConfig, TenantsConfig } from '../config/tenants.ts'
import type { Fact } from '../reconcile/types.ts'
import { tenantAnnotations } from './words.ts'

export type SubjectKind = 'User' | 'Group' | 'ServiceAccount'

export interface Subject {
  readonly kind: SubjectKind
  readonly name: string
  /** The namespace of a ServiceAccount. */
  readonly namespace?: string
}

export interface TenantSpec {
  readonly users: readonly Subject[]
  readonly managers: readonly Subject[]
  /** Names of users. */
  readonly sudoers: readonly string[]
  /** People who may ask for sudo with an end. */
  readonly eligible: readonly Subject[]
  readonly maxSeconds: number
  /** Labels of the Namespace, `istio.io/rev` among them. */
  readonly labels: Readonly<Record<string, string>>
  /** Keys of labels that the configuration opens to nobody: they are not set. */
  readonly closedLabels: readonly string[]
  readonly platform: PlatformConfig
}

/** Settings of all tenants of an installation. */
export interface TenantSettings {
  readonly installation: string
  /** The controller's own namespace. */
  readonly ownNamespace: string
  /** Namespaces of labs begin with this and a dash. */
  readonly labPrefix: string
  readonly tenants: TenantsConfig
}

/** Why an LNamespace gets nothing. The reason is that of the condition `Accepted`. */
export interface Refusal {
  readonly reason: 'Reserved' | 'Invalid' | 'TooMany' | 'Conflict'
  readonly message: string
}

export type Checked = { readonly spec: TenantSpec } | { readonly refusal: Refusal }

export const nameOf = ({ ref }: Fact): string => ref.name

export const generationOf = ({ owned }: Fact): number => asNumber(asObject(owned.metadata).generation)

/** When it was created, as the server says; an empty text if that is unknown. */
export const createdAt = ({ owned }: Fact): string => asText(asObject(owned.metadata).creationTimestamp)

export const requesterOf = ({ owned }: Fact): string =>
  asText(asObject(asObject(owned.metadata).annotations)[tenantAnnotations.requester])

/** A condition of its status. */
export const conditionIn = ({ owned }: Fact, type: string): JsonObject | undefined =>
  asObjects(asObject(owned.status).conditions).find(condition => condition.type === type)

/** Whether its dependents are to stay when it is gone. */
export function isOrphaning({ deleting, owned }: Fact): boolean {
  const { finalizers } = asObject(owned.metadata)
  return deleting && Array.isArray(finalizers) && finalizers.includes('orphan')
}

/** The numbers of subjects, as declared. */
export function countsOf({ owned }: Fact): JsonObject {
  const { users, managers, sudoers } = asObject(owned.spec)
  return { users: asObjects(users).length, managers: asObjects(managers).length, sudoers: asObjects(sudoers).length }
}

/** In an order that depends on nothing but the subjects, each once. */
export function inOrder(subjects: readonly Subject[]): readonly Subject[] {
  const byText = new Map(subjects.map(subject => [textOf(subject), subject]))
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, subject]) => subject)
}

/** Neither kinds nor names of namespaces contain a slash. */
const textOf = ({ kind, namespace = '', name }: Subject): string => `${kind}/${namespace}/${name}`
