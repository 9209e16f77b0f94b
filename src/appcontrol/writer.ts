/**
 * Writes the wishes of people about an app or a template: each is one patch of its object, bound to the UID and the version by
 * which it was judged. Another write of the object meanwhile makes the patch fail, and all is judged again. The reconciler
 * carries out the wish, so nothing is half done when this replica dies.
 *
 * Each wish is judged by what the API server has now. This replica's watch may lag: by a former state it would answer that
 * all is as wished already, or that there is nothing, and both would be believed.
 */
import { templateParent } from '../apps/template.ts'
import { appParent } from '../apps/words.ts'
import type { KubeObject } from '../base/domain.ts'
import { ApiError, unavailable } from '../base/errors.ts'
import type { JsonObject } from '../base/json.ts'
import { keyOf } from '../kube/cache.ts'
import type { MergePatch } from '../kube/calls.ts'
import type { KubeClient, ObjectRef } from '../kube/client.ts'
import { briefly, isAlreadyExists, isOverQuota, KubeError } from '../kube/errors.ts'
import { patchTo } from '../reconcile/merge.ts'
import type { Fact, ParentKind } from '../reconcile/types.ts'
import { SharedReads } from '../store/shared-reads.ts'
import { changed, noApp, noTemplate, refusedByServer } from './problems.ts'
import { type AppSights, etagOf, isMatched } from './sights.ts'

/** A write to an app, or to a template. */
export interface AppWrite {
  readonly id: string
  /** For the User-Agent, such as `start user=ada`. */
  readonly what: string
  /** The object as the caller may see it now. @throws {ApiError} */
  readonly app: () => Fact
  readonly ifMatch: string | undefined
}

export interface WriterOptions {
  /** The kind that it writes, in the words of answers. Default: apps. */
  readonly what?: Written
  /** The namespace of its objects. Default: all. */
  readonly namespace?: string | undefined
  readonly apps: Pick<AppSights['apps'], 'get' | 'lay' | 'layGone' | 'layDeleted'>
  readonly kube: Pick<KubeClient, 'create' | 'get' | 'list' | 'patch' | 'delete' | 'deleteVersion'>
  /** Called when it was written: the reconciler looks at it. */
  readonly onWritten: (app: Fact) => void
}

export type Written = 'app' | 'template'

const noSuch = { app: noApp, template: noTemplate } as const satisfies Record<Written, () => ApiError>
const parents = { app: appParent, template: templateParent } as const satisfies Record<Written, ParentKind>

/** An object that was made, or that is there already. */
export interface Made {
  readonly fact: Fact
  readonly isNew: boolean
}

/** Rounds in which others write the PhApplication between our look and our patch. */
const maxRounds = 8

export class AppWriter {
  readonly #options: WriterOptions
  readonly #what: Written
  /** One at a time, since each reads all objects of the kind: strangers may ask for ids that nobody has. */
  readonly #searches = new SharedReads(1)

  constructor(options: WriterOptions) {
    this.#options = options
    this.#what = options.what ?? 'app'
  }

  /**
   * Makes an object, unless there is one of its name: after a lost reply that may be ours.
   * @throws {ApiError} 422 when the API server refuses it
   */
  async create(object: KubeObject, what: string): Promise<Made> {
    const { apps, onWritten } = this.#options
    const { apiVersion, kind, metadata } = object
    const ref = { apiVersion, kind, name: metadata.name, namespace: metadata.namespace! }
    const agent = `${this.#what}=${ref.name} ${what}`
    for (let round = 0; round < maxRounds; round += 1) {
      const made = await this.#created(object, agent)
      const standing = await this.#stored(ref, made, agent)
      if (standing) apps.lay({ ...standing, apiVersion, kind })
      const fact = standing && apps.get(keyOf(ref.namespace, ref.name))
      if (fact) {
        const isNew = fact.uid === made?.metadata.uid
        if (isNew) onWritten(fact)
        return { fact, isNew }
      }
      // Another round would undo a deletion.
      if (made) throw unavailable(`the ${this.#what} was deleted at once`)
    }
    throw busy(this.#what)
  }

  /** Undefined if one of its name is there. */
  async #created(object: KubeObject, agent: string): Promise<KubeObject | undefined> {
    try {
      const { metadata } = await this.#options.kube.create(object, { agent })
      return { ...object, metadata }
    } catch (error) {
      if (isAlreadyExists(error)) return undefined
      throw inWords(error)
    }
  }

