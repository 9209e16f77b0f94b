/**
 * The names of all keys. Keys of one installation share a hash tag, so one script covers record, stream, index and bell,
 * also on a Redis Cluster.
 *
 * | key | type | expires | what |
 * |---|---|---|---|
 * | last | string | never | the last issued op |
 * | generation | hash | never | identity of the Redis whose data were compared, and the last op found in it |
 * | mark | string | yes | the compare in progress |
 * | doubt | string | yes | why no compare can be trusted now: Redis' clock or the counter is wrong |
 * | hold | string | yes | operations up to this op are not claimed yet |
 * | sealing | string | yes | id of the key that plans are sealed with; kept by replicas that have it first |
 * | waiting | sorted set | empty when idle | users whose operation has no owner, by op |
 * | owned | sorted set | empty when idle | users whose operation is owned, by the lease's end |
 * | deadlines | sorted set | empty when idle | users with an operation, by its deadline |
 * | index | sorted set | with the labs | users by status: 1 pending, 2 running, 3 terminating, 4 failed |
 * | provisioned | set | never | users for whom the init container has succeeded once; if a user is lost, it runs again |
 * | bell | stream | a day after the last ring | announces changes to every replica |
 * | audit | sorted set | a week after the last note | notes of missing audit lines, by the time when other replicas may take them |
 * | prepulled | hash | never | by image: UIDs of the nodes onto which it was pulled |
 * | prepull-failures | hash | never | by image: why it could not be pulled, onto which nodes, and when to try again |
 * | lease-of-prepull | string | yes | token of the replica that prepulls |
 * | lab:USER | hash | with the lab | the record |
 * | events:USER | stream | 10 minutes after the lab | the events of the user's operations, ids `<op>-<seq>` |
 * | tombstone:USER | string | yes | op of the last deletion that ended |
 * | lease:USER | string | yes | token of the owner |
 * | nonce:NONCE | string | yes | the op that an acceptance drew, for a command sent again |
 * | idempotency:USER:HASH | string | yes | op and body's hash of an accepted create |
 * | catalogue:SCOPE | hash | yes | the images of one configuration: version, body, when read, when last asked for |
 * | digests:SCOPE | hash | yes | the last known digests of tags |
 * | counter | string | never | the last number that a claim drew; as KIND-counter, for a kind whose claims draw one |
 * | lease-of-refresh:SCOPE | string | yes | token of the replica that reads the registry |
 *
 * What is per user above is per name for every other kind of subject, under keys that begin with the kind: `KIND:NAME` is
 * the record, `KIND-waiting` a sorted set, `KIND-events:NAME` a stream. So no kind meets the members of another.
 */
import { labKind } from '../base/subject.ts'

/** The keys of one kind of subjects: its sorted sets, and what each subject has. */
export interface Family {
  readonly kind: string
  readonly waiting: string
  readonly owned: string
  readonly deadlines: string
  readonly index: string
  readonly provisioned: string
  /** The numbers that claims draw, for a kind whose claims draw one. */
  readonly counter: string
  record(name: string): string
  events(name: string): string
  tombstone(name: string): string
  lease(name: string): string
  idempotency(name: string, hash: string): string
}

/** First words of other keys, which no kind may have. */
const reserved = new Set(['events', 'tombstone', 'lease', 'nonce', 'idempotency', 'catalogue', 'digests'])

/** The keys of any kind but labs, whose keys are older than kinds. */
class KindKeys implements Family {
  readonly kind: string
  readonly waiting: string
  readonly owned: string
  readonly deadlines: string
  readonly index: string
  readonly provisioned: string
  readonly counter: string
  readonly #tag: string

  constructor(tag: string, kind: string) {
    if (!/^[a-z]+$/.test(kind) || reserved.has(kind)) throw new Error(`not a name for a kind of subjects: ${kind}`)
    this.kind = kind
    this.#tag = tag
    const own = `${tag}${kind}-`
    this.waiting = `${own}waiting`
    this.owned = `${own}owned`
    this.deadlines = `${own}deadlines`
    this.index = `${own}index`
    this.provisioned = `${own}provisioned`
    this.counter = `${own}counter`
  }

  record(name: string): string {
    return `${this.#tag}${this.kind}:${name}`
  }
  events(name: string): string {
    return `${this.#tag}${this.kind}-events:${name}`
  }
  tombstone(name: string): string {
    return `${this.#tag}${this.kind}-tombstone:${name}`
  }
  lease(name: string): string {
    return `${this.#tag}${this.kind}-lease:${name}`
  }
  idempotency(name: string, hash: string): string {
    return `${this.#tag}${this.kind}-idempotency:${name}:${hash}`
  }
}

/** The keys of the installation and, as a family, those of labs. */
export class Keys implements Family {
  readonly kind = labKind
  readonly counter: string
  readonly last: string
  readonly generation: string
  readonly mark: string
  readonly doubt: string
  readonly hold: string
  readonly sealing: string
  readonly waiting: string
  readonly owned: string
  readonly deadlines: string
  readonly index: string
  readonly provisioned: string
  readonly bell: string
  readonly compareLease: string
  readonly audit: string
  readonly prepulled: string
  readonly prepullFailures: string
  readonly prepullLease: string
  readonly #tag: string

  constructor(prefix: string) {
    this.#tag = `{${prefix}}:`
    this.last = `${this.#tag}last`
    this.generation = `${this.#tag}generation`
    this.mark = `${this.#tag}mark`
    this.doubt = `${this.#tag}doubt`
    this.hold = `${this.#tag}hold`
    this.sealing = `${this.#tag}sealing`
    this.waiting = `${this.#tag}waiting`
    this.owned = `${this.#tag}owned`
    this.deadlines = `${this.#tag}deadlines`
    this.index = `${this.#tag}index`
    this.provisioned = `${this.#tag}provisioned`
    this.bell = `${this.#tag}bell`
    this.counter = `${this.#tag}lab-counter`
    this.compareLease = `${this.#tag}lease-of-compare`
    this.audit = `${this.#tag}audit`
    this.prepulled = `${this.#tag}prepulled`
    this.prepullFailures = `${this.#tag}prepull-failures`
    this.prepullLease = `${this.#tag}lease-of-prepull`
  }

  /** @throws if a kind cannot have this name */
  family(kind: string): Family {
    return kind === labKind ? this : new KindKeys(this.#tag, kind)
  }

  record(user: string): string {
    return `${this.#tag}lab:${user}`
  }
  events(user: string): string {
    return `${this.#tag}events:${user}`
  }
  tombstone(user: string): string {
    return `${this.#tag}tombstone:${user}`
  }
  lease(user: string): string {
    return `${this.#tag}lease:${user}`
  }
  nonce(nonce: string): string {
    return `${this.#tag}nonce:${nonce}`
  }
  idempotency(user: string, hash: string): string {
    return `${this.#tag}idempotency:${user}:${hash}`
  }
  catalogue(scope: string): string {
    return `${this.#tag}catalogue:${scope}`
  }
  digests(scope: string): string {
    return `${this.#tag}digests:${scope}`
  }
  refreshLease(scope: string): string {
    return `${this.#tag}lease-of-refresh:${scope}`
  }
}
