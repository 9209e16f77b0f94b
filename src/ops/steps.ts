/**
 * Steps: an operation is an ordered list of them, each idempotent, so that whoever comes next may run any of them again.
 * An `act` changes the cluster and may, at worst, take its owner down with it; a `wait` only watches.
 */
import { type Clock, notNeeded } from '../base/clock.ts'
import type { LabPlan } from '../base/domain.ts'
import { type CallOptions, KubeError } from '../kube/client.ts'
import type { LabNames } from '../labs/names.ts'
import type { NewEvent, RecordFields } from '../store/records.ts'
import type { ClusterClient, ClusterView } from './cluster.ts'
import type { Trust } from './trust.ts'

/** Milliseconds; from the configuration. */
export interface Graces {
  readonly noRoomMs: number
  readonly registryMs: number
  readonly unknownMs: number
}

/** What an operation knows of its objects; grows as steps go, and is kept in the record. */
export interface Known {
  namespaceUid: string | undefined
  podUid: string | undefined
  /** The watches' memory was found wrong: from here on the API server is asked. */
  doubt: boolean
  /** UID of the namespace in which this owner has bound itself to read. */
  readable?: string | undefined
}

export interface StepContext {
  readonly user: string
  readonly op: number
  readonly trust: Trust
  /** The highest op that is believed at this moment, by Redis' clock as it was at the claim. */
  boundOp(): number
  readonly names: LabNames
  /** Of a creation; a deletion has none. */
  readonly plan: LabPlan | undefined
  readonly known: Known
  readonly kube: ClusterClient
  readonly view: ClusterView
  readonly clock: Clock
  readonly graces: Graces
  /** Aborted at the deadline, when the lease is lost, and at a hand-over. */
  readonly signal: AbortSignal
  /** UIDs of objects of this namespace whose DELETED event was seen since the operation was owned. */
  readonly gone: ReadonlySet<string>
  /** For requests: the signal, and the operation's name in the User-Agent. Throws when the lease is over by our clock. */
  call(): CallOptions
  /** Tells events before the step is over, once each: what was told before is left out. */
  tell(events: readonly NewEvent[]): Promise<void>
  /** Asks for a compare: the cluster shows that Redis has gone back. */
  compare(): void
  /** Passes a place where a test may strike, such as `lab.create.pod.after-act`. */
  failpoint(place: 'before-act' | 'before-send' | 'after-send' | 'after-act'): void | Promise<void>
}

/** What a step did: nothing worth a record, or events and fields. */
export type StepResult = 'nothing' | { readonly events: readonly NewEvent[]; readonly fields?: RecordFields }

export interface Step {
  readonly name: string
  readonly kind: 'act' | 'wait'
  /** Percentage that is reached when it is done. */
  readonly progress: number
  run(context: StepContext): Promise<StepResult>
}

/**
 * A refusal that may be the cluster catching up: a policy or a quota not counted yet, a ServiceAccount not made yet. Any
 * other refusal of a request as it stands is for ever.
 */
export const isRefusal = (error: unknown): error is KubeError =>
  error instanceof KubeError && (error.status === 403 || error.status === 404)

/** Thrown by a step that found the cluster otherwise than an earlier step left it: the list is begun anew. */
export class StartOver extends Error {
  override readonly name = 'StartOver'
}

/**
 * Waits until `look` finds something, looking again at every change of the user's namespace and, at the latest, after
 * the time that `look` says itself (by `wakeInMs`).
 */
export async function watchUntil<T>(
  context: StepContext,
  look: (wakeInMs: (ms: number) => void) => Promise<T | undefined>,
): Promise<T> {
  const { signal, view, names, clock } = context
  let changed = false
  let wake = () => {}
  const off = view.onChange(change => {
    if (change.namespace !== names.namespace) return
    changed = true
    wake()
  })
  try {
    while (true) {
      signal.throwIfAborted()
      changed = false
      let limitMs = Number.POSITIVE_INFINITY
      const found = await look(ms => {
        limitMs = Math.min(limitMs, ms)
      })
      if (found !== undefined) return found
      if (changed) continue
      const interrupt = new AbortController()
      wake = () => interrupt.abort(notNeeded)
      const stop = () => interrupt.abort(notNeeded)
      signal.addEventListener('abort', stop, { once: true })
      // Whoever aborted while `look` was at work will not do so again.
      if (signal.aborted) stop()
      await clock.sleep(Math.min(Math.max(limitMs, 10), 3_600_000), interrupt.signal).catch(() => {})
      signal.removeEventListener('abort', stop)
    }
  } finally {
    off()
  }
}
