/** Writes the status of a parent, if it differs by what is seen then. */
import type { Clock } from '../base/clock.ts'
import { statusName } from './failure.ts'
import { type Look, resultOf, type StatusChange, statusChange } from './look.ts'
import type { Memory } from './memory.ts'
import { isHeld, writesNow } from './permitted.ts'
import type { Kind } from './types.ts'
import type { Writer } from './writer.ts'

export interface ReporterOptions<World> {
  readonly kind: Kind<World>
  readonly key: string
  readonly memory: Memory
  readonly clock: Clock
  readonly writer: Pick<Writer, 'report'>
  readonly look: () => Look | undefined
  /** Makes the next look a new one. */
  readonly forget: () => void
  /** Names of what waits for Redis. */
  readonly due: ReadonlySet<string>
  readonly onWrite: (act: string, result: string) => void
}

/** Rounds in which others write the status, or our watch of it is behind. */
const maxRounds = 3

export class Reporter<World> {
  readonly #options: ReporterOptions<World>

  constructor(options: ReporterOptions<World>) {
    this.#options = options
  }

  /** Whether the status differs, and may be written now. */
  isDue(look: Look): boolean {
    const change = this.#changeFor(look)
    return change !== undefined && this.#isTime(look, change)
  }

  /**
   * Writes the status by what is seen now.
   * @returns the number of accepted writes; `behind`: more must be done first, which another turn does
   * @throws as `Writer.report`
   */
  async report(): Promise<number | 'behind'> {
    const { writer, memory, clock, look: lookNow, forget, onWrite } = this.#options
    for (let round = 0; round < maxRounds; round += 1) {
      const look = lookNow()
      if (!look) return 0
      if (this.#isBehind(look)) return 'behind'
      const change = this.#changeFor(look)
      if (!change) return 0
      if (round === 0 && isOlder(look, change)) {
        forget()
        continue
      }
      const isFailure = this.#words(look) !== undefined
      if (!isFailure && this.#isDoubtful(look, change)) {
        memory.rivals.suspect(look.wish, clock.monotonicMs())
        continue
      }
      if (!this.#isTime(look, change)) return 0
      const sent = await writer.report(change.patch)
      onWrite('report', sent)
      if (sent === 'stale') continue
      if (isFailure) memory.failure!.isTold = true
      else memory.statusPace.wrote(change.text, clock.monotonicMs())
      return 1
    }
    return 0
  }

  #isBehind(look: Look): boolean {
    const { memory, clock, due } = this.#options
    return due.size === 0 && writesNow(look, memory, clock.monotonicMs()).length > 0
  }

  /** Others replace our status again and again, and it is not yet said that there is a rival. */
  #isDoubtful({ wish }: Look, { text }: StatusChange): boolean {
    const { memory, clock } = this.#options
    const nowMs = clock.monotonicMs()
    return memory.statusPace.found(text, nowMs) && !memory.rivals.isContended(wish, nowMs)
  }

  /** The words of what failed a moment ago, while it waits to be tried again. */
  #words(look: Look): string | undefined {
    const { memory, clock } = this.#options
    return isHeld(look, memory, clock.monotonicMs()) ? memory.failure?.words : undefined
  }

  /**
   * A replica that only suspects a rival leaves both statuses as they are. Else replicas that ceased to know of it at different
   * times would contradict each other, and by that go on to suspect it for ever.
   */
  #changeFor(look: Look): StatusChange | undefined {
    const { memory, clock } = this.#options
    const nowMs = clock.monotonicMs()
    const change = this.#changeIf(look, memory.rivals.isContended(look.wish, nowMs))
    const isLeft = memory.rivals.isSuspected(look.wish, nowMs) && !this.#changeIf(look, false)
    return isLeft ? undefined : change
  }

  #changeIf(look: Look, contended: boolean): StatusChange | undefined {
    const { kind, key, clock, due } = this.#options
    const result = resultOf(look, { failure: this.#words(look), due: [...due], contended })
    return statusChange(kind, key, result, clock.wallMs())
  }

  #isTime(look: Look, { text }: StatusChange): boolean {
    const { memory, clock } = this.#options
    const nowMs = clock.monotonicMs()
    const { failure } = memory
    if (failure?.holds(statusName, nowMs)) return false
    if (isHeld(look, memory, nowMs)) return failure!.words !== undefined && !failure!.isTold
    const leftMs = memory.statusPace.leftMs(text, nowMs)
    memory.statusAtMs = nowMs + leftMs
    return leftMs === 0
  }
}

/** Whether the parent is another one by now than the look saw: its status would say what is not so. */
const isOlder = ({ verdict: { parent } }: Look, { patch: { of } }: StatusChange): boolean =>
  parent === 'shared' || parent.uid !== of.uid || parent.resourceVersion !== of.resourceVersion
