/** Decisions of the scheduler, as scripts take them. Pure. */
import type { Limits } from '../../dispatch/room.ts'
import type { ShutdownReason } from '../../dispatch/types.ts'
import { machineOp, newMachine } from './forms.ts'

/** A machine or container at the version that was read: the decision holds only for that. */
export interface At {
  readonly id: string
  readonly version: number
}

export interface NewMachine {
  /** Drawn by `SchedulingStore.draw`. */
  readonly name: string
  readonly nonce: string
  /** Sealed for `instance:NAME` and the nonce, with the key that `draw` names. */
  readonly sealedPlan: string
  readonly keyId: string
  readonly type: string
  readonly providerType: string
  readonly price: number
  readonly tenant: string
  /** The limit of its whole life. */
  readonly timeoutMs: number
}

export type Decision =
  | { readonly what: 'unassign'; readonly container: At; readonly machine: At }
  /** `room`: what the machine may hold in all. Without it, it must have nothing else. */
  | { readonly what: 'assign'; readonly container: At; readonly machine: At; readonly room?: Limits }
  | { readonly what: 'create'; readonly container: At; readonly create: NewMachine }
  /** `probedMs` as it was read: a later probe takes back an `unreachable`. */
  | { readonly what: 'shutdown'; readonly machine: At; readonly probedMs: number; readonly why: ShutdownReason }
  | { readonly what: 'fail'; readonly container: At; readonly why: string }

/**
 * `changed`: a record has changed since it was read. `held`: the machine is on hold. `wait`: machines were not asked yet that may
 * run the container.
 */
export type Outcome = 'done' | 'changed' | 'held' | 'wait'

/** The version of a machine once it is created. */
export const firstVersion = 1

/** A text that distinguishes two readings. */
export const keyOf = ({ id, version }: At): string => `${version} ${id}`

/** The container and the machine that a decision is about. */
export function placesOf(decision: Decision): { readonly container?: At; readonly machine?: At } {
  return {
    ...('container' in decision && { container: decision.container }),
    ...('machine' in decision && { machine: decision.machine }),
  }
}

/**
 * As `write-decisions` takes it.
 * @param written versions that earlier parts of a call have written, by `keyOf`
 */
export function encodeDecision(decision: Decision, written: ReadonlyMap<string, number>): readonly unknown[] {
  const { container, machine } = placesOf(decision)
  const of = (at: At | undefined) => (at ? [at.id, written.get(keyOf(at)) ?? at.version] : ['', ''])
  return [decision.what, ...of(container), ...of(machine), moreOf(decision)]
}

function moreOf(decision: Decision): unknown {
  if (decision.what === 'fail') return { why: decision.why }
  if (decision.what === 'shutdown') return { why: decision.why, probedMs: decision.probedMs }
  if (decision.what === 'assign') return decision.room ? { room: decision.room } : {}
  if (decision.what !== 'create') return ''
  const { name, nonce, sealedPlan, keyId, timeoutMs, ...of } = decision.create
  const brief = newMachine({ ...of, name })
  return { brief: { ...brief, op: String(machineOp(name)) }, nonce, plan: sealedPlan, key: keyId, timeoutMs }
}
