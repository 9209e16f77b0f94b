/**
 * Tells Redis what becomes of apps, for the streams of events. Every replica tells what it sees; the script adds each event once.
 * Nothing waits for it: while Redis is silent, apps are remembered, and what they are then is told afterwards.
 */
import { backoffMs } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'
import { type Log, logUnexpected } from '../base/log.ts'
import { Loop, type Rest } from '../base/loop.ts'
import { keyOf } from '../kube/cache.ts'
import { eventForUser } from '../kube/pods/judge.ts'
import type { Fact } from '../reconcile/types.ts'
import { type AppEventStore, type AppTell, mostEvents } from '../store/app-events.ts'
import type { AppSights } from './sights.ts'
import { phaseData } from './view.ts'

export interface AppTellerOptions {
  readonly sights: Pick<AppSights, 'apps' | 'podEventsOf' | 'onPodEvents'>
  readonly store: Pick<AppEventStore, 'tell'>
  readonly clock: Clock
  readonly log: Log
}

/** Changes gather for so long: a start makes several. */
const gatherMs = 50
/** Calls of Redis at once. */
const atOnce = 4
const retry = { baseMs: 200, capMs: 10_000 }
const never: Rest = { ms: 2 ** 31 - 1 }

/** What this replica has told of an app; it tells no more than what is new. */
interface Told {
  readonly uid: string
  phase: string
  readonly keys: Set<string>
}

export class AppTeller {
  readonly #options: AppTellerOptions
  /** Apps by namespace and name. */
  readonly #dirty = new Set<string>()
  readonly #told = new Map<string, Told>()
  readonly #loop: Loop

  constructor(options: AppTellerOptions) {
    const { clock, log, sights } = options
    this.#options = options
    this.#loop = new Loop({
      clock,
      round: async signal => {
        await clock.sleep(gatherMs, signal).catch(() => {})
        await this.#round(signal)
        return never
      },
      failed: (error, failures) => {
        logUnexpected(log, error, 'events of apps cannot be told')
        const ms = backoffMs(failures, retry)
        return { ms, deafMs: ms }
      },
    })
    sights.apps.on(({ type, namespace, name }) => {
      const key = keyOf(namespace, name)
      if (type === 'gone') this.#told.delete(key)
      this.#mark(key)
    })
    sights.onPodEvents(app => this.#mark(keyOfApp(app)))
  }

  /** Begins when the watches show the cluster. */
  start(): void {
    this.tellAll()
    this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /** Redis may have lost what was told. */
  tellAll(): void {
    this.#told.clear()
    for (const app of this.#options.sights.apps.values()) this.#dirty.add(keyOfApp(app))
    this.#loop.wake()
  }

  /** Its stream may have expired. */
  tellAgain(app: Fact): void {
    this.#told.delete(keyOfApp(app))
    this.#mark(keyOfApp(app))
  }

  #mark(key: string): void {
    this.#dirty.add(key)
    this.#loop.wake()
  }

  /** @throws what the first of them throws; all that was not told stays */
  async #round(signal: AbortSignal): Promise<void> {
    const keys = [...this.#dirty]
    this.#dirty.clear()
    const tellRest = async () => {
      for (let key = keys.pop(); key !== undefined; key = keys.pop()) {
        try {
          if (!signal.aborted) await this.#tell(key)
        } catch (error) {
          for (const left of [key, ...keys.splice(0)]) this.#dirty.add(left)
          throw error
        }
      }
    }
    const results = await Promise.allSettled(Array.from({ length: atOnce }, tellRest))
    const failed = results.find(result => result.status === 'rejected')
    if (failed) throw failed.reason
  }

  async #tell(key: string): Promise<void> {
    const { sights, store } = this.#options
    const app = sights.apps.get(key)
    if (!app) return
    const known = this.#told.get(key)
    const told = known?.uid === app.uid ? known : { uid: app.uid, phase: '', keys: new Set<string>() }
    const seen = podNews(sights, app)
    const events = seen.filter(([uid]) => !told.keys.has(uid))
    const phase = phaseData(app)
    if (known === told && events.length === 0 && phase === told.phase) return
    await store.tell({ uid: app.uid, version: app.resourceVersion, phase, events })
    // What the cluster forgets is forgotten here too.
    this.#told.set(key, { uid: app.uid, phase, keys: new Set(seen.map(([uid]) => uid)) })
  }
}

/** What the cluster says of the app's pods, oldest first. A repeat has the key of the first. */
function podNews(sights: Pick<AppSights, 'podEventsOf'>, app: Fact): AppTell['events'] {
  return sights
    .podEventsOf(app)
    .flatMap(event => {
      const words = eventForUser(event)
      return words ? [[event.uid, words.event, words.data] as const] : []
    })
    .slice(-mostEvents)
}

const keyOfApp = ({ ref }: Fact): string => keyOf(ref.namespace, ref.name)
