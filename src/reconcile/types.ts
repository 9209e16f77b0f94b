/**
 * A kind of custom resource, as the engine sees it: the objects that it wants, those of its objects that exist, and its status.
 * All of it is computed from watches; the engine alone writes.
 */
import type { KubeMetadata, KubeObject } from '../base/domain.ts'
import type { JsonObject } from '../base/json.ts'
import type { ObjectRef } from '../kube/kinds.ts'
import type { Change, ChangeListener } from '../kube/picture.ts'

/** Names of fields from the top of an object; an index of a list is a name too. */
export type Path = readonly string[]

export type OwnerReference = NonNullable<KubeMetadata['ownerReferences']>[number]

/** An object as a watch showed it, without what we do not own. */
export interface Fact {
  readonly ref: ObjectRef
  readonly uid: string
  readonly resourceVersion: string
  readonly owners: readonly OwnerReference[]
  /** It has a deletionTimestamp. */
  readonly deleting: boolean
  /** Only the paths that we own; of the parent also its status. */
  readonly owned: JsonObject
}

/** An object that should exist. */
export interface Wanted {
  /**
   * With an ownerReference to each of its parents. It must not contain what the server drops, such as empty lists of
   * optional fields: it would be found different for ever.
   */
  readonly object: KubeObject
  /** Objects of a stage are written when all stages below are as wanted. Rights have the highest one. 0 or more. */
  readonly stage: number
  /**
   * `exact`: the owned paths are equal. `covers`: every wanted value is there, and nothing that we wanted last time and
   * do not want now; what the server or others add is left alone. `part`: every wanted value is there, and all else is left
   * alone, also what we wanted last time. It is for an object that exists already.
   */
  readonly compare: 'exact' | 'covers' | 'part'
  /** Paths that no patch can change: if they differ, the object is removed at its stage, and made again. */
  readonly immutable?: readonly Path[]
  /**
   * The object takes something away by standing as it is, such as a quota or a NetworkPolicy. If it is missing although all
   * stages below are as wanted, or differs, that is corrected with the revocations: without a lease, and in a pause once a
   * second.
   */
  readonly restricts?: boolean
  /** The fate of an object that a former parent of this name owns. `await`: others remove it. Default: `remove`. */
  readonly former?: 'remove' | 'await'
  /** Whether an object that no parent of the kind owns may become ours, such as by an annotation with the parent's UID. */
  readonly adopts?: (fact: Fact) => boolean
}

/**
 * A write to Redis. Any replica may send it at any time: its script refuses a generation that is lower than the one written by
 * the same parent. A parent that was made again begins at 1, so the script also compares its UID.
 */
export interface Effect {
  readonly name: string
  /** A short form of the value, with the UID of the parent. It is written again when this changes, or when Redis lost it. */
  readonly mark: string
  /**
   * @throws {RetryLater} when Redis does not answer
   * @throws {Fenced} when a newer generation is written: the parent is read, and all is planned again
   */
  apply(signal: AbortSignal): Promise<void>
}

export interface Hold {
  readonly do: 'hold'
  /**
   * The one parent whose objects these are: objects of other parents are never touched, and before a change of others is
   * undone it is read again, since another replica may know a newer wish. `shared`: every parent of the kind may own them.
   */
  readonly parent: Fact | 'shared'
  readonly objects: readonly Wanted[]
  /** Those of the key's objects that exist, and whatever else has the name of a wanted one. */
  readonly standing: readonly Fact[]
  /** Why nothing may be given for now: only revocations are done, and no effects. */
  readonly onlyRevocations?: string
  /** When to look again although nothing changes, by the clock of `nowMs`. */
  readonly dueMs?: number
  readonly effects?: readonly Effect[]
  /** Without it nothing is created or changed, only removed. It is never done without. */
  readonly lock?: Lock
}

/** Another lease, which keys share. */
export interface Lock {
  readonly name: string
  /**
   * Called when the lock is held, before anything is created or changed in a turn: reads what no watch shows in time.
   * @returns why nothing may be created or changed, such as a quota; undefined if it may
   * @throws {RetryLater} if that cannot be known now
   */
  check(signal: AbortSignal): Promise<string | undefined>
}

/** `leave`: there is no parent, and what it had is the garbage collector's. */
export type Verdict = Hold | { readonly do: 'leave' }

/** Acts in the order of their stages. `stage` of acts that take something away is `firstStage`. */
export interface Create {
  readonly act: 'create'
  readonly stage: number
  readonly object: KubeObject
  readonly restricts?: boolean
}
export interface Alter {
  readonly act: 'change'
  readonly stage: number
  readonly fact: Fact
  readonly patch: JsonObject
  /** It only takes elements of rights away. */
  readonly shrinks?: boolean
  readonly restricts?: boolean
}
export interface Remove {
  readonly act: 'remove'
  readonly stage: number
  readonly fact: Fact
  /** `former`: it belongs to a parent of this name that is gone. */
  readonly why: 'unwanted' | 'immutable' | 'former'
  /** Removes any version of it: somebody writes it before each of our writes. */
  readonly anyVersion?: boolean
}
/** The object of this name is being deleted. */
export interface Await {
  readonly act: 'await'
  readonly stage: number
  readonly fact: Fact
}
/** Another's object has the name. It is never touched, and nothing of this stage or a later one is written. */
export interface Conflict {
  readonly act: 'conflict'
  readonly stage: number
  readonly fact: Fact
}
export type Act = Create | Alter | Remove | Await | Conflict

