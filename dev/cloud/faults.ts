/** What goes wrong in the cloud, by rules: scripted, or by chance from a seed. */
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import type { Call } from './call.ts'

export type Effect =
  /** An answer of EC2 in place of the real one. */
  | { readonly error: string; readonly status?: number; readonly message?: string }
  /** The connection is cut, before the request is carried out or after it. */
  | { readonly cut: 'before' | 'after' }
  /** The connection stays, and nothing comes. */
  | { readonly silent: 'before' | 'after' }
  /** The connection is cut, and the request is carried out later. */
  | { readonly lateMs: number }
  /** TerminateInstances says yes, and does nothing. */
  | { readonly lie: true }
  | { readonly delayMs: number }

export interface Rule {
  /** The name of an action, or `*`. */
  readonly action: string
  /** Parameters that the request must have, such as `InstanceType`. */
  readonly match?: Readonly<Record<string, string>>
  /** How often it strikes. Default 1; null: as long as the rule is there. */
  readonly times?: number | null
  /** Of a request that it would strike. Default 1. */
  readonly probability?: number
  readonly effect: Effect
}

/** Calls that a bucket lets through. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
  /** Default: all. */
  readonly actions?: readonly string[]
}

/** What the account may have. Counted in machines, not in vCPUs. */
export interface Limits {
  readonly instances?: number
  /** By the start of a type's name, such as `m5`. */
  readonly quota?: Readonly<Record<string, number>>
  /** By type, in all subnets together or by `type@subnet`. */
  readonly capacity?: Readonly<Record<string, number>>
  readonly fullSubnets?: readonly string[]
}

interface Held {
  readonly rule: Rule
  left: number
}

export class Faults {
  readonly #random: () => number
  #rules: Held[] = []
  limits: Limits = {}
  rate: Rate | undefined
  /** How long listings lack a new machine, and show an ended one as running. */
  lagMs = 0
  /** The same for a look by id. */
  findLagMs = 0
  /** How long a machine is pending. */
  pendingMs = 0
  /** Whether the same token makes one machine. AWS does; other clouds do not. */
  honoursTokens = true
  /** The most of a page. */
  pageSize = 1_000

  constructor(seed: number) {
    const generator = xoroshiro128plus(seed)
    this.#random = () => uniformFloat64(generator)
  }

  add(...rules: readonly Rule[]): void {
    for (const rule of rules)
      this.#rules.push({ rule, left: rule.times === null ? Number.POSITIVE_INFINITY : (rule.times ?? 1) })
  }

  /** A share of calls fails, by one of these effects. */
  addRandom(rate: number, actions: readonly string[], effects: readonly Effect[]): void {
    // One draw decides: the shares of the effects add up.
    for (const action of actions) {
      effects.forEach((effect, index) => {
        const probability = rate / effects.length / (1 - (rate / effects.length) * index)
        this.add({ action, effect, probability, times: null })
      })
    }
  }

  clear(): void {
    this.#rules = []
  }

  /** What becomes of this call, by the first rule that strikes it. */
  take(call: Call): Effect | undefined {
    for (const held of this.#rules) {
      if (held.left <= 0 || !fits(held.rule, call)) continue
      if (held.rule.probability !== undefined && this.#random() >= held.rule.probability) continue
      held.left--
      return held.rule.effect
    }
    return undefined
  }
}

function fits({ action, match = {} }: Rule, call: Call): boolean {
  if (action !== '*' && action !== call.action) return false
  return Object.entries(match).every(([name, value]) => call.parameters.get(name) === value)
}
