/**
 * Reports changes of tenants to Redis, for the streams of events. Every replica reports its view; the script adds each event once.
 * Nothing waits for it: while Redis is silent, names are remembered, and their state is reported afterwards.
 */
import type { Clock } from '../base/clock.ts'
import { Gathering } from '../base/gathering.ts'
import { type Log, logUnexpected } from '../base/log.ts'
import type { Change } from '../kube/picture.ts'
import type { Fact } from '../reconcile/types.ts'
import type { TenantStore, Told } from '../store/tenants.ts'
import { grantsIn } from '../tenants/grants.ts'
import { tenantOfName, userOfName } from '../tenants/names.ts'
import { nameOf } from '../tenants/spec.ts'
import type { TenantWorld } from '../tenants/world.ts'
import { type Ended, endedBetween, holdsOn, tellOf } from './telling.ts'

export interface TellerOptions {
  readonly world: TenantWorld
  readonly store: Pick<TenantStore, 'tell'>
  readonly clock: Clock
  readonly log: Log
  /** Called with the events that this replica was the first to report. */
  readonly onTold: (name: string, events: readonly Told[]) => void
}

/** Ends that wait for Redis; further ones are reported without their cause. */
const mostEnded = 10_000

export class Teller {
  readonly #options: TellerOptions
  /** By name: grants that have left the status, and were not reported yet. */
  readonly #ended = new Map<string, { readonly uid: string; readonly list: Ended[] }>()
  #endedCount = 0
  readonly #gathering: Gathering

  constructor(options: TellerOptions) {
    const { clock, log, world } = options
    this.#options = options
    this.#gathering = new Gathering({
      clock,
      tell: name => this.#tell(name),
      onError: error => logUnexpected(log, error, 'events of tenants cannot be reported'),
    })
    const { lnamespaces, clusterRoles, clusterRoleBindings } = world.sights
    lnamespaces.on(change => this.#seen(change))
    for (const sight of [clusterRoles, clusterRoleBindings]) sight.on(({ name }) => this.#seenRight(name))
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
    this.#gathering.addAll(Array.from(this.#options.world.sights.lnamespaces.values(), nameOf))
  }

  #seen(change: Change<Fact>): void {
    const { name, value } = change
    if (change.type === 'gone') this.#forget(name)
    else if (change.previous) this.#remember(change.previous, value)
    this.#gathering.add(name)
  }

  #remember(before: Fact, now: Fact): void {
    const { world, clock } = this.#options
    const ended = endedBetween(before, now, world.settings, clock.wallMs())
    if (ended.length === 0 || this.#endedCount >= mostEnded) return
    const name = nameOf(now)
    const known = this.#ended.get(name)
    if (known && known.uid !== now.uid) this.#forget(name)
    const list = this.#ended.get(name)?.list ?? []
    list.push(...ended)
    this.#ended.set(name, { uid: now.uid, list })
    this.#endedCount += ended.length
  }

  #seenRight(object: string): void {
    const tenant = tenantOfName(object)
    const user = userOfName(object)
    const { bySudoer, sights } = this.#options.world
    const concerned = user !== undefined ? bySudoer(user) : [sights.lnamespaces.get(tenant ?? '') ?? []].flat()
    for (const fact of concerned) if (this.#isAboutGrants(fact, user)) this.#gathering.add(nameOf(fact))
  }

  /** Other rights are not reported: thousands change when tenants are made. */
  #isAboutGrants(fact: Fact, user: string | undefined): boolean {
    const grants = [...grantsIn(fact), ...(this.#ended.get(nameOf(fact))?.list ?? []).map(({ grant }) => grant)]
    return grants.some(grant => user === undefined || grant.user === user)
  }

  async #tell(name: string): Promise<void> {
    const { world, store, clock, onTold } = this.#options
    // Not our own answers: a grant that they end is remembered when the watch shows it.
    const fact = world.sights.lnamespaces.shown(name)
    if (!fact) return
    const known = this.#ended.get(name)
    const ended = known && known.uid === fact.uid ? [...known.list] : []
    const nowMs = clock.wallMs()
    // The change of its binding marks the name again.
    const held = new Set(ended.filter(({ grant }) => holdsOn(grant, fact, world, nowMs)))
    const events = await store.tell(tellOf(fact, ended, world, nowMs))
    this.#drop(name, new Set(ended).difference(held))
    if (events.length > 0) onTold(name, events)
  }

  #drop(name: string, told: ReadonlySet<Ended>): void {
    const known = this.#ended.get(name)
    if (!known || told.size === 0) return
    const list = known.list.filter(each => !told.has(each))
    this.#endedCount -= known.list.length - list.length
    if (list.length === 0) this.#ended.delete(name)
    else this.#ended.set(name, { uid: known.uid, list })
  }

  #forget(name: string): void {
    this.#endedCount -= this.#ended.get(name)?.list.length ?? 0
    this.#ended.delete(name)
  }
}
