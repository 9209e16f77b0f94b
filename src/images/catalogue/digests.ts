/** The current digest of an image from the registry, or else the last one that any replica knows. */
import { Buckets } from '../../base/buckets.ts'
import type { Clock } from '../../base/clock.ts'
import { Deadline, unlessAborted } from '../../base/deadline.ts'
import { Slots } from '../../base/slots.ts'
import { maxConnections } from '../registry/http.ts'
import { digestForm } from '../registry/names.ts'
import type { ImageSource } from '../registry/source.ts'

/** The shared memory of all replicas about tags. */
export interface DigestMemory {
  digestOf(tag: string): Promise<string | null>
  remember(tag: string, digest: string | null): Promise<void>
}

export interface DigestsParts {
  readonly source: Pick<ImageSource, 'manifestOf'>
  readonly memory: DigestMemory
  /** The catalogue's digest of a tag; undefined if the catalogue lacks it. */
  readonly catalogued: (tag: string) => string | null | undefined
  /** Whether the catalogue is recent enough to conclude that a tag which it lacks does not exist. */
  readonly isFresh: () => boolean
  readonly clock: Clock
  /** Time-out of one look-up, however many requests it takes. */
  readonly timeoutMs: number
  /** How long a missing image is remembered as missing. */
  readonly missingMs: number
  readonly log: { warn(fields: object, message: string): void }
}

/** The known data of a tag. */
interface Known {
  /** null if the registry never returned one. */
  readonly digest: string | null
  /** When the registry was asked for it last, with or without an answer. */
  readonly askedMs: number
  /** When the registry itself returned this digest last; undefined if this replica has it only from elsewhere. */
  readonly answeredMs: number | undefined
}

/** How long an answer or a failure is reused: creations come in bursts, and tags change seldom. */
const freshMs = 5000
/**
 * How long a digest that the registry returned is used while it is asked again. docs/api.md promises this time to clients.
 */
const usableMs = 30_000
/** Number of remembered tags, and of remembered missing tags; a few hundred bytes each. */
const maxKnown = 500
/** Half of the connections. The others are the refresher's, so that creations do not delay the catalogue. */
const maxLooks = maxConnections / 2
/** Limit for tags that the catalogue lacks, so that made-up tags do not delay the others. */
const maxLooksForStrangers = maxLooks / 2
/**
 * A tag that a fresh catalogue lacks may be newer than it. The rate of such look-ups is higher than a user's creations.
 */
const strangers = { perSecond: 1, burst: 40 }

/** One instance serves a whole process. */
export class Digests {
  readonly #parts: DigestsParts
  readonly #known = new Map<string, Known>()
  /** Missing tags and digests, and since when this is known. */
  readonly #missing = new Map<string, number>()
  readonly #looks = new Slots(maxLooks)
  readonly #looksForStrangers = new Slots(maxLooksForStrangers)
  readonly #strangers: Buckets
  readonly #asking = new Map<string, Promise<Known | 'missing'>>()

  constructor(parts: DigestsParts) {
    this.#parts = parts
    this.#strangers = new Buckets(strangers, parts.clock)
  }

