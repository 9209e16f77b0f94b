/** A keeper goes on while Redis is away, for as long as its lease lasts: its line to the machine stays. */
import { isUnavailable } from '../base/errors.ts'
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

const againMs = 200

/** Repeats commands until Redis answers. They throw when the lease has expired, or the signal is aborted. */
export function insisting(store: Store, own: Ownership, { clock, signal, call }: StepContext): Keeping {
  async function insist<T>(ask: () => Promise<T>): Promise<T> {
    while (true) {
      call()
      try {
        return await ask()
      } catch (error) {
        if (!isUnavailable(error)) throw error
        await clock.sleep(againMs, signal)
      }
    }
  }
  return {
    read: () => insist(() => store.read(own)),
    keep: changes => insist(() => store.keep(own, changes)),
    send: uuid => insist(() => store.send(own, uuid)),
    tell: (uuid, run, told) => insist(() => store.tell(own, uuid, run, told)),
    appendLog: (uuid, run, entries) => insist(() => store.appendLog(own, uuid, run, entries)),
    adopt: found => insist(() => store.adopt(own, found)),
    gone: () => insist(() => store.gone(own)),
    floor: epoch => insist(() => store.floor(own, epoch)),
  }
}
