/** The keys of one kind of subjects; `keys.ts` has the table. */
import { labKind } from '../base/subject.ts'

/** The kinds of subjects of dispatch. */
export const machineKind = 'instance'
export const containerKind = 'container'

/** The words by which `Family` finds the keys that all kinds of dispatch share. */
export const dispatchShared = (tag: string) => ({
  generation: `${tag}dispatch-generation`,
  hold: `${tag}dispatch-hold`,
  lastEpoch: `${tag}dispatch-last`,
})

/** First words of other keys, which no kind may have. */
const reserved = new Set([
  ...['events', 'tombstone', 'lease', 'nonce', 'idempotency', 'catalogue', 'digests'],
  ...['due', 'activity', 'gw'],
])

const sharedByLabs = (tag: string, kind: string) => ({
  generation: `${tag}generation`,
  hold: `${tag}hold`,
  lastEpoch: `${tag}${kind}-epoch`,
})

/**
 * The keys of one kind of subjects: its sets, and what each subject has. Those of labs have no prefix, since they are older
 * than kinds.
 */
export class Family {
  readonly kind: string
  /**
   * `generation` and `hold` are those of labs, for every kind but those of dispatch: its operations wait until the labs were
   * compared. A kind with a compare of its own must give both keys of its own here. Its compare then writes them
   * (`begin-compare`, `end-compare`) and rings `compared`, a replica awaits it before it is ready (`run/serve.ts`), and
   * `skylab heal` resets them.
   */
  readonly generation: string
  readonly hold: string
  readonly waiting: string
  readonly owned: string
  readonly deadlines: string
  readonly index: string
  /** The last epoch, for a kind whose claims draw one. */
  readonly lastEpoch: string
  readonly #subject: string
  readonly #own: string

  /** @throws if a kind cannot have this name */
  constructor(tag: string, kind: string) {
    if (!/^[a-z]+$/.test(kind) || reserved.has(kind)) throw new Error(`not a name for a kind of subjects: ${kind}`)
    this.kind = kind
    this.#subject = `${tag}${kind}`
    this.#own = kind === labKind ? tag : `${tag}${kind}-`
    const isDispatch = kind === machineKind || kind === containerKind
    const shared = isDispatch ? dispatchShared(tag) : sharedByLabs(tag, kind)
    this.generation = shared.generation
    this.hold = shared.hold
    this.waiting = `${this.#own}waiting`
    this.owned = `${this.#own}owned`
    this.deadlines = `${this.#own}deadlines`
    this.index = `${this.#own}index`
    this.lastEpoch = shared.lastEpoch
  }

  record(name: string): string {
    return `${this.#subject}:${name}`
  }
  events(name: string): string {
    return `${this.#own}events:${name}`
  }
  tombstone(name: string): string {
    return `${this.#own}tombstone:${name}`
  }
  lease(name: string): string {
    return `${this.#own}lease:${name}`
  }
  nonce(nonce: string): string {
    return `${this.#own}nonce:${nonce}`
  }
  idempotency(name: string, hash: string): string {
    return `${this.#own}idempotency:${name}:${hash}`
  }
}
