/**
 * Writes the wishes of people about an app: each is one patch of its PhApplication, bound to the UID and the version by which it
 * was judged. Whoever writes the PhApplication meanwhile makes the patch fail, and all is judged again. The reconciler does what
 * is wished, so nothing is half done when this replica dies.
 */
import { unavailable } from '../base/errors.ts'
import type { JsonObject } from '../base/json.ts'
import type { MergePatch } from '../kube/calls.ts'
import type { KubeClient } from '../kube/client.ts'
import { briefly, KubeError } from '../kube/errors.ts'
import { patchTo } from '../reconcile/merge.ts'
import type { Fact } from '../reconcile/types.ts'
import { changed, noApp, refusedByServer } from './problems.ts'
import { type AppSights, etagOf, isMatched } from './sights.ts'

/** What is to be written of an app as it stands. */
export interface AppWrite {
  /** For the User-Agent, such as `start user=ada`. */
  readonly what: string
  /** The app, as whoever asks may see it now. @throws {ApiError} */
  readonly app: () => Fact
  readonly ifMatch: string | undefined
}

export interface WriterOptions {
  readonly apps: AppSights['apps']
  readonly kube: Pick<KubeClient, 'get' | 'patch' | 'delete' | 'deleteVersion'>
  /** Called when it was written: the reconciler looks at it. */
  readonly onWritten: (app: Fact) => void
}

/** Rounds in which others write the PhApplication between our look and our patch. */
const maxRounds = 8

export class AppWriter {
  readonly #options: WriterOptions

  constructor(options: WriterOptions) {
    this.#options = options
  }

  /**
   * @param wished the fields of the PhApplication that are to be so; `prepare` is called before they are written
   * @returns the app as it is then
   */
  async patch(
    { what, app, ifMatch }: AppWrite,
    wished: (fact: Fact) => MergePatch,
    prepare: (fact: Fact) => Promise<void> = async () => {},
  ): Promise<Fact> {
    const { kube, onWritten, apps } = this.#options
    for (let round = 0; round < maxRounds; round += 1) {
      const fact = living(app())
      // A lost reply may have been to our own change: what is as wished then has another version.
      const isFirst = round === 0
      if (isFirst) requireMatch(fact, ifMatch)
      const patch = patchTo(wished(fact), fact.owned, {}) as JsonObject | undefined
      if (patch === undefined) return fact
      if (!isFirst) requireMatch(fact, ifMatch)
      const { ref, uid, resourceVersion } = fact
      const agent = agentOf(what, fact)
      await prepare(fact)
      try {
        const answer = await kube.patch({ ...ref, uid }, patch, { resourceVersion, agent })
        if (answer) {
          apps.lay(answer)
          onWritten(fact)
          return apps.get(`${ref.namespace}/${ref.name}`) ?? fact
        }
      } catch (error) {
        if (!isStale(error)) throw inWords(error)
      }
      await this.#read(fact, agent)
    }
    throw busy()
  }

  async delete({ what, app, ifMatch }: AppWrite): Promise<void> {
    const { kube, apps } = this.#options
    for (let round = 0; round < maxRounds; round += 1) {
      const fact = living(app())
      requireMatch(fact, ifMatch)
      const { ref, uid, resourceVersion } = fact
      const agent = agentOf(what, fact)
      const outcome =
        ifMatch === undefined
          ? await kube.delete({ ...ref, uid }, { agent })
          : await kube.deleteVersion({ ...ref, uid }, resourceVersion, { agent })
      if (outcome === 'accepted') return apps.layDeleted(fact)
      if (outcome === 'gone') {
        apps.layGone(fact)
        throw noApp()
      }
      await this.#read(fact, agent)
    }
    throw busy()
  }

  async #read(known: Fact, agent: string): Promise<void> {
    const object = await this.#options.kube.get(known.ref, { agent })
    if (object) this.#options.apps.lay({ ...object, apiVersion: known.ref.apiVersion, kind: known.ref.kind })
    else this.#options.apps.layGone(known)
  }
}

/** @throws {ApiError} 404 if it is being deleted */
function living(app: Fact): Fact {
  if (app.deleting) throw noApp()
  return app
}

function requireMatch(app: Fact, ifMatch: string | undefined): void {
  if (ifMatch !== undefined && !isMatched(ifMatch, etagOf(app))) throw changed()
}

const agentOf = (what: string, { ref }: Fact): string => `app=${ref.name} ${what}`

const busy = () => unavailable('others write this app all the time')

/** A conflict; or an object of another UID, whose UID cannot be changed. */
const isStale = (error: unknown): boolean =>
  error instanceof KubeError && (error.status === 409 || (error.status === 422 && /metadata\.uid/.test(error.message)))

/** A refusal of what somebody wished is theirs to correct. */
const inWords = (error: unknown): unknown =>
  error instanceof KubeError && error.status === 422 ? refusedByServer(briefly(error)) : error
