/** The part of a step's context that only labs have, and its waits for the cluster. */
import { notNeeded } from '../base/clock.ts'
import type { LabPlan } from '../base/domain.ts'
import type { LabNames } from '../labs/names.ts'
import type { LabFields, LabRecord } from '../store/records.ts'
import type { ClusterClient, ClusterView } from './cluster.ts'
import type { Step, StepContext, StepResult } from './steps.ts'
import type { Trust } from './trust.ts'

/** Milliseconds; from the configuration. */
export interface LabGraces {
  readonly noRoomMs: number
  readonly registryMs: number
  readonly unknownMs: number
}

/** Facts that an operation knows about its objects. Steps add to them, and the record keeps them. */
export interface LabKnown {
  namespaceUid: string | undefined
  podUid: string | undefined
  /** The watches' cache was found wrong: from here on steps ask the API server. */
  doubt: boolean
  /** UID of a quota that counts a pod which does not exist: it is made anew. */
  miscounted?: string | undefined
  /** This owner's binding to read, and the UID of the namespace that it is in. */
  readable?: { readonly namespaceUid: string; readonly bound: Promise<void> } | undefined
}

export interface LabContext extends StepContext<LabPlan, LabKnown> {
  readonly user: string
  readonly trust: Trust
  /** The highest trusted op now, by Redis' clock at the claim and the time since then. */
  boundOp(): number
  readonly names: LabNames
  readonly kube: ClusterClient
  readonly view: ClusterView
  readonly graces: LabGraces
  /** UIDs of objects of this namespace whose DELETED event was seen since the claim. */
  readonly gone: ReadonlySet<string>
  /** Requests a compare: the cluster shows that Redis has lost writes. */
  compare(): void
  /** The context of one of several requests that an act sends at once: its failpoints have this name. */
  at(name: string): LabContext
  /** The token by which the lab will report its own activity; absent unless idle labs are stopped. */
  readonly activityToken?: string | undefined
}

/** The types of labs. */
export interface LabShape {
  readonly record: LabRecord
  readonly fields: LabFields
  readonly plan: LabPlan
  readonly known: LabKnown
  readonly context: LabContext
}

export type LabStep = Step<LabShape>
export type LabResult = StepResult<LabFields>

/**
 * Waits until `look` finds something. It looks again at every change of the user's namespace and, at the latest, after
 * the time that `look` passes to `wakeInMs`.
 */
export async function watchUntil<T>(
  context: LabContext,
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