/** The state that a turn has left. */
export interface Result {
  /** Every object is as wanted, and every effect is written. */
  readonly settled: boolean
  /** Every object is as wanted, though effects may wait for Redis. */
  readonly made: boolean
  readonly conflicts: readonly Fact[]
  readonly awaited: readonly Fact[]
  /** Why a write was refused, or is not answered at the third try, in at most 1,000 characters; undefined if none is. */
  readonly failure: string | undefined
  /** Names of effects, and of the lock, that wait for Redis. */
  readonly due: readonly string[]
  /** Why nothing was given, as the verdict says. */
  readonly onlyRevocations: string | undefined
  /** Another writer changes these objects again and again. Only removals are done for now. */
  readonly contended: boolean
}

/**
 * Fields that the status of a parent should have. They are merged into `of.owned.status` if that differs: other fields stay as
 * they are, `null` removes one, and a list is replaced as a whole.
 */
export interface StatusPatch {
  readonly of: Fact
  readonly status: JsonObject
}

/** The kind of the parents, by which their objects are known. */
export interface ParentKind {
  readonly apiVersion: string
  readonly kind: string
}

/** A key that has to be looked at. */
export interface Poke {
  readonly key: string
  /** It passes all that are not: an edit of a parent that was made before, a deviation, the end of a right. */
  readonly urgent: boolean
}

/** A watch on one kind of object with our own answers laid over it; see `Sight`. */
export interface OverlaidWatch {
  readonly apiVersion: string
  readonly kind: string
  /** By `namespace/name`, or by name where there is no namespace. */
  get(key: string): Fact | undefined
  values(): Iterable<Fact>
  /** Resolves after the first complete list; rejects with the signal's reason when that comes first. */
  whenSynced(signal: AbortSignal): Promise<void>
  /** Calls the listener with every change that the watch shows. @returns a function that removes it */
  on(listener: ChangeListener<Fact>): () => void
  /** Lays the server's answer over the watch. */
  lay(object: KubeObject): void
  /** The server has accepted our deletion. */
  layDeleted(fact: Fact): void
  /** The server says that there is no object of this name any more. */
  layGone(fact: Fact): void
}

/** Our part of a kind of object. */
export interface OwnedKind {
  readonly watch: Pick<OverlaidWatch, 'apiVersion' | 'kind'>
  /** Fields that we own in each object, as its facts have them. A wish must have nothing else. */
  readonly paths: readonly Path[]
  /**
   * Its objects give rights, and each element of these lists is one. Unwanted ones go before anything else is done. An
   * object is emptied before it is removed, since a finalizer can hold up its end; and it has no owners but its parents.
   */
  readonly grants?: readonly Path[]
}

export interface Source extends OwnedKind {
  readonly watch: OverlaidWatch
  /**
   * Such an object with a parent as its owner is made only by the work of its key. When one comes, a replica that has not begun
   * the key leaves it to others for a second, unless it is urgent. A stranger who makes one delays the key by that second. Not
   * for objects that give rights.
   */
  readonly made?: boolean
  /** Pure. An error is logged, and names no key. It is also called for objects that have not changed. */
  keysOf(change: Change<Fact>): Iterable<Poke>
}

export interface Kind<World> {
  /** For metrics, the User-Agent, and `lease-of:<name>:<key>`. */
  readonly name: string
  readonly parent: ParentKind
  /** One for every kind of object that a verdict can name. */
  readonly sources: readonly Source[]
  /** The watches, with our own answers laid over them. */
  world(): World
  /** Pure, total and deterministic: replicas that see the same want the same. `nowMs`: since the epoch. */
  desired(key: string, world: World, nowMs: number): Verdict
  /**
   * Pure. A settled result must give the same status at each replica; a field `lastTransitionTime` is not compared between
   * them, and should be that of `world` while nothing else differs. `nowMs`: since the epoch. Undefined: no status is written.
   */
  report(key: string, world: World, result: Result, nowMs: number): StatusPatch | undefined
  /** The share that a key counts for now, so that nobody delays others; pure. Default: its namespace, or itself without one. */
  shareOf?(key: string): string
  /**
   * Called when a key that was held is left: by each replica that held it, again after it has thrown, and never if nobody ran
   * then. So it is a hint, and what it ends must be found by a compare too. The signal ends with the turn.
   */
  onGone?(key: string, signal: AbortSignal): Promise<void>
}
