/** A keeper goes on while Redis is away, for as long as its lease lasts: its line to the machine stays. */
import { isUnavailable } from '../base/errors.ts'
import type { StepContext } from '../ops/steps.ts'
import type { Keeping } from './ports.ts'

const againMs = 200

/** The same writes, repeated until Redis answers. @throws when the lease has expired, or the signal is aborted */
export function insisting(keeping: Keeping, { clock, signal, call }: StepContext): Keeping {
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
    read: name => insist(() => keeping.read(name)),
    keep: (own, changes) => insist(() => keeping.keep(own, changes)),
    send: (own, uuid) => insist(() => keeping.send(own, uuid)),
    tell: (own, uuid, run, word) => insist(() => keeping.tell(own, uuid, run, word)),
    appendLog: (own, uuid, run, entries) => insist(() => keeping.appendLog(own, uuid, run, entries)),
    adopt: (own, listed) => insist(() => keeping.adopt(own, listed)),
    floorEpoch: epoch => insist(() => keeping.floorEpoch(epoch)),
    bury: own => insist(() => keeping.bury(own)),
  }
}
