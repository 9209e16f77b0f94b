/** Decides by the rings of the bell when an engine looks for operations, so that few of many replicas look for each one. */
import type { Clock } from '../base/clock.ts'
import type { Bell } from '../store/bell.ts'
import type { Ring } from '../store/rings.ts'

export interface HearingOptions {
  /** The kind of subjects; rings of others are skipped. */
  readonly kind: string
  readonly bell: Pick<Bell, 'on'>
  readonly clock: Pick<Clock, 'sleep'>
  /** Aborted when the engine takes no more operations. */
  readonly closed: AbortSignal
  /** An operation of this subject can perhaps be taken now; without a name, any operation. */
  onTakeable(name?: string): void
  onAccepted(name: string, op: number): void
  /** Whether the engine runs the operation of this subject. */
  isRun(name: string): boolean
  wake(): void
}

/** Random delay before a look for a released operation, so that fewer lease attempts fail. */
const releasedDelayMs = 15
/**
 * The same for an accepted one. The replica that accepted it looks when no crowd has followed, after 40 ms; the first events of
 * its owner are heard within the bell's pause of 50 ms, and then nobody else looks.
 */
const acceptedDelayMs = { least: 100, most: 130 }

export class Hearing {
  readonly #options: HearingOptions
  /** A ring was heard and the engine will wake for it: further rings until then need no other wake. */
  #ringing = false
  /** Subjects whose operation was accepted and has no owner yet, by the rings. */
  readonly #unclaimed = new Set<string>()
  /** The engine will wake if any of these is still without an owner. */
  #expecting = false
  #off = () => {}

  constructor(options: HearingOptions) {
    this.#options = options
  }

  start(): void {
    this.#off = this.#options.bell.on(ring => this.#hear(ring))
  }

  stop(): void {
    this.#off()
  }

  #hear({ what, subject, op = 0 }: Ring): void {
    const { kind, onTakeable, onAccepted, isRun } = this.#options
    if ((subject && subject.kind !== kind) || what === 'activity') return
    if (subject === undefined || what === 'released') {
      onTakeable(subject?.name)
      this.#wakeSoon()
    } else if (what === 'accepted') {
      onAccepted(subject.name, op)
      if (!isRun(subject.name)) this.#expectClaim(subject.name)
    } else {
      // Only the owner of an operation writes its events and its end.
      this.#unclaimed.delete(subject.name)
    }
  }

  #wakeSoon(): void {
    if (this.#ringing) return
    this.#ringing = true
    this.#in(releasedDelayMs * Math.random(), () => {
      this.#ringing = false
      this.#options.wake()
    })
  }

  #expectClaim(name: string): void {
    this.#unclaimed.add(name)
    if (this.#expecting) return
    this.#expecting = true
    const { least, most } = acceptedDelayMs
    this.#in(least + (most - least) * Math.random(), () => {
      this.#expecting = false
      // The replica that accepted an operation has usually taken it by now.
      const isUnclaimed = [...this.#unclaimed].some(each => !this.#options.isRun(each))
      this.#unclaimed.clear()
      if (isUnclaimed) this.#options.wake()
    })
  }

  #in(ms: number, work: () => void): void {
    this.#options.clock.sleep(ms, this.#options.closed).then(work, () => {})
  }
}
