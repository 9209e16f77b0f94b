/** Sends one act. Each answer is laid over the watch, so the next plan knows of it. */
import type { KubeObject } from '../base/domain.ts'
import { keyOf } from '../kube/cache.ts'
import type { CallOptions } from '../kube/call-options.ts'
import { isAlreadyExists, type KubeClient, KubeError, type MergePatch } from '../kube/client.ts'
import type { ObjectRef } from '../kube/kinds.ts'
import { refOf } from './plan.ts'
import type { Act, Alter, Create, Fact, OverlaidWatch, Remove, StatusPatch } from './types.ts'

export type ReconcileClient = Pick<KubeClient, 'create' | 'get' | 'patch' | 'delete' | 'deleteVersion'>

/** `stale`: the object is another one than planned for. It was read again, and must be planned for again. */
export type Sent = 'done' | 'stale'

/** The options of a turn's requests, for a place such as `create.Service`. */
export type CallOf = (place: string) => CallOptions

export interface WriterOptions {
  readonly kube: ReconcileClient
  readonly sights: readonly OverlaidWatch[]
  readonly call: CallOf
}

export class Writer {
  readonly #options: WriterOptions

  constructor(options: WriterOptions) {
    this.#options = options
  }

  /**
   * @throws {KubeError} when refused
   * @throws {RetryLater} when the API server does not answer for now
   */
  async send(act: Act): Promise<Sent> {
    switch (act.act) {
      case 'create':
        return this.#create(act)
      case 'change':
        return this.#change(act)
      case 'remove':
        return this.#remove(act)
      default:
        return 'done'
    }
  }

  /** Writes the status alone. Throws as `send`. */
  async report({ of, status }: StatusPatch): Promise<Sent> {
    return this.#patch(of, { status }, 'status')
  }

  /** The answer to a creation that was sent again may be that our own object exists. The plan tells whose it is. */
  async #create({ object }: Create): Promise<Sent> {
    const { kube } = this.#options
    const sight = this.#sightOf(object)
    try {
      const { metadata } = await kube.create(object, this.#call('create', object))
      sight.lay({ ...object, metadata: { ...object.metadata, ...metadata } })
      return 'done'
    } catch (error) {
      // Another conflict passes: the server counts a quota for somebody else at the moment.
      if (!(error instanceof KubeError) || error.status !== 409) throw error
      if (isAlreadyExists(error)) await this.#get(refOf(object))
      return 'stale'
    }
  }

  #change({ fact, patch }: Alter): Promise<Sent> {
    return this.#patch(fact, patch, undefined)
  }

  async #patch(fact: Fact, patch: MergePatch, subresource: 'status' | undefined): Promise<Sent> {
    const { kube } = this.#options
    const { ref, uid, resourceVersion } = fact
    const call = this.#call(subresource === undefined ? 'change' : 'report', ref)
    try {
      const answer = await kube.patch({ ...ref, uid }, patch, { ...call, resourceVersion, subresource })
      if (answer) this.#lay(answer, ref)
      // A subresource may be missing while its object exists.
      else await this.read(fact)
      return answer ? 'done' : 'stale'
    } catch (error) {
      if (!isAboutObject(error)) throw error
      const isAnother = await this.read(fact)
      if (error.status === 422 && !isAnother) throw error
      return 'stale'
    }
  }

  async #remove({ fact, anyVersion }: Remove): Promise<Sent> {
    const { ref, uid, resourceVersion } = fact
    const { kube } = this.#options
    const call = this.#call('remove', ref)
    const outcome = anyVersion
      ? await kube.delete({ ...ref, uid }, call)
      : await kube.deleteVersion({ ...ref, uid }, resourceVersion, call)
    switch (outcome) {
      case 'accepted':
        this.#sightOf(ref).layDeleted(fact)
        return 'done'
      case 'gone':
        this.#sightOf(ref).layGone(fact)
        return 'done'
      default:
        await this.read(fact)
        return 'stale'
    }
  }

  /** Reads what has this name afresh. Throws as `send`, and with the signal's reason. */
  async readName(ref: ObjectRef, signal: AbortSignal): Promise<void> {
    const known = this.#sightOf(ref).get(keyOf(ref.namespace, ref.name))
    const object = await this.#get(ref, signal)
    if (!object && known) this.#sightOf(ref).layGone(known)
  }

  /** Reads an object afresh. @returns whether it is gone, or another one than this fact shows. Throws as `send`. */
  async read(known: Fact): Promise<boolean> {
    const object = await this.#get(known.ref)
    if (!object) this.#sightOf(known.ref).layGone(known)
    return object?.metadata.uid !== known.uid || object.metadata.resourceVersion !== known.resourceVersion
  }

  async #get(ref: ObjectRef, signal?: AbortSignal): Promise<KubeObject | null> {
    const call = this.#options.call('read')
    const object = await this.#options.kube.get(ref, { ...call, signal: signal ?? call.signal })
    if (object) this.#lay(object, ref)
    return object
  }

  /** Items of some answers lack their kind. */
  #lay(object: KubeObject, { apiVersion, kind }: Pick<ObjectRef, 'apiVersion' | 'kind'>): void {
    this.#sightOf({ apiVersion, kind }).lay({ ...object, apiVersion, kind })
  }

  #call(verb: string, { kind }: { readonly kind: string }): CallOptions {
    return this.#options.call(`${verb}.${kind}`)
  }

  #sightOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): OverlaidWatch {
    const sight = this.#options.sights.find(sight => sight.apiVersion === apiVersion && sight.kind === kind)
    if (!sight) throw new Error(`no watch shows ${apiVersion} ${kind}`)
    return sight
  }
}

/** A conflict; or an object of another UID, whose UID cannot be changed. */
const isAboutObject = (error: unknown): error is KubeError =>
  error instanceof KubeError && (error.status === 409 || error.status === 422)
