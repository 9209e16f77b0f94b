/** What REST does about activity: it shows what Redis and the watches know, and notes what people report. */
import type { Clock } from '../../base/clock.ts'
import { labKind } from '../../base/subject.ts'
import type { IdleConfig, WorkloadKind } from '../../config/idle.ts'
import type { ActivityStore } from '../../store/activity.ts'
import type { DueStore } from '../../store/due.ts'
import type { TouchStore } from '../../store/touches.ts'
import { msOf } from '../decisions/ends.ts'
import { timeText } from '../decisions/words.ts'
import type { Workload, WorkloadFacts } from '../workloads/workload.ts'
import type {
  ActivityKind,
  ActivityService,
  Kept,
  NotKept,
  Policy,
  ShownEvents,
  Whose,
  WorkloadPage,
  WorkloadView,
} from './service.ts'
import { ageEndMs, isStopping, keepLimitOf, viewOf } from './view.ts'

export interface ActivitiesOptions {
  readonly idle: IdleConfig
  readonly kinds: readonly ActivityKind[]
  readonly store: Pick<ActivityStore, 'find'>
  readonly touches: Pick<TouchStore, 'touch' | 'keepAlive' | 'endKeepAlive'>
  readonly due: Pick<DueStore, 'ids'>
  readonly clock: Pick<Clock, 'wallMs'>
  readonly openEvents: ActivityService['events']
}

/** Workloads of a page of a list. */
export const pageSize = 100

export class Activities implements ActivityService {
  readonly #options: ActivitiesOptions
  readonly #byKind: ReadonlyMap<WorkloadKind, ActivityKind>

  constructor(options: ActivitiesOptions) {
    this.#options = options
    this.#byKind = new Map(options.kinds.map(each => [each.kind, each]))
  }

  get kinds(): readonly WorkloadKind[] {
    return [...this.#byKind.keys()]
  }

  policy(): Policy {
    const { checkPeriodSeconds, restPeriodSeconds, stopsPerMinute, rules } = this.#options.idle
    return { kinds: this.kinds, checkPeriodSeconds, restPeriodSeconds, stopsPerMinute, rules }
  }

  async list(kind: WorkloadKind, after: string | undefined): Promise<WorkloadPage> {
    const all = await this.#options.due.ids(kind)
    const ids = all.filter(id => after === undefined || id > after).sort()
    const page = ids.slice(0, pageSize)
    const workloads = (await this.#views(kind, page)).filter(view => view !== undefined)
    return { workloads, ...(ids.length > page.length && { after: page.at(-1)! }) }
  }

  async find({ kind, id }: Workload): Promise<WorkloadView | undefined> {
    const [view] = await this.#views(kind, [id])
    return view
  }

  ownerOf({ kind, id }: Workload): string | undefined {
    return this.#byKind.get(kind)?.ownerOf(id)
  }

  async push({ kind, id }: Workload): Promise<'noted' | 'stopping' | 'none'> {
    const facts = this.#facts(kind, id)
    // A touch would begin a record of whatever it names.
    if (!facts) return this.#absent(kind, id)
    const touched = await this.#options.touches.touch(kind, { id, podUid: facts.podUid, ageMs: 0 }, 'push')
    return touched === 'kept' ? 'noted' : touched
  }

  async keep({ kind, id }: Workload, seconds: number): Promise<Kept | NotKept> {
    const facts = this.#facts(kind, id)
    if (!facts) return this.#absent(kind, id)
    const rule = await this.#byKind.get(kind)!.ruleOf(facts)
    if (rule === 'busy') return this.#absent(kind, id)
    if (!rule || rule.keepAlive.maxSeconds === 0) return 'off'
    const forMs = msOf(Math.min(seconds, rule.keepAlive.maxSeconds))
    const endMs = ageEndMs(facts, rule)
    const kept = await this.#options.touches.keepAlive(kind, { id, podUid: facts.podUid }, forMs, endMs)
    if (kept === 'stopping' || kept === 'none') return kept
    this.#byKind.get(kind)!.onKept?.(facts, kept.untilMs)
    const limitedBy = keepLimitOf(seconds, rule, kept.untilMs, endMs)
    return { until: timeText(kept.untilMs), ...(limitedBy && { limitedBy }) }
  }

  async release({ kind, id }: Workload): Promise<'released' | 'stopping' | 'none'> {
    const facts = this.#facts(kind, id)
    // Redis has a record of each lab. The watch may not show its pod yet, while another replica has kept it.
    if (!facts && (kind !== labKind || this.#isEnding(kind, id))) return this.#absent(kind, id)
    const touched = await this.#options.touches.endKeepAlive(kind, { id, podUid: facts?.podUid ?? '' })
    if (touched !== 'kept') return touched
    if (facts) this.#byKind.get(kind)!.onKept?.(facts, undefined)
    return 'released'
  }

  events(whose: Whose, lastEventId: string | undefined, signal: AbortSignal): Promise<ShownEvents> {
    return this.#options.openEvents(whose, lastEventId, signal)
  }

  /** The watches show none that runs: it may be on its way out. */
  async #absent(kind: WorkloadKind, id: string): Promise<'stopping' | 'none'> {
    if (this.#isEnding(kind, id)) return 'stopping'
    const [known] = await this.#options.store.find(kind, [id])
    return isStopping(known, false) ? 'stopping' : 'none'
  }

  async #views(kind: WorkloadKind, ids: readonly string[]): Promise<readonly (WorkloadView | undefined)[]> {
    if (ids.length === 0) return []
    const { store, idle, clock } = this.#options
    const found = await store.find(kind, ids)
    const common = { rules: idle.rules, wallMs: clock.wallMs() }
    return ids.map((id, at) => {
      const seen = { facts: this.#facts(kind, id), isEnding: this.#isEnding(kind, id) }
      return viewOf({ kind, id }, { ...common, ...seen, known: found[at] })
    })
  }

  #isEnding(kind: WorkloadKind, id: string): boolean {
    return this.#byKind.get(kind)?.isEnding(id) ?? false
  }

  #facts(kind: WorkloadKind, id: string): WorkloadFacts | undefined {
    return this.#byKind.get(kind)?.facts(id)
  }
}
