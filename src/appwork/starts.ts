/** Starts apps that members ask for at a gateway, which has no rights in the cluster. Its requests are checked again. */

import { generationOf, groupNameOf, isStopped } from '../apps/spec.ts'
import { type AppWorld, checkedApp } from '../apps/world.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Loop, Rest } from '../base/loop.ts'
import { type KubeClient, KubeError } from '../kube/client.ts'
import { stamps } from '../kube/labels.ts'
import type { Fact } from '../reconcile/types.ts'
import type { IntentStore, TakenIntent } from '../store/apps/intents.ts'
import { toldLoop } from './told-loop.ts'

export type StartOutcome = 'started' | 'refused' | 'stale'

export interface StartsOptions {
  readonly world: AppWorld
  readonly kube: Pick<KubeClient, 'get' | 'patch'>
  readonly store: Pick<IntentStore, 'take' | 'end'>
  /** Of this replica. */
  readonly token: string
  /**
   * Whether a user is in a group, as its LNamespace says; undefined if only the identity's groups tell, which the gateway has
   * checked a moment ago.
   */
  readonly isMember: (user: string, group: string) => boolean | undefined
  readonly clock: Clock
  readonly log: Log
  readonly onEnded: (intent: TakenIntent, app: Fact | undefined, outcome: StartOutcome) => void
}

/** A ring wakes it; what nobody rings for is looked for after this time. */
const restMs = 600_000
const agent = 'app-start'

export class Starts {
  readonly #options: StartsOptions
  readonly #loop: Loop

  constructor(options: StartsOptions) {
    const { clock, log } = options
    this.#options = options
    const words = { trouble: 'apps cannot be started as members ask', over: 'apps can be started again' }
    this.#loop = toldLoop({ clock, log, words, round: signal => this.#round(signal) })
  }

  start(): void {
    this.#loop.start()
  }

  /** A member may have asked. */
  wake(): void {
    this.#loop.wake()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async #round(signal: AbortSignal): Promise<Rest> {
    const { store, token } = this.#options
    const taken = await store.take(token)
    const failures = (await Promise.all(taken.map(intent => this.#tried(intent, signal)))).filter(Boolean)
    if (failures.length > 0) throw failures[0]
    return { ms: taken.length > 0 ? 0 : restMs }
  }

  /** A start that fails must not keep others. @returns its error */
  async #tried(intent: TakenIntent, signal: AbortSignal): Promise<unknown> {
    try {
      await this.#carryOut(intent, signal)
    } catch (error) {
      return error
    }
  }

  async #carryOut(intent: TakenIntent, signal: AbortSignal): Promise<void> {
    const { store, onEnded } = this.#options
    const app = await this.#upToDate(intent, signal)
    const outcome = app ? await this.#start(intent, app, signal, 0) : 'stale'
    await store.end(intent)
    onEnded(intent, app, outcome)
  }

  /** The app at the generation that the user saw, or a later one. Another replica may have seen it before our watch did. */
  async #upToDate(intent: TakenIntent, signal: AbortSignal): Promise<Fact | undefined> {
    const { kube, world } = this.#options
    const app = this.#seen(intent)
    if (!app || generationOf(app) >= intent.generation) return app
    const object = await kube.get(app.ref, { signal, agent })
    if (object) world.sights.applications.lay(object)
    return this.#seen(intent)
  }

  #seen({ id, uid }: TakenIntent): Fact | undefined {
    return this.#options.world.named(id).find(app => app.uid === uid)
  }

  async #start(intent: TakenIntent, app: Fact, signal: AbortSignal, tries: number): Promise<StartOutcome> {
    const { world, kube, isMember } = this.#options
    // The user saw another wish, or somebody else was first.
    if (app.deleting || generationOf(app) !== intent.generation || !isStopped(app)) return 'stale'
    if (checkedApp(app, world).spec === undefined || isMember(intent.user, groupNameOf(app)) === false) return 'refused'
    const { ref, uid, resourceVersion } = app
    const patch = { metadata: { annotations: { [stamps.stopped]: null } }, spec: { stop: false } }
    try {
      const written = await kube.patch({ ...ref, uid }, patch, { resourceVersion, signal, agent })
      if (!written) return 'stale'
      world.sights.applications.lay(written)
      return 'started'
    } catch (error) {
      const status = error instanceof KubeError ? error.status : 0
      if (status === 409 && tries < maxTries) return this.#again(intent, signal, tries + 1)
      // Somebody writes it all the time, or the server does not want it so: a later try would end so too.
      if (status === 409 || status === 403 || status === 422) return 'refused'
      throw error
    }
  }

  /** A status was written meanwhile, or the watch is behind. */
  async #again(intent: TakenIntent, signal: AbortSignal, tries: number): Promise<StartOutcome> {
    await this.#options.clock.sleep(againMs, signal)
    const app = this.#seen(intent)
    return app ? this.#start(intent, app, signal, tries) : 'stale'
  }
}

const againMs = 200
const maxTries = 5
