/**
 * Reports changes of apps to Redis, for the streams of events. Every replica reports its view; the script adds each event once.
 * Nothing waits for it: while Redis is silent, apps are remembered, and their state is reported afterwards.
 */
import type { Clock } from '../base/clock.ts'
import { Gathering } from '../base/gathering.ts'
import { type Log, logUnexpected } from '../base/log.ts'
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

/** This replica's last report on an app; it reports only what is new. */
interface Told {
  readonly uid: string
  phase: string
  readonly keys: Set<string>
}

export class AppTeller {
  readonly #options: AppTellerOptions
  readonly #told = new Map<string, Told>()
  /** Apps by namespace and name. */
  readonly #gathering: Gathering

  constructor(options: AppTellerOptions) {
    const { clock, log, sights } = options
    this.#options = options
    this.#gathering = new Gathering({
      clock,
      tell: key => this.#tell(key),
      onError: error => logUnexpected(log, error, 'events of apps cannot be reported'),
    })
    sights.apps.on(({ type, namespace, name }) => {
      const key = keyOf(namespace, name)
      if (type === 'gone') this.#told.delete(key)
      this.#gathering.add(key)
    })
    sights.onPodEvents(app => this.#gathering.add(keyOfApp(app)))
  }

  /** Begins when the watches show the cluster. */
  start(): void {
    this.tellAll()
    this.#gathering.start()
  }

  stop(): Promise<void> {
    return this.#gathering.stop()
  }

  /** Reports all again: Redis may have lost events. */
  tellAll(): void {
    this.#told.clear()
    this.#gathering.addAll(Array.from(this.#options.sights.apps.values(), keyOfApp))
  }

  /** Its stream may have expired. */
  tellAgain(app: Fact): void {
    this.#told.delete(keyOfApp(app))
    this.#gathering.add(keyOfApp(app))
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
    // Events that the cluster has dropped are forgotten here too.
    this.#told.set(key, { uid: app.uid, phase, keys: new Set(seen.map(([uid]) => uid)) })
  }
}

/** The cluster's events about the app's pods, oldest first. A repeat has the key of the first. */
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
