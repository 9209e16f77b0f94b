/** The digest of an image at this moment, as the registry tells it; else the last that anyone here heard of. */
import { Buckets } from '../../base/buckets.ts'
import type { Clock } from '../../base/clock.ts'
import { Deadline, unlessAborted } from '../../base/deadline.ts'
import { Slots } from '../../base/slots.ts'
import { maxConnections } from '../registry/http.ts'
import { digestForm } from '../registry/names.ts'
import type { ImageSource } from '../registry/source.ts'

/** What all replicas remember of tags. */
export interface DigestMemory {
  digestOf(tag: string): Promise<string | null>
  remember(tag: string, digest: string | null): Promise<void>
}

export interface DigestsParts {
  readonly source: Pick<ImageSource, 'manifestOf'>
  readonly memory: DigestMemory
  /** What the catalogue says of a tag; undefined where it has none. */
  readonly catalogued: (tag: string) => string | null | undefined
  /** Whether the catalogue is so young that it counts for something that it lacks a tag. */
  readonly isFresh: () => boolean
  readonly clock: Clock
  /** Of one look, however many requests it takes. */
  readonly timeoutMs: number
  /** How long it is remembered that there is no such image. */
  readonly missingMs: number
  readonly log: { warn(fields: object, message: string): void }
}

/** What is known of a tag. */
interface Known {
  /** null when the registry never told. */
  readonly digest: string | null
  readonly atMs: number
}

/** How long an answer serves others too: creations come in bursts, and tags move seldom. A failure counts as one. */
const freshMs = 5000
/** How many tags are remembered, and how many that do not exist; with a tag each in a few hundred bytes. */
const maxKnown = 500
/** The other half of the connections is the refresher's: no creation delays the catalogue. */
const maxLooks = maxConnections / 2
/** Of these, how many may be for what the catalogue lacks: made-up tags do not delay the others. */
const maxLooksForStrangers = maxLooks / 2
/** A tag that a fresh catalogue lacks may be newer than it. So often it is looked whether it is: more than a user creates. */
const strangers = { perSecond: 1, burst: 40 }

/** One of them serves a whole process. */
export class Digests {
  readonly #parts: DigestsParts
  readonly #known = new Map<string, Known>()
  /** By tag or digest that does not exist: since when this is known. */
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
   * What a tag or a digest names. A registry that does not answer leaves what was last known of it, or null: it is for the
   * kubelet, then, to find out. All who ask for one image at the same time share one look, which none of them can end for
   * the others.
   * @returns 'missing' when the registry says that there is none, or a fresh catalogue when too many such tags are asked for
   */
  async look(reference: string, signal?: AbortSignal): Promise<string | null | 'missing'> {
    const nowMs = this.#parts.clock.monotonicMs()
    const known = this.#known.get(reference)
    if (known && nowMs - known.atMs < freshMs) return known.digest
    if (this.#isMissing(reference, nowMs)) return 'missing'
    const asking = this.#asking.get(reference)
    if (!asking && this.#isTooMuch(reference)) return digestForm.test(reference) ? null : 'missing'
    const found = await unlessAborted(asking ?? this.#ask(reference), signal)
    return found === 'missing' ? found : found.digest
  }

  /** Whether the registry said so lately, and the catalogue has not listed it since. */
  #isMissing(reference: string, nowMs: number): boolean {
    const atMs = this.#missing.get(reference)
    return atMs !== undefined && nowMs - atMs < this.#parts.missingMs && this.#isStranger(reference)
  }

  /** Whether a fresh catalogue lacks it, and too much of that kind was looked for. */
  #isTooMuch(reference: string): boolean {
    return this.#isStranger(reference) && this.#parts.isFresh() && this.#strangers.take('') > 0
  }

  /** What neither the catalogue has, nor this replica found before. */
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
      // The source hears of the deadline too; but whether it heeds it, users do not wait for.
      const ask = () => unlessAborted(source.manifestOf(reference, deadline.signal), deadline.signal)
      const manifest = await this.#inTurn(this.#isStranger(reference), ask, deadline.signal)
      this.#tell(reference, manifest?.digest ?? null)
      if (manifest) return this.#remember(reference, manifest.digest)
      this.#known.delete(reference)
      this.#rememberMissing(reference)
      return 'missing'
    } catch (err) {
      log.warn({ err, image: reference }, 'the registry did not tell the digest of an image')
      return this.#remember(reference, await this.#lastKnown(reference))
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

  /** What it told is told to the other replicas, where it is news here; nobody waits for that. */
  #tell(reference: string, digest: string | null): void {
    if (digestForm.test(reference) || this.#known.get(reference)?.digest === digest) return
    this.#parts.memory.remember(reference, digest).catch(() => {})
  }

  /** Another replica may have heard later; what the catalogue says is as old as its reading. */
  async #lastKnown(reference: string): Promise<string | null> {
    const { memory, catalogued } = this.#parts
    const remembered = await memory.digestOf(reference).catch(() => null)
    return remembered ?? catalogued(reference) ?? this.#known.get(reference)?.digest ?? null
  }

  #remember(reference: string, digest: string | null): Known {
    const known = { digest, atMs: this.#parts.clock.monotonicMs() }
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
