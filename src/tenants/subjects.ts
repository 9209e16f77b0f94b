/** Checks the people and groups that an LNamespace names, without trust in its schema. Pure. */
import { asObject, asText } from '../base/json.ts'
import { inOrder, type Subject, type SubjectKind } from './spec.ts'
import { rbacGroup } from './words.ts'

/** Limit of each list. */
export const mostSubjects = 500
const longestName = 256

/** An LNamespace says something that it must not; the message is for its author. */
export class Unfit extends Error {}

/** @throws {Unfit} */
export function subjectsAt(value: unknown, at: string, kinds: readonly SubjectKind[] = allKinds): readonly Subject[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw new Unfit(`${at} is no list`)
  if (value.length > mostSubjects)
    throw new Unfit(`${at} has ${value.length} subjects; at most ${mostSubjects} can be named`)
  return inOrder(value.map((subject, i) => subjectAt(subject, `${at}[${i}]`, kinds)))
}

const allKinds: readonly SubjectKind[] = ['User', 'Group', 'ServiceAccount']

function subjectAt(value: unknown, at: string, kinds: readonly SubjectKind[]): Subject {
  const { kind: declared, name, namespace, apiGroup } = asObject(value)
  const kind = kinds.find(known => known === declared)
  if (!kind) throw new Unfit(`${at} is a ${shown(declared)}; only ${kinds.join(', ')} can be named here`)
  const problem = nameProblem(kind, name)
  if (problem) throw new Unfit(`the name of ${at} ${problem}`)
  const group = kind === 'ServiceAccount' ? '' : rbacGroup
  if (asText(apiGroup ?? '') !== '' && apiGroup !== group) throw new Unfit(`${at} has the group ${shown(apiGroup)}`)
  if (kind !== 'ServiceAccount') {
    if (namespace !== undefined && namespace !== '') throw new Unfit(`${at} is a ${kind}, which has no namespace`)
    return { kind, name: name as string }
  }
  if (!isDnsLabel(namespace)) throw new Unfit(`${at} needs the namespace of the ServiceAccount`)
  return { kind, name: name as string, namespace }
}

/** Why no user can have this name; undefined if one can. */
export const userProblem = (name: unknown): string | undefined => nameProblem('User', name)

function nameProblem(kind: SubjectKind, name: unknown): string | undefined {
  if (typeof name !== 'string' || name === '') return 'is missing'
  // Half a surrogate pair has no form in UTF-8: two such names would be one.
  if (!name.isWellFormed()) return 'is not well-formed Unicode'
  if ([...name].length > longestName) return `is longer than ${longestName} characters`
  if (/[\p{Cc}\u2028\u2029]/u.test(name)) return 'contains a control character'
  if (/\p{Cf}/u.test(name)) return 'contains an invisible character'
  if (kind === 'ServiceAccount')
    return dnsName.test(name) && name.length <= 253 ? undefined : 'is no name of a ServiceAccount'
  if (name.startsWith('system:')) return 'begins with system:, so it is one of the cluster’s own'
  return undefined
}

const dnsName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

export const isDnsLabel = (name: unknown): name is string =>
  typeof name === 'string' && /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)

/** A value of others in a message: short, and without characters that a terminal would obey. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  const plain = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '?')
  return plain.length > 80 ? `${plain.slice(0, 80)}…` : plain
}