  /**
   * The digest of a tag or a digest, at most 30 s old while the registry answers. After 5 s the registry is asked again,
   * without waiting. Beyond 30 s the call waits; if there is no answer, this is the last known digest for 5 s, or null:
   * then the kubelet must find out. Concurrent calls for one image share a look-up, and none of them can abort it for
   * the others.
   * @returns 'missing' if the registry has no such image, or if a fresh catalogue lacks it and too many such tags are
   *   asked for
   */
  async look(reference: string, signal?: AbortSignal): Promise<string | null | 'missing'> {
    const nowMs = this.#parts.clock.monotonicMs()
    const known = this.#known.get(reference)
    if (known && nowMs - known.askedMs < freshMs) return known.digest
    const asking = this.#asking.get(reference)
    if (known?.answeredMs !== undefined && nowMs - known.answeredMs < usableMs) {
      if (!asking) void this.#ask(reference)
      return known.digest
    }
    if (this.#isMissing(reference, nowMs)) return 'missing'
    if (!asking && this.#isTooMuch(reference)) return digestForm.test(reference) ? null : 'missing'
    const found = await unlessAborted(asking ?? this.#ask(reference), signal)
    return found === 'missing' ? found : found.digest
  }

  /** Whether the registry recently reported it as missing, and no later catalogue has it. */
  #isMissing(reference: string, nowMs: number): boolean {
    const atMs = this.#missing.get(reference)
    return atMs !== undefined && nowMs - atMs < this.#parts.missingMs && this.#isStranger(reference)
  }

  /** Whether a fresh catalogue lacks it, and the limit for such look-ups is reached. */
  #isTooMuch(reference: string): boolean {
    return this.#isStranger(reference) && this.#parts.isFresh() && this.#strangers.take('') > 0
  }

  /** Whether neither the catalogue has it, nor this replica has found it before. */
  #isStranger(reference: string): boolean {
    return !this.#known.has(reference) && this.#parts.catalogued(reference) === undefined
  }

  #ask(reference: string): Promise<Known | 'missing'> {
    const asking = this.#askRegistry(reference).finally(() => this.#asking.delete(reference))
    this.#asking.set(reference, asking)
    return asking
  }

  async #askRegistry(reference: string): Promise<Known | 'missing'> {
    const { source, clock, timeoutMs, log } = this.#parts
    const deadline = new Deadline(clock, timeoutMs)
    try {
      // The source gets the deadline's signal too, but users do not wait if it ignores the signal.
      const ask = () => unlessAborted(source.manifestOf(reference, deadline.signal), deadline.signal)
      const manifest = await this.#inTurn(this.#isStranger(reference), ask, deadline.signal)
      this.#share(reference, manifest?.digest ?? null)
      if (manifest) return this.#remember(reference, manifest.digest, clock.monotonicMs())
      this.#known.delete(reference)
      this.#rememberMissing(reference)
      return 'missing'
    } catch (err) {
      log.warn({ err, image: reference }, 'the registry did not return the digest of an image')
      const digest = await this.#lastKnown(reference)
      const known = this.#known.get(reference)
      // A failure makes no digest younger.
      return this.#remember(reference, digest, known?.digest === digest ? known.answeredMs : undefined)
    } finally {
      deadline.release()
    }
  }

  async #inTurn<T>(isStranger: boolean, ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const lanes = isStranger ? [this.#looksForStrangers, this.#looks] : [this.#looks]
    const taken: Slots[] = []
    try {
      for (const lane of lanes) {
        await lane.enter(1, signal)
        taken.push(lane)
      }
      return await ask()
    } finally {
      for (const lane of taken) lane.leave()
    }
  }

  /** Shares a digest that is new here with the other replicas, without waiting. */
  #share(reference: string, digest: string | null): void {
    if (digestForm.test(reference) || this.#known.get(reference)?.digest === digest) return
    this.#parts.memory.remember(reference, digest).catch(() => {})
  }

  /** Another replica may know a later one; the catalogue's is as old as its reading. */
  async #lastKnown(reference: string): Promise<string | null> {
    const { memory, catalogued } = this.#parts
    const remembered = await memory.digestOf(reference).catch(() => null)
    return remembered ?? catalogued(reference) ?? this.#known.get(reference)?.digest ?? null
  }

  #remember(reference: string, digest: string | null, answeredMs: number | undefined): Known {
    const known = { digest, askedMs: this.#parts.clock.monotonicMs(), answeredMs }
    this.#missing.delete(reference)
    this.#known.delete(reference)
    this.#known.set(reference, known)
    if (this.#known.size > maxKnown) this.#known.delete(this.#known.keys().next().value!)
    return known
  }

  #rememberMissing(reference: string): void {
    this.#missing.delete(reference)
    this.#missing.set(reference, this.#parts.clock.monotonicMs())
    if (this.#missing.size > maxKnown) this.#missing.delete(this.#missing.keys().next().value!)
  }
}
