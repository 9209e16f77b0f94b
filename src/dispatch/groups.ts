/** Containers that wait, by what they have in common. Pure. */
import type { Debt } from './ledger.ts'
import type { Status, Waiting } from './types.ts'

/** Those alike wait together: nobody looks for a machine again where one before him found none. */
export interface Group {
  readonly shape: string
  readonly tenant: string
  readonly supervisor: boolean
  readonly sentence: string
  /** At the limit that refused them. */
  readonly debt: Debt | undefined
  waiting: number
}

const flags = 8

/** Finds the group of a place of the queue by one number: a pass asks for each, and strings are looked up once, in a row. */
export class Groups {
  readonly #numbers: Float64Array
  readonly #groups = new Map<number, Group>()

  constructor(queue: readonly Waiting[], maxDispatchAttempts: number) {
    const shapes = new Map<string, number>()
    const tenants = new Map<string, number>()
    this.#numbers = new Float64Array(queue.length)
    queue.forEach(({ shape, tenant, supervisor, priority, attempts }, at) => {
      // Each of them waits, or fails, for a reason of its own.
      const flag = (supervisor ? 4 : 0) + (priority <= 0 ? 2 : 0) + (attempts >= maxDispatchAttempts ? 1 : 0)
      this.#numbers[at] = (numberOf(shapes, shape) * (queue.length + 1) + numberOf(tenants, tenant)) * flags + flag
    })
  }

  at(index: number): Group | undefined {
    return this.#groups.get(this.#numbers[index]!)
  }

  add(index: number, { shape, tenant, supervisor }: Waiting, sentence: string, debt: Debt | undefined): Group {
    const group: Group = { shape, tenant, supervisor, sentence, debt, waiting: 0 }
    this.#groups.set(this.#numbers[index]!, group)
    return group
  }

  statuses(): Status[] {
    return [...this.#groups.values()].map(({ shape, tenant, supervisor, sentence, waiting }) => ({
      ...{ shape, tenant, supervisor, waiting },
      sentence: `It waits: ${sentence}`,
    }))
  }
}

function numberOf(numbers: Map<string, number>, text: string): number {
  const known = numbers.get(text)
  if (known !== undefined) return known
  numbers.set(text, numbers.size)
  return numbers.size - 1
}