  /** With the defaults of its definition. What was made is made, though the API server does not answer again. */
  async #stored(ref: ObjectRef, made: KubeObject | undefined, agent: string): Promise<KubeObject | null> {
    try {
      return await this.#options.kube.get(ref, { agent })
    } catch (error) {
      if (!made) throw error
      return made
    }
  }

  /**
   * @param wished the fields of the object that are to be so; `prepare` is called before they are written
   * @returns the object as it is then
   */
  async patch(
    write: AppWrite,
    wished: (fact: Fact) => MergePatch,
    prepare: (fact: Fact) => Promise<void> = async () => {},
  ): Promise<Fact> {
    const { kube, onWritten, apps } = this.#options
    const { ifMatch } = write
    for (let round = 0; round < maxRounds; round += 1) {
      const fact = await this.present(write)
      // A lost reply may have been to our own change: what is as wished then has another version.
      const isFirst = round === 0
      if (isFirst) this.#requireMatch(fact, ifMatch)
      const patch = patchTo(wished(fact), fact.owned, {}) as JsonObject | undefined
      if (patch === undefined) return fact
      if (!isFirst) this.#requireMatch(fact, ifMatch)
      const { ref, uid, resourceVersion } = fact
      await prepare(fact)
      try {
        const answer = await kube.patch({ ...ref, uid }, patch, { resourceVersion, agent: this.#agentOf(write) })
        if (answer) {
          apps.lay(answer)
          onWritten(fact)
          return apps.get(`${ref.namespace}/${ref.name}`) ?? fact
        }
      } catch (error) {
        if (!isStale(error)) throw inWords(error)
      }
    }
    throw busy(this.#what)
  }

  /** @returns the object as it was deleted */
  async delete(write: AppWrite): Promise<Fact> {
    const { kube, apps } = this.#options
    const agent = this.#agentOf(write)
    for (let round = 0; round < maxRounds; round += 1) {
      const fact = await this.present(write)
      this.#requireMatch(fact, write.ifMatch)
      const { ref, uid, resourceVersion } = fact
      const outcome =
        write.ifMatch === undefined
          ? await kube.delete({ ...ref, uid }, { agent })
          : await kube.deleteVersion({ ...ref, uid }, resourceVersion, { agent })
      if (outcome === 'accepted') {
        apps.layDeleted(fact)
        return fact
      }
      if (outcome === 'gone') {
        apps.layGone(fact)
        throw noSuch[this.#what]()
      }
    }
    throw busy(this.#what)
  }

  /**
   * Reads the object from the API server. If the watch does not show the object, the writer searches for its name, in all
   * namespaces for an app.
   * @returns the object as the API server has it
   * @throws {ApiError} as `app`; 404 if it is not there, or is being deleted
   */
  async present(write: AppWrite, signal?: AbortSignal): Promise<Fact> {
    const agent = this.#agentOf(write)
    const known = shownBy(write)
    if (known) {
      await this.#read(known, agent)
      const now = shownBy(write)
      // A namesake in another namespace was not read.
      if (now && !now.deleting && now.ref.namespace === known.ref.namespace) return now
    }
    await this.#searches.read(write.id, () => this.#search(write.id, agent), signal)
    return this.#living(write.app())
  }

  async #search(id: string, agent: string): Promise<void> {
    const { kube, apps, namespace } = this.#options
    const { apiVersion, kind } = parents[this.#what]
    const options = { namespace, fieldSelector: `metadata.name=${id}`, agent }
    for (const object of await kube.list(apiVersion, kind, each => each, options)) apps.lay(object)
  }

  async #read(known: Fact, agent: string): Promise<void> {
    const { apps, kube } = this.#options
    const object = await kube.get(known.ref, { agent })
    if (object) apps.lay({ ...object, ...parents[this.#what] })
    else apps.layGone(known)
  }

  #agentOf({ id, what }: AppWrite): string {
    return `${this.#what}=${id} ${what}`
  }

  /** @throws {ApiError} 404 if it is being deleted */
  #living(fact: Fact): Fact {
    if (fact.deleting) throw noSuch[this.#what]()
    return fact
  }

  #requireMatch(fact: Fact, ifMatch: string | undefined): void {
    if (ifMatch !== undefined && !isMatched(ifMatch, etagOf(fact))) throw changed(this.#what)
  }
}

/** Undefined if the watch does not show it. @throws {ApiError} what else keeps the caller from it */
export function shownBy({ app }: Pick<AppWrite, 'app'>): Fact | undefined {
  try {
    return app()
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}

const busy = (what: Written) => unavailable(`others write this ${what} all the time`)

/** A conflict; or an object of another UID, whose UID cannot be changed. */
const isStale = (error: unknown): boolean =>
  error instanceof KubeError && (error.status === 409 || (error.status === 422 && /metadata\.uid/.test(error.message)))

/** A refusal of what somebody wished is theirs to correct: a wrong value, or more objects than a quota of the namespace allows. */
export const inWords = (error: unknown): unknown =>
  error instanceof KubeError && (error.status === 422 || isOverQuota(error)) ? refusedByServer(briefly(error)) : error
