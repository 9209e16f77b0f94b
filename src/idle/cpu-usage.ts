/** Reads what pods use of processors, from answers of the API of metrics, which may contain anything. Pure. */
import { asObject, asObjects, asText } from '../base/json.ts'
import { parseQuantity } from '../base/quantity.ts'
import { timeOf } from './decisions/stamps.ts'

/** The figure of one pod. */
export interface PodUsage {
  readonly namespace: string
  readonly pod: string
  /** By the clock of its node. */
  readonly takenMs: number
  /** Of all its containers. */
  readonly millicores: number
}

export interface UsagePage {
  readonly usages: readonly PodUsage[]
  /** Of the next page; undefined: this is the last one. */
  readonly next: string | undefined
}

const longestName = 253
const longestQuantity = 32
const mostContainers = 100
const longestToken = 4096
/** No machine has as many. */
const mostMillicores = 1e7

/** A list comes once in a period, and one may fail. What was measured longer ago proves nothing. */
export const cpuFreshMs = (periodSeconds: number): number => 3000 * periodSeconds
/** A clock of a node may be ahead by so much. */
const aheadMs = 60_000

/** Pods without a usable figure are left out: nothing is known of them. */
export function readUsagePage(answer: unknown): UsagePage {
  const { items, metadata } = asObject(answer)
  const next = asText(asObject(metadata).continue)
  return {
    usages: asObjects(items).flatMap(item => readUsage(item) ?? []),
    next: next === '' || next.length > longestToken ? undefined : next,
  }
}

function readUsage({ metadata, timestamp, containers }: Readonly<Record<string, unknown>>): PodUsage | undefined {
  const { namespace, name } = asObject(metadata)
  const takenMs = timeOf(asText(timestamp))
  const millicores = sumOf(asObjects(containers))
  if (takenMs === undefined || millicores === undefined || !isName(namespace) || !isName(name)) return undefined
  return { namespace, pod: name, takenMs, millicores }
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= longestName

/** @returns undefined if one has no figure, so that the sum would be too low */
function sumOf(containers: readonly Readonly<Record<string, unknown>>[]): number | undefined {
  if (containers.length === 0 || containers.length > mostContainers) return undefined
  const each = containers.map(({ usage }) => millicoresOf(asObject(usage).cpu))
  return each.reduce((sum, one) => (sum === undefined || one === undefined ? undefined : sum + one), 0)
}

function millicoresOf(quantity: unknown): number | undefined {
  if (typeof quantity !== 'string' || quantity.length > longestQuantity) return undefined
  try {
    const millicores = parseQuantity(quantity) * 1000
    return millicores >= 0 && millicores <= mostMillicores ? millicores : undefined
  } catch {
    return undefined
  }
}

/**
 * How long ago it was measured.
 * @param nowMs by this replica's clock
 * @param startedMs when the pod started; undefined: not known
 * @returns undefined if it shows nothing of this pod now: it is too old or ahead, or was that of a former pod of this name
 */
export function agoOf(
  { takenMs }: PodUsage,
  nowMs: number,
  startedMs: number | undefined,
  freshMs: number,
): number | undefined {
  const agoMs = nowMs - takenMs
  if (startedMs === undefined || takenMs < startedMs || agoMs > freshMs || agoMs < -aheadMs) return undefined
  return Math.max(0, agoMs)
}
