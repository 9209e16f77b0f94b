/** The digest of an image at this moment, as the registry tells it; else the last that anyone here heard of. */
import type { Clock } from '../clock.ts'
import { Deadline, unlessAborted } from '../kube/deadline.ts'
import { digestForm } from './reference.ts'
import type { ImageSource } from './source.ts'

/** What all replicas remember of tags. */
export interface DigestMemory {
  digestOf(tag: string): Promise<string | null>
  remember(tag: string, digest: string | null): Promise<void>
}

export interface DigestsParts {
  readonly source: Pick<ImageSource, 'manifestOf'>
  readonly memory: DigestMemory
  /** What the catalogue says of a tag. */
  readonly catalogued: (tag: string) => string | null | undefined
  readonly clock: Clock
  /** Of one look, however many requests it takes. */
  readonly timeoutMs: number
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
/** How many tags are remembered; with a tag each in a few hundred bytes. */
const maxKnown = 500

/** One of them serves a whole process. */
export class Digests {
  readonly #parts: DigestsParts
  readonly #known = new Map<string, Known>()
  readonly #asking = new Map<string, Promise<Known | 'missing'>>()

  constructor(parts: DigestsParts) {
    this.#parts = parts
  }

  /**
   * What a tag or a digest names. A registry that does not answer leaves what was last known of it, or null: it is for the
   * kubelet, then, to find out. All who ask for one image at the same time share one look, which none of them can end for
   * the others.
   * @returns 'missing' when the registry says that there is none
   */
  async look(reference: string, signal?: AbortSignal): Promise<string | null | 'missing'> {
    const known = this.#known.get(reference)
    if (known && this.#parts.clock.monotonicMs() - known.atMs < freshMs) return known.digest
    const found = await unlessAborted(this.#asking.get(reference) ?? this.#ask(reference), signal)
    return found === 'missing' ? found : found.digest
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
      const manifest = await unlessAborted(source.manifestOf(reference, deadline.signal), deadline.signal)
      this.#tell(reference, manifest?.digest ?? null)
      if (manifest) return this.#remember(reference, manifest.digest)
      this.#known.delete(reference)
      return 'missing'
    } catch (err) {
      log.warn({ err, image: reference }, 'the registry did not tell the digest of an image')
      return this.#remember(reference, await this.#lastKnown(reference))
    } finally {
      deadline.release()
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
    this.#known.delete(reference)
    this.#known.set(reference, known)
    if (this.#known.size > maxKnown) this.#known.delete(this.#known.keys().next().value!)
    return known
  }
}
