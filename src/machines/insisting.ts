/** A keeper goes on while Redis is away, for as long as its lease lasts: its line to the machine stays. */
import { insist } from '../ops/insist.ts'
import type { StepContext } from '../ops/steps.ts'
import type { KeepingStore } from '../store/dispatch/keeping.ts'
import type { Ownership } from '../store/owners.ts'

type Store = Pick<KeepingStore, 'read' | 'keep' | 'send' | 'tell' | 'appendLog' | 'adopt' | 'gone' | 'floor'>

/** The commands of a keeper, as the owner that it is. */
export type Keeping = {
  readonly [Name in keyof Store]: Store[Name] extends (by: Ownership, ...args: infer Args) => infer Answer
    ? (...args: Args) => Answer
    : never
}

/** Repeats commands until Redis answers. They throw when the lease has expired, or the signal is aborted. */
export function insisting(store: Store, own: Ownership, { clock, signal, call }: StepContext): Keeping {
  const lease = { clock, signal, check: call }
  return {
    read: () => insist(lease, () => store.read(own)),
    keep: changes => insist(lease, () => store.keep(own, changes)),
    send: uuid => insist(lease, () => store.send(own, uuid)),
    tell: (uuid, run, told) => insist(lease, () => store.tell(own, uuid, run, told)),
    appendLog: (uuid, run, entries) => insist(lease, () => store.appendLog(own, uuid, run, entries)),
    adopt: (found, most) => insist(lease, () => store.adopt(own, found, most)),
    gone: () => insist(lease, () => store.gone(own)),
    floor: epoch => insist(lease, () => store.floor(own, epoch)),
  }
}
