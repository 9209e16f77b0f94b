/** Judges, as the scheduler would, which nodes labs can run on: images are prepulled only onto those. Pure. */

import { asObject, asObjects, asText, type JsonObject } from '../../base/json.ts'
import type { Config } from '../../config/schema.ts'
import type { NodeFacts, Taint } from './nodes.ts'

/** The requirements of labs on nodes. */
export type Placement = Pick<Config['lab'], 'nodeSelector' | 'affinity' | 'tolerations'>

type Toleration = Placement['tolerations'][number]

/** Why a node gets no images (SQR-066, "GET …/prepulls", `comment`); undefined when it is eligible. */
export function whyIneligible(node: NodeFacts, placement: Placement): string | undefined {
  const lacking = Object.entries(placement.nodeSelector).filter(([key, value]) => labelOf(node, key) !== value)
  if (lacking.length > 0) return `Labs do not run on it: it lacks the ${labelWords(lacking)} of lab.nodeSelector`
  if (!matchesAffinity(node, placement.affinity)) return 'Labs do not run on it: lab.affinity rules it out'
  if (node.deleting) return 'It is being removed'
  if (!node.ready) return 'It is not ready'
  if (node.unschedulable) return 'It is cordoned'
  const taints = node.taints.filter(taint => repels(taint, placement.tolerations))
  return taints.length > 0 ? `Labs do not tolerate its ${taintWords(taints)}` : undefined
}

const labelWords = (labels: readonly (readonly [string, string])[]) =>
  `${labels.length > 1 ? 'labels' : 'label'} ${labels.map(([key, value]) => `${key}=${value}`).join(', ')}`

const taintWords = (taints: readonly Taint[]) =>
  `${taints.length > 1 ? 'taints' : 'taint'} ${taints.map(({ key, value, effect }) => `${key}${value && `=${value}`}:${effect}`).join(', ')}`

const labelOf = ({ labels }: NodeFacts, key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined)

/** PreferNoSchedule is only a preference, so it does not repel labs. */
function repels(taint: Taint, tolerations: readonly Toleration[]): boolean {
  if (taint.effect !== 'NoSchedule' && taint.effect !== 'NoExecute') return false
  return !tolerations.some(toleration => tolerates(toleration, taint))
}

function tolerates({ key, operator = 'Equal', value = '', effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false
  if (key && key !== taint.key) return false
  return operator === 'Exists' || value === taint.value
}

/** Evaluates a lab's required node affinity. Preferences and rules about other pods do not count. */
function matchesAffinity(node: NodeFacts, affinity: Placement['affinity']): boolean {
  const { nodeAffinity } = asObject(affinity)
  const required = asObject(nodeAffinity).requiredDuringSchedulingIgnoredDuringExecution
  if (required === undefined || required === null) return true
  return asObjects(asObject(required).nodeSelectorTerms).some(term => matchesTerm(node, term))
}

/** A term without requirements matches nothing. */
function matchesTerm(node: NodeFacts, { matchExpressions, matchFields }: JsonObject): boolean {
  const [labels, fields] = [asObjects(matchExpressions), asObjects(matchFields)]
  if (labels.length + fields.length === 0) return false
  const ofField = (key: string) => (key === 'metadata.name' ? node.name : undefined)
  return (
    labels.every(demand => meets(labelOf(node, asText(demand.key)), demand)) &&
    fields.every(demand => meets(ofField(asText(demand.key)), demand))
  )
}

function meets(value: string | undefined, { operator, values }: JsonObject): boolean {
  const wanted = Array.isArray(values) ? values.map(String) : []
  switch (operator) {
    case 'In':
      return value !== undefined && wanted.includes(value)
    case 'NotIn':
      return value === undefined || !wanted.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'Gt':
      return isOrdered(wanted[0], value)
    case 'Lt':
      return isOrdered(value, wanted[0])
    default:
      return false
  }
}

const whole = /^[+-]?\d+$/

/** True if both are whole numbers and the first is smaller. */
function isOrdered(smaller: string | undefined, larger: string | undefined): boolean {
  if (smaller === undefined || larger === undefined || !whole.test(smaller) || !whole.test(larger)) return false
  return BigInt(smaller.replace('+', '')) < BigInt(larger.replace('+', ''))
}
