/** Writes what a pass decided, in short calls, and why containers wait. */
import { randomBytes, randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { sealedName } from '../base/subject.ts'
import { firstVersion } from '../store/dispatch/decisions.ts'
import type { Decision, NewMachine, Outcome, SchedulingStore } from '../store/dispatch/scheduling.ts'
import { machineKind } from '../store/dispatch-keys.ts'
import type { Sealer } from '../store/sealing.ts'
import { type Draft, opOf, type Wish } from './mapping.ts'

export interface WriterOptions {
  readonly store: Pick<SchedulingStore, 'draw' | 'write' | 'explain'>
  readonly sealer: Pick<Sealer, 'seal' | 'ids'>
  /** The cloud's name and the price of a type. */
  readonly offerOf: (type: string) => { readonly providerType: string; readonly price: number }
  /** The longest life of a machine. */
  readonly lifeMs: number
}

export interface Written {
  readonly done: number
  /** Decisions about records that have changed since they were read: the next pass sees them. */
  readonly changed: number
  /** Machines were not asked yet that may run containers up to this op; 0 if none was met. */
  readonly heldOp: number
  /** There is more to be written: the next pass decides it anew. */
  readonly isCut: boolean
}

/** So many are written by one pass: what it has read grows old. */
const mostOfPass = 2_000
/** Others have their turn after so many plans. */
const sealedAtOnce = 100
/** As Arvados has it: 40 hexadecimal digits. */
const secretBytes = 20

export class Writer {
  readonly #options: WriterOptions
  /** The sentences that were reported under this lease. */
  #told: ReadonlyMap<string, string> = new Map()

  constructor(options: WriterOptions) {
    this.#options = options
  }

  /** Another replica may write meanwhile. */
  forget(): void {
    this.#told = new Map()
  }

  /** @returns null while comparing, or if another replica has the lease: nothing after that was written */
  async write(token: string, all: readonly Draft[]): Promise<Written | null> {
    const decisions = await this.#whole(all.slice(0, mostOfPass))
    const outcomes = decisions && (await this.#options.store.write(token, decisions))
    if (!outcomes) return null
    const sum = { done: 0, changed: 0, heldOp: 0, isCut: all.length > mostOfPass }
    for (const [i, outcome] of outcomes.entries()) count(sum, outcome, decisions[i]!)
    return sum
  }

  /** @returns false when another replica has the lease */
  async explain(token: string, sentences: ReadonlyMap<string, string>): Promise<boolean> {
    const changed = new Map([...sentences].filter(([id, sentence]) => this.#told.get(id) !== sentence))
    if (changed.size > 0 && !(await this.#options.store.explain(token, changed))) return false
    this.#told = sentences
    return true
  }

  /** Draws what creations need. */
  async #whole(drafts: readonly Draft[]): Promise<readonly Decision[] | null> {
    const wishes = drafts.filter(({ what }) => what === 'create').length
    if (wishes === 0) return drafts as readonly Decision[]
    const { store, sealer } = this.#options
    const drawn = await store.draw(wishes, sealer.ids)
    if (drawn === null) return null
    const names = [...drawn.names]
    const whole: Decision[] = []
    for (const draft of drafts) {
      if (draft.what !== 'create') {
        whole.push(draft)
        continue
      }
      const { container, others, room, wish } = draft
      const create = this.#machine(names.shift()!, drawn.keyId, wish)
      const machine = { id: create.name, version: firstVersion }
      whole.push({ what: 'create', container, create })
      for (const each of others) whole.push({ what: 'assign', container: each, machine, ...(room && { room }) })
      if (whole.length % sealedAtOnce === 0) await setImmediate()
    }
    return whole
  }

  #machine(name: string, keyId: string, { type, tenant }: Wish): NewMachine {
    const { sealer, offerOf, lifeMs } = this.#options
    const nonce = randomUUID()
    const { providerType, price } = offerOf(type)
    const plan = JSON.stringify({ secret: randomBytes(secretBytes).toString('hex') })
    const sealedPlan = sealer.seal(plan, sealedName({ kind: machineKind, name }), nonce, keyId)
    return { name, nonce, sealedPlan, keyId, type, tenant, providerType, price, timeoutMs: lifeMs }
  }
}

interface Sum {
  done: number
  changed: number
  heldOp: number
}

function count(sum: Sum, outcome: Outcome, decision: Decision): void {
  if (outcome === 'done') sum.done += 1
  else if (outcome === 'wait' && 'container' in decision) sum.heldOp = Math.max(sum.heldOp, opOf(decision.container.id))
  else sum.changed += 1
}
