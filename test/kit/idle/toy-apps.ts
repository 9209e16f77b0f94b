/**
 * Apps of a pretended reconciler: each has an intent, as `spec.stop` of a custom resource, with a version. The idle engine
 * takes them by their `WorkloadOwner` alone.
 */
import { EventEmitter, once } from 'node:events'
import type { Known, StopResult, WorkloadFacts, WorkloadOwner } from '../../../src/idle/workloads/workload.ts'
import type { StopRequest } from '../../../src/store/idle.ts'
import type { Idle } from '../store/idle.ts'

interface App {
  readonly podUid: string
  version: number
  stop: boolean
}

export class ToyApps implements WorkloadOwner {
  readonly kind = 'app'
  readonly stampPolicy = 'off'
  readonly unreported = [] as const
  readonly labelSelector = 'made-by=toy'
  readonly #idle: Idle
  readonly #apps = new Map<string, App>()
  readonly #events = new EventEmitter()
  readonly #startedMs = Date.now() - 60_000
  /** Called when the stop was requested, before the intent is written. */
  onRequested: (id: string) => Promise<void> | void = () => {}

  constructor(idle: Idle) {
    this.#idle = idle
  }

  /** Starts apps, as their reconciler does when it sees their pods. */
  async start(...ids: string[]): Promise<void> {
    for (const id of ids) this.#apps.set(id, { podUid: `pod-of-${id}`, version: 1, stop: false })
    await this.#idle.due.enrol(this.kind, ids, 0)
  }

  /** Somebody edits the object. */
  edit(id: string): void {
    this.#apps.get(id)!.version += 1
  }

  runs(id: string): boolean {
    return this.#apps.get(id)?.stop === false
  }

  /** Resolves when the intent of the next app is written. */
  async nextStopped(): Promise<string> {
    const [id] = await once(this.#events, 'stopped', { signal: AbortSignal.timeout(20_000) })
    return id
  }

  facts(id: string): WorkloadFacts | undefined {
    const app = this.#apps.get(id)
    if (!app || app.stop) return undefined
    return { kind: this.kind, id, podUid: app.podUid, mayBeAsked: true, startedMs: this.#startedMs, stamps: {} }
  }

  /** The app whose pod this is: each has one of its own name, in one namespace. */
  ofPod(namespace: string, name: string): WorkloadFacts | undefined {
    return namespace === 'apps' ? this.facts(name) : undefined
  }

  silenceMs(): number {
    return 0
  }

  async read({ id, podUid }: WorkloadFacts): Promise<Known | undefined> {
    const { version } = this.#apps.get(id)!
    return {
      read: await this.#idle.activity.read(this.kind, id, podUid),
      traits: { namespace: 'apps' },
      target: async () => {
        throw new Error('an app is asked nothing')
      },
      stop: request => this.#stop(request, version),
    }
  }

  async stamp(): Promise<void> {}

  async #stop(request: StopRequest, version: number): Promise<StopResult> {
    const { id } = request
    const answer = await this.#idle.activity.requestStop(request)
    if (answer !== 'requested') return answer
    await this.onRequested(id)
    const app = this.#apps.get(id)!
    // An edit wins: the intent is written only into the version that was looked at.
    if (app.version !== version) return 'changed'
    app.stop = true
    await this.#idle.due.dismiss(this.kind, id)
    this.#events.emit('stopped', id)
    return answer
  }
}
