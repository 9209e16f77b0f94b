/**
 * A watch on one kind of object with our own answers laid over it: what we have just written is seen at once, and not
 * written again, although the watch shows it later. An answer counts until the watch has it, or something newer.
 */
import type { Clock } from '../base/clock.ts'
import type { KubeObject } from '../base/domain.ts'
import { keyOf } from '../kube/cache.ts'
import type { Change, ChangeListener } from '../kube/picture.ts'
import type { Reflector } from '../kube/reflector.ts'
import { SightIndex } from './sight-index.ts'
import type { Fact, OverlaidWatch } from './types.ts'

/**
 * An answer counts for so long at most: the watch may never show it, such as an object that its selector does not select.
 * Longer than a watch can be silent until it is taken for dead.
 */
const layMs = 120_000

interface Laid {
  /** Undefined: the object with this UID is gone. */
  readonly fact: Fact | undefined
  readonly uid: string
  readonly resourceVersion: string
  /** Our deletion was accepted, which makes no version that we know of. */
  readonly deleted: boolean
  readonly untilMs: number
}

export interface SightOptions {
  readonly reflector: Pick<Reflector<Fact>, 'get' | 'values' | 'on' | 'whenSynced'>
  readonly apiVersion: string
  readonly kind: string
  /** As the reflector projects. */
  readonly project: (object: KubeObject) => Fact
  readonly clock: Clock
}

export class Sight implements OverlaidWatch {
  readonly #options: SightOptions
  readonly #laid = new Map<string, Laid>()
  readonly #indexes: SightIndex[] = []
  /**
   * The versions at which the watch has shown the end of UIDs a moment ago. An older answer may come after that. A newer one,
   * or one of that version, tells that the object only left what the watch selects.
   */
  readonly #ended = new Map<string, { readonly resourceVersion: string; readonly untilMs: number }>()

  constructor(options: SightOptions) {
    this.#options = options
    options.reflector.on(change => this.#seen(change))
  }

  get apiVersion(): string {
    return this.#options.apiVersion
  }

  get kind(): string {
    return this.#options.kind
  }

  /** Resolves after the first complete list; rejects with the signal's reason when that comes first. */
  whenSynced(signal: AbortSignal): Promise<void> {
    return this.#options.reflector.whenSynced(signal)
  }

  /** By `namespace/name`, or by name where there is no namespace. */
  get(key: string): Fact | undefined {
    return this.#over(key, this.#options.reflector.get(key))
  }

  /** As the watch shows it, without our own answers: its changes tell of these objects. */
  shown(key: string): Fact | undefined {
    return this.#options.reflector.get(key)
  }

  *values(): Generator<Fact, void, undefined> {
    const unseen = new Set(this.#laid.keys())
    for (const seen of this.#options.reflector.values()) {
      const key = keyOfFact(seen)
      unseen.delete(key)
      const fact = this.#over(key, seen)
      if (fact) yield fact
    }
    for (const key of unseen) {
      const fact = this.#over(key, undefined)
      if (fact) yield fact
    }
  }

  /**
   * Objects by names that their facts give them, in no order.
   * @param namesOf pure
   */
  index(namesOf: (fact: Fact) => Iterable<string>): (name: string) => Fact[] {
    const index = new SightIndex(namesOf)
    this.#indexes.push(index)
    for (const key of [...this.#options.reflector.values()].map(keyOfFact)) this.#indexed(key)
    for (const key of this.#laid.keys()) this.#indexed(key)
    return name => index.get(name, key => this.get(key))
  }

  /** Calls the listener with every change that the watch shows. */
  on(listener: ChangeListener<Fact>): () => void {
    return this.#options.reflector.on(listener)
  }

  /** Lays the server's answer over the watch. */
  lay(object: KubeObject): void {
    this.#lay(this.#options.project(object), false)
  }

  /** The server has accepted our deletion. */
  layDeleted(fact: Fact): void {
    this.#lay({ ...fact, deleting: true }, true)
  }

  /** The server says that there is no object of this name any more. */
  layGone(fact: Fact): void {
    const { uid, resourceVersion } = fact
    this.#put(keyOfFact(fact), { fact: undefined, uid, resourceVersion, deleted: true })
  }

  #lay(fact: Fact, deleted: boolean): void {
    const { uid, resourceVersion } = fact
    this.#put(keyOfFact(fact), { fact, uid, resourceVersion, deleted })
  }

  #put(key: string, laid: Omit<Laid, 'untilMs'>): void {
    const nowMs = this.#options.clock.monotonicMs()
    const seen = this.#options.reflector.get(key)
    const ended = this.#ended.get(laid.uid)
    const isEnded = ended !== undefined && nowMs < ended.untilMs && isBefore(laid, ended.resourceVersion)
    if (isEnded || (seen && isOver(laid, seen))) return
    for (const [known, { untilMs }] of this.#laid) {
      if (untilMs > nowMs) break
      this.#forget(known)
    }
    const before = this.#laid.get(key)
    if (before && isPast(laid, before)) return
    // In the order of their ends.
    this.#laid.delete(key)
    this.#laid.set(key, { ...laid, untilMs: nowMs + layMs })
    this.#indexed(key)
  }

  #forget(key: string): void {
    this.#laid.delete(key)
    this.#indexed(key)
  }

  #indexed(key: string): void {
    for (const index of this.#indexes) index.put(key, [this.#options.reflector.get(key), this.#laid.get(key)?.fact])
  }

  #over(key: string, seen: Fact | undefined): Fact | undefined {
    const laid = this.#laid.get(key)
    if (!laid) return seen
    const isLate = this.#options.clock.monotonicMs() >= laid.untilMs
    if (!isLate && !(seen && isOver(laid, seen))) return laid.fact
    this.#forget(key)
    return seen
  }

  #seen(change: Change<Fact>): void {
    const key = keyOf(change.namespace, change.name)
    const endedAt = change.type === 'gone' && change.confirmed ? change.value.resourceVersion : undefined
    if (endedAt !== undefined) this.#end(change.uid, endedAt)
    const laid = this.#laid.get(key)
    if (laid && isSuperseded(laid, change, endedAt)) this.#laid.delete(key)
    this.#indexed(key)
  }

