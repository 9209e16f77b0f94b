/** The kind `instance`: one machine of a cloud, from its intent to the proof that it is gone, as one long operation. */
import type { Claimed, Kind, StepList, Work } from '../ops/kind.ts'
import type { StepContext } from '../ops/steps.ts'
import { machineKind } from '../store/dispatch-keys.ts'
import type { Ownership } from '../store/owners.ts'
import { parseOperation } from '../store/records.ts'
import { create } from './create.ts'
import { endSteps } from './end.ts'
import { insisting } from './insisting.ts'
import { serve } from './serve.ts'
import type { MachineContext, MachineParts, MachineShape, MachineStep } from './shape.ts'

/** A creation ends when the machine is gone. A deletion is never accepted: `ending` in the brief ends a machine. */
const life: readonly MachineStep[] = [create, serve, ...endSteps('')]

export function machineKindOf(parts: MachineParts, limits: { readonly longestRequestMs: number }): Kind<MachineShape> {
  return {
    name: machineKind,
    form: { parse: parseOperation, names: {} },
    drawsEpochs: true,
    shares: true,
    limits: {
      listMs: { create: undefined, delete: undefined, clean: undefined },
      // A call to a cloud kills nobody, and a machine that is given up costs money.
      maxAttempts: Number.MAX_SAFE_INTEGER,
      longestRequestMs: limits.longestRequestMs,
    },
    words: {
      complete: name => `The machine ${name} is gone`,
      failed: (_, name) => `The machine ${name} failed`,
      refused: reason => `The cloud refuses: ${reason}`,
    },
    ends: { create: 'gone', delete: 'gone' },
    begin: claimed => new MachineWork(parts, claimed),
  }
}

class MachineWork implements Work<MachineShape> {
  readonly known = {}
  readonly #parts: MachineParts
  readonly #own: Ownership

  constructor(parts: MachineParts, { claim, name, op }: Claimed<MachineShape>) {
    this.#parts = parts
    this.#own = { name, op, token: claim.record.token }
  }

  steps(list: StepList): readonly MachineStep[] {
    return list === 'create' ? life : endSteps(list === 'clean' ? 'clean.' : 'delete.')
  }

  context(common: StepContext<MachineShape['plan'], object>): MachineContext {
    const parts = this.#parts
    return { ...common, parts, keeping: insisting(parts.keeping, this.#own, common) }
  }

  /**
   * A machine that cannot be made is ended by its list of steps, never by a failure: that would end one that works, where only its
   * plan cannot be opened here. The lease is left to expire, and an owner with the key goes on.
   */
  async isComplete(): Promise<boolean> {
    throw new Error('the plan of a machine cannot be opened: is its key still in sealing.keyFiles?')
  }

  completed() {
    return {}
  }

  cleaned() {
    return {}
  }

  /** A late call of a creation has the token of the same intent, and a late word to the machine has a lower epoch. */
  async settled(): Promise<void> {}
}
