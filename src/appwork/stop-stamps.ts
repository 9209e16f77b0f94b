/**
 * A stop that somebody wrote as an annotation of a PhApplication becomes one of its spec, so that its generation counts it. The
 * annotation goes with the same patch: it would stop the app again after each start.
 */

import { annotationsOf } from '../apps/spec.ts'
import { type AppWorld, checkedApp } from '../apps/world.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Loop, Rest } from '../base/loop.ts'
import { type KubeClient, KubeError } from '../kube/client.ts'
import { stamps } from '../kube/labels.ts'
import type { Fact } from '../reconcile/types.ts'
import { toldLoop } from './told-loop.ts'

export interface StopStampsOptions {
  readonly world: AppWorld
  readonly kube: Pick<KubeClient, 'patch'>
  readonly clock: Clock
  readonly log: Log
  /** The app was stopped so. */
  readonly onStopped: (app: Fact) => void
}

/** Replicas see an annotation at the same time: one of them is the first. */
const spreadMs = 300
const restMs = 600_000

export class StopStamps {
  readonly #options: StopStampsOptions
  readonly #stamped: (name: string) => readonly Fact[]
  readonly #loop: Loop
  #unlisten: (() => void) | undefined

  constructor(options: StopStampsOptions) {
    const { clock, log, world } = options
    this.#options = options
    this.#stamped = world.sights.applications.index(app => (isStamped(app) ? [stamps.stopped] : []))
    const words = { trouble: 'an app cannot be stopped as its annotation says', over: 'apps can be stopped again' }
    this.#loop = toldLoop({ clock, log, words, round: signal => this.#round(signal) })
  }

  start(): void {
    this.#unlisten = this.#options.world.sights.applications.on(({ type, value }) => {
      if (type === 'put' && isStamped(value)) this.#loop.wake()
    })
    this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#unlisten?.()
    await this.#loop.stop()
  }

  async #round(signal: AbortSignal): Promise<Rest> {
    const { clock } = this.#options
    if (this.#due().length > 0) await clock.sleep(Math.random() * spreadMs, signal)
    const outcomes = await Promise.allSettled(this.#due().map(app => this.#stop(app, signal)))
    const failed = outcomes.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
    if (failed) throw failed.reason
    return { ms: restMs }
  }

  /** Those of a group. Other apps are not ours to write. */
  #due(): readonly Fact[] {
    const { world } = this.#options
    return this.#stamped(stamps.stopped).filter(app => checkedApp(app, world).spec !== undefined)
  }

  async #stop(app: Fact, signal: AbortSignal): Promise<void> {
    const { kube, world, onStopped } = this.#options
    const { ref, uid, resourceVersion } = app
    const patch = { metadata: { annotations: { [stamps.stopped]: null } }, spec: { stop: true } }
    try {
      const written = await kube.patch({ ...ref, uid }, patch, { resourceVersion, signal, agent: 'app-stop' })
      if (!written) return
      world.sights.applications.lay(written)
      onStopped(app)
    } catch (error) {
      // Another replica was the first, or somebody has edited the app: an event tells.
      if (!(error instanceof KubeError) || error.status !== 409) throw error
    }
  }
}

const isStamped = (app: Fact): boolean => !app.deleting && annotationsOf(app)[stamps.stopped] !== undefined