  #end(uid: string, resourceVersion: string): void {
    const nowMs = this.#options.clock.monotonicMs()
    for (const [known, { untilMs }] of this.#ended) {
      if (untilMs > nowMs) break
      this.#ended.delete(known)
    }
    this.#ended.set(uid, { resourceVersion, untilMs: nowMs + layMs })
  }
}

const keyOfFact = ({ ref }: Fact): string => keyOf(ref.namespace, ref.name)

/** Whether the watch shows the answer, or something newer. The version before our own deletion is older. */
function isOver(laid: Omit<Laid, 'untilMs'>, seen: Fact): boolean {
  const isSame = seen.resourceVersion === laid.resourceVersion
  return isSame ? !laid.deleted || seen.uid !== laid.uid : isNewer(seen.resourceVersion, laid.resourceVersion)
}

/** Whether an answer comes behind a later one about the same object. What says that an object ends is the last word on it. */
function isPast(laid: Omit<Laid, 'untilMs'>, before: Laid): boolean {
  if (laid.deleted || laid.uid !== before.uid || !isCounted(laid.resourceVersion)) return false
  return before.deleted
    ? !isNewer(laid.resourceVersion, before.resourceVersion)
    : isBefore(laid, before.resourceVersion)
}

function isSuperseded(laid: Laid, change: Change<Fact>, endedAt: string | undefined): boolean {
  if (change.type === 'put') return isOver(laid, change.value)
  return change.uid === laid.uid && (endedAt === undefined || isBefore(laid, endedAt))
}

/** Whether an answer is from before the end that the watch has shown. A deletion makes a version of its own. */
const isBefore = ({ resourceVersion }: Pick<Laid, 'resourceVersion'>, endedAt: string): boolean =>
  resourceVersion !== endedAt && isNewer(endedAt, resourceVersion)

/** API servers count versions; of any others the watch's is taken for the newer one. */
function isNewer(version: string, than: string): boolean {
  return isCounted(version) && isCounted(than) ? BigInt(version) > BigInt(than) : true
}

const isCounted = (version: string): boolean => /^\d+$/.test(version)
