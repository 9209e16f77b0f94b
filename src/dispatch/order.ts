/** The order of the queue. Pure. */
import type { Waiting } from './types.ts'

/** Priority, then age. */
export function byTurn(a: Waiting, b: Waiting): number {
  return b.priority - a.priority || a.queuedMs - b.queuedMs || (a.uuid < b.uuid ? -1 : a.uuid > b.uuid ? 1 : 0)
}

/**
 * The places of the queue in the order of `byTurn`. Comparing fields of 100,000 objects took 90 ms, and sorting plain numbers
 * takes a tenth of that: so each number has the age, and the place behind it.
 */
export function inTurn(queue: readonly Waiting[]): Uint32Array {
  const byPriority = new Map<number, number[]>()
  queue.forEach(({ priority }, at) => {
    const places = byPriority.get(priority)
    if (places) places.push(at)
    else byPriority.set(priority, [at])
  })
  const order = new Uint32Array(queue.length)
  let from = 0
  for (const priority of [...byPriority.keys()].sort((a, b) => b - a)) {
    const places = byPriority.get(priority)!
    order.set(byAge(queue, places), from)
    from += places.length
  }
  return order
}

function byAge(queue: readonly Waiting[], places: readonly number[]): ArrayLike<number> {
  const keys = new Float64Array(places.length)
  let [oldest, latest, isWhole] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, true]
  for (let i = 0; i < keys.length; i += 1) {
    const ms = queue[places[i]!]!.queuedMs
    keys[i] = ms
    oldest = Math.min(oldest, ms)
    latest = Math.max(latest, ms)
    isWhole &&= Number.isInteger(ms)
  }
  const isExact = isWhole && (latest - oldest + 1) * queue.length < Number.MAX_SAFE_INTEGER
  if (!isExact) return places.toSorted((a, b) => byTurn(queue[a]!, queue[b]!))
  for (let i = 0; i < keys.length; i += 1) keys[i] = (keys[i]! - oldest) * queue.length + places[i]!
  return placesOf(keys.sort(), queue)
}

/** Containers of the same instant come together, and only they are compared by their uuid. */
function placesOf(keys: Float64Array, queue: readonly Waiting[]): Uint32Array {
  const sorted = new Uint32Array(keys.length)
  const ageOf = (i: number) => Math.floor(keys[i]! / queue.length)
  for (let from = 0, to = 0; from < keys.length; from = to) {
    const age = ageOf(from)
    for (; to < keys.length && ageOf(to) === age; to += 1) sorted[to] = keys[to]! - age * queue.length
    if (to - from > 1) sorted.subarray(from, to).sort((a, b) => byTurn(queue[a]!, queue[b]!))
  }
  return sorted
}
