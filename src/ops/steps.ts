/**
 * Steps: an operation is an ordered list of steps. Each is idempotent, so that the next owner may repeat it.
 * An `act` changes the cluster and may, at worst, kill its owner; a `wait` only watches.
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

/** What an operation knows of its objects. Steps add to it, and the record keeps it. */
export interface Known {
  namespaceUid: string | undefined
  podUid: string | undefined
  /** The watches' cache was found wrong: from here on steps ask the API server. */
  doubt: boolean
  /** This owner's binding to read, and the UID of the namespace that it is in. */
  readable?: { readonly namespaceUid: string; readonly bound: Promise<void> } | undefined
}

export interface StepContext {
  readonly user: string
  readonly op: number
  readonly trust: Trust
  /** The highest trusted op now, by Redis' clock at the claim and the time since then. */
  boundOp(): number
  readonly names: LabNames
  /** The plan of a creation; a deletion has none. */
  readonly plan: LabPlan | undefined
  readonly known: Known
  readonly kube: ClusterClient
  readonly view: ClusterView
  readonly clock: Clock
  readonly graces: Graces
  /** Aborted at the deadline, when the lease is lost, and at a hand-over. */
  readonly signal: AbortSignal
  /** UIDs of objects of this namespace whose DELETED event was seen since the claim. */
  readonly gone: ReadonlySet<string>
  /**
   * Options for requests: the signal, and the operation's name in the User-Agent. Throws when the lease has expired, as the
   * request does when it leaves.
   */
  call(): CallOptions
  /** Writes events before the step is done. Events that were written before are left out. */
  report(events: readonly NewEvent[]): Promise<void>
  /** Of these events those that nobody has written, each once. */
  unreported(events: readonly NewEvent[]): readonly NewEvent[]
  /** Requests a compare: the cluster shows that Redis has lost writes. */
  compare(): void
  /** Passes a failpoint, such as `lab.create.pod.after-act`. */
  failpoint(place: 'before-act' | 'before-send' | 'after-send' | 'after-act'): void | Promise<void>
  /** The context of one of several requests that an act sends at once: its failpoints have this name. */
  at(name: string): StepContext
}

/** The result of a step: `nothing` to record, or events and fields. The end of the operation records that of the last step. */
export type StepResult = 'nothing' | { readonly events: readonly NewEvent[]; readonly fields?: RecordFields }

export interface Step {
  readonly name: string
  readonly kind: 'act' | 'wait'
  /** Progress in percent when the step is done. The last step of a list is done when the operation ends. */
  readonly progress: number
  /** True for a wait that has nothing to wait for, by what the operation knows: it returns at once, and needs no turn. */
  readonly isIdle?: (known: Readonly<Known>) => boolean
  run(context: StepContext): Promise<StepResult>
}

/**
 * Recognises refusals that may pass because the cluster is catching up: a policy or a quota that is not counted yet, a
 * ServiceAccount that does not exist yet. All other refusals of the same request are final.
 */
export const isRefusal = (error: unknown): error is KubeError =>
  error instanceof KubeError && (error.status === 403 || error.status === 404)

/** A refusal of one of several requests that an act sends at once. Each object has a grace of its own. */
export class ObjectRefused extends KubeError {
  /** Names the object within the act. */
  readonly object: string

  constructor({ status, reason, message, retryAfterMs }: KubeError, object: string) {
    super(status, reason, message, retryAfterMs)
    this.object = object
  }
}

/** Thrown by a step when the cluster has changed since an earlier step: the list begins anew. */
export class StartOver extends Error {
  override readonly name = 'StartOver'
}

/**
 * Waits until `look` finds something. It looks again at every change of the user's namespace and, at the latest, after
 * the time that `look` passes to `wakeInMs`.
 */
export async function watchUntil<T>(
  context: StepContext,
  look: (wakeInMs: (ms: number) => void) => Promise<T | undefined>,
): Promise<T> {
  const { signal, view, names, clock } = context
  let changed = false
  let wake = () => {}
  const off = view.onChangeOf(names.namespace, () => {
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
      // An abort during `look` fires no event after this listener was added.
      if (signal.aborted) stop()
      await clock.sleep(Math.min(Math.max(limitMs, 10), 3_600_000), interrupt.signal).catch(() => {})
      signal.removeEventListener('abort', stop)
    }
  } finally {
    off()
  }
}
