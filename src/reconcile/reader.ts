/** Reads objects that a watch may show late, or never. Each answer is laid over the watch. */
import type { Clock } from '../base/clock.ts'
import { Deadline } from '../base/deadline.ts'
import { isNamespaced, type ObjectRef } from '../kube/kinds.ts'
import { isParent } from './facts.ts'
import type { TurnLimit } from './limit.ts'
import type { Look } from './look.ts'
import type { Memory } from './memory.ts'
import { refKey, refOf, refOfAct } from './plan.ts'
import type { Act, Fact, OwnerReference, ParentKind } from './types.ts'
import type { Writer } from './writer.ts'

/** Objects that are in the way are read again after this time. */
export const waitingMs = 30_000
/** Reading delays a revocation by no more. */
const readMs = 500
/** Objects that are read at once. More are seldom in doubt. */
const most = 50

export interface ReaderOptions {
  readonly parent: ParentKind
  readonly memory: Memory
  readonly writer: Pick<Writer, 'readName'>
  readonly clock: Clock
  readonly limit: TurnLimit
}

export class Reader {
  readonly #options: ReaderOptions

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /**
   * Reads objects that are in the way now and then: a watch with a selector does not tell what becomes of them.
   * @returns whether it did
   */
  async waiting({ acts }: Look): Promise<boolean> {
    const { memory, clock } = this.#options
    const facts = acts.filter(isWaiting).map(({ fact }) => fact)
    const nowMs = clock.monotonicMs()
    if (facts.length === 0) memory.waitsSinceMs = undefined
    else memory.waitsSinceMs ??= nowMs
    if (memory.waitsSinceMs === undefined || nowMs < memory.waitsSinceMs + waitingMs) return false
    memory.waitsSinceMs = nowMs
    await this.#read(facts.map(({ ref }) => ref))
    return true
  }

  /**
   * Reads the parents by which something is about to be given, or taken away: another replica may know a newer wish, and
   * then it is our watch that is behind. If the server does not answer, our watch counts.
   */
  async parents({ verdict, acts }: Look): Promise<void> {
    const { parent, objects } = verdict
    if (parent !== 'shared') return this.#read([parent.ref])
    const owners = new Map(objects.map(({ object }) => [refKey(refOf(object)), object.metadata.ownerReferences ?? []]))
    const refs = acts.flatMap(act => {
      const ref = refOfAct(act)
      const have = act.act === 'create' ? [] : act.fact.owners
      return this.#refs(doubtful(have, owners.get(refKey(ref)) ?? [], this.#options.parent), ref)
    })
    await this.#read([...new Map(refs.map(ref => [refKey(ref), ref])).values()])
  }

  /** Parents of an object, which are in its namespace if they are in any. */
  #refs(names: readonly string[], { namespace }: ObjectRef): ObjectRef[] {
    const { apiVersion, kind } = this.#options.parent
    const place = isNamespaced(apiVersion, kind) && namespace !== undefined ? { namespace } : {}
    return names.map(name => ({ apiVersion, kind, name, ...place }))
  }

  async #read(refs: readonly ObjectRef[]): Promise<void> {
    const { writer, clock, limit } = this.#options
    const deadline = new Deadline(clock, readMs, limit.signal)
    try {
      await Promise.allSettled(refs.slice(0, most).map(ref => writer.readName(ref, deadline.signal)))
    } finally {
      deadline.release()
    }
  }
}

export const isWaiting = (act: Act): act is Act & { readonly fact: Fact } =>
  act.act === 'conflict' || act.act === 'await'

/** Whether a shared object names a parent that its wish does not. */
export function losesParent({ verdict, acts }: Look, kind: ParentKind): boolean {
  if (verdict.parent !== 'shared') return false
  const wanted = new Set(
    verdict.objects.flatMap(({ object }) => object.metadata.ownerReferences ?? []).map(({ uid }) => uid),
  )
  const isLost = (owner: OwnerReference) => isParent(owner, kind) && !wanted.has(owner.uid)
  return acts.some(act => (act.act === 'change' || act.act === 'remove') && act.fact.owners.some(isLost))
}

/** Names of the parents in which an object and its wish differ; all of them if they do not. */
function doubtful(have: readonly OwnerReference[], want: readonly OwnerReference[], kind: ParentKind): string[] {
  const [ours, wanted] = [have, want].map(owners => owners.filter(owner => isParent(owner, kind))) as [
    OwnerReference[],
    OwnerReference[],
  ]
  const lacks = (owners: readonly OwnerReference[]) => (owner: OwnerReference) =>
    !owners.some(({ uid }) => uid === owner.uid)
  const differing = [...ours.filter(lacks(wanted)), ...wanted.filter(lacks(ours))]
  return (differing.length > 0 ? differing : wanted).map(({ name }) => name)
}
