/** Requests of people about containers, without HTTP: to create, to change and to read them. */

import { createHash, randomUUID } from 'node:crypto'
import { canonical } from '../base/canonical.ts'
import type { Clock } from '../base/clock.ts'
import type { Identity } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import { type ContainerState, isEnded } from '../dispatch/container.ts'
import { fitOf } from '../dispatch/fits.ts'
import type { MachineType, Need, Rules } from '../dispatch/types.ts'
import type { ContainerStore } from '../store/dispatch/containers.ts'
import type { Sealer } from '../store/sealing.ts'
import type { StoredEvent } from '../store/series.ts'
import { type Feed, parseEventId, type StreamReader } from '../store/streams.ts'
import { type ContainerJson, containerJson } from './json.ts'
import { type ContainerLog, RecordedLog } from './log.ts'
import {
  changedOften,
  containerDropped,
  containerEnded,
  hasEnded,
  lacksKey,
  noContainer,
  noTypeFits,
  notRunning,
  otherBody,
  outputDropped,
  queueFull,
  queueTooLarge,
} from './problems.ts'
import type { Tenancy } from './tenancy.ts'
import { waitsOf } from './waits.ts'
import { type ContainerWish, prepare } from './wish.ts'

/** The caller and his scope: a user sees his own containers, an administrator all. */
export interface ContainerAsker {
  readonly caller: Pick<Identity, 'username' | 'groups'>
  readonly audience: 'user' | 'admin'
}

export interface ContainerFilter {
  readonly state?: ContainerState | undefined
  /** Only for administrators. */
  readonly owner?: string | undefined
  /** Only younger ones. */
  readonly after?: string | undefined
  readonly limit: number
}

/** Where the gateway of a running container is. */
export interface ContainerReach {
  readonly run: number
  /** `host:port` */
  readonly address: string
  /** The pin of its certificate. */
  readonly pin: string
}

export interface ContainerPage {
  readonly containers: readonly ContainerJson[]
  readonly next?: string
}

export interface Told {
  readonly id?: string
  readonly event: string
  readonly data: string
}

/** Every method throws {ApiError} and {RetryLater}: 404 for a container that the asker may not see, 503 while comparing. */
export interface Containers {
  /**
   * @throws {ApiError} 422 when no type of machine fits, or for the tenant, 429 and 503 when too many wait, or too large ones,
   * 410 when the container of this key has ended and was dropped
   */
  create(wish: ContainerWish, asker: ContainerAsker, idempotencyKey?: string): Promise<ContainerJson>
  list(filter: ContainerFilter, asker: ContainerAsker): Promise<ContainerPage>
  find(uuid: string, asker: ContainerAsker): Promise<ContainerJson>
  /** @throws {ApiError} 409 when it has ended, 429 when it was changed as often as may be */
  prioritise(uuid: string, priority: number, asker: ContainerAsker): Promise<ContainerJson>
  /** A container that has ended stays as it is. */
  cancel(uuid: string, reason: string, asker: ContainerAsker): Promise<ContainerJson>
  events(
    uuid: string,
    asker: ContainerAsker,
    lastEventId: string | undefined,
    signal: AbortSignal,
  ): Promise<Feed<Told> | 'ended' | null>
  /** @throws {ApiError} 410 when its output was dropped after its end */
  log(uuid: string, follow: boolean, asker: ContainerAsker): Promise<ContainerLog>
  /** @throws {ApiError} 410 when it has ended, 503 while it does not run or has no gateway */
  reach(uuid: string, asker: ContainerAsker): Promise<ContainerReach>
}

export interface ContainerOptions {
  readonly store: Pick<ContainerStore, 'accept' | 'change' | 'find' | 'list' | 'stream' | 'log'>
  readonly streams: Pick<StreamReader, 'open'>
  /** Calls a listener when there is more of a container. */
  readonly onMore: (uuid: string, listener: () => void) => () => void
  readonly sealer: Pick<Sealer, 'seal'>
  /** The types that are offered now. */
  readonly types: () => readonly MachineType[]
  readonly rules: Pick<Rules, 'maximumPriceFactor' | 'reserveExtraRamBytes'>
  readonly tenancy: Pick<Tenancy, 'tenantOf'>
  readonly isSecret: (name: string, value: string) => boolean
  readonly clock: Pick<Clock, 'wallMs' | 'sleep'>
}

/** As large as a runner takes, with its warrant. */
export const longestSpec = 512 * 1024

const lost: Told = { event: 'gone', data: '{}' }

export class ContainerService implements Containers {
  readonly #options: ContainerOptions

  constructor(options: ContainerOptions) {
    this.#options = options
  }

  async create(wish: ContainerWish, asker: ContainerAsker, idempotencyKey?: string): Promise<ContainerJson> {
    const { store, sealer, isSecret, tenancy } = this.#options
    const { view, need, spec } = prepare(wish, asker.caller.username, isSecret)
    this.#requireFit(need)
    const text = JSON.stringify(spec)
    if (Buffer.byteLength(text) > longestSpec) throw tooLong()
    const groups = asker.caller.groups.map(({ name }) => name)
    const tenant = await tenancy.tenantOf({ user: asker.caller.username, groups }, wish.tenant)
    const bodyHash = createHash('sha256').update(canonical(wish)).digest('hex')
    const accepted = await store.accept({
      ...{ nonce: randomUUID(), view, priority: wish.priority },
      shape: { need, tenant, supervisor: wish.scheduling_parameters.supervisor },
      sealSpec: (keyId, name, nonce) => sealer.seal(text, name, nonce, keyId),
      idempotency: idempotencyKey === undefined ? undefined : { key: idempotencyKey, bodyHash },
    })
    if (accepted.answer === 'full') throw accepted.by === 'bytes' ? queueTooLarge(accepted.of) : queueFull(accepted.of)
    if (!('uuid' in accepted)) throw accepted.answer === 'mismatch' ? otherBody() : lacksKey()
    const found = await store.find(accepted.uuid, ownerIn(asker))
    // The key outlives a record that was dropped: what has run is not queued again.
    if (!found) throw containerDropped()
    return containerJson(found, found.status, this.#options.clock.wallMs())
  }

  #requireFit(need: Need): void {
    const { types, rules } = this.#options
    const fit = fitOf(need, types(), rules)
    if ('none' in fit) throw noTypeFits(fit.none)
  }

  async list(filter: ContainerFilter, asker: ContainerAsker): Promise<ContainerPage> {
    const owner = asker.audience === 'user' ? asker.caller.username : filter.owner
    const { state, after, limit } = filter
    const page = await this.#options.store.list({
      ...{ limit, ...(owner !== undefined && { owner }) },
      ...{ ...(state !== undefined && { state }), ...(after !== undefined && { after }) },
    })
    const waits = waitsOf(this.#options.store)
    const nowMs = this.#options.clock.wallMs()
    const containers = await Promise.all(
      page.containers.map(async each => containerJson(each, await waits(each), nowMs)),
    )
    return { containers, ...(page.next !== undefined && { next: page.next }) }
  }

  async find(uuid: string, asker: ContainerAsker): Promise<ContainerJson> {
    const found = await this.#record(uuid, asker)
    return containerJson(found, found.status, this.#options.clock.wallMs())
  }

  async #record(uuid: string, asker: ContainerAsker) {
    const found = await this.#options.store.find(uuid, ownerIn(asker))
    if (!found) throw noContainer()
    return found
  }

  async prioritise(uuid: string, priority: number, asker: ContainerAsker): Promise<ContainerJson> {
    const answer = await this.#options.store.change(uuid, ownerIn(asker), { priority })
    if (answer === 'none') throw noContainer()
    if (answer === 'ended') throw containerEnded()
    if (answer === 'often') throw changedOften()
    return this.find(uuid, asker)
  }

  async cancel(uuid: string, reason: string, asker: ContainerAsker): Promise<ContainerJson> {
    const answer = await this.#options.store.change(uuid, ownerIn(asker), { cancel: reason })
    if (answer === 'none') throw noContainer()
    return this.find(uuid, asker)
  }

  async events(uuid: string, asker: ContainerAsker, lastEventId: string | undefined, signal: AbortSignal) {
    const { store, streams } = this.#options
    // Told first, as everywhere: whether there is a container, is another question.
    if (lastEventId !== undefined) parseEventId(lastEventId)
    await this.#record(uuid, asker)
    const stream = store.stream(uuid)
    return streams.open<StoredEvent | Told>({ stream, lastEventId, lost, signal })
  }

  async reach(uuid: string, asker: ContainerAsker): Promise<ContainerReach> {
    const { state, run, gatewayAddress, gatewayPin } = await this.#record(uuid, asker)
    if (isEnded(state)) throw hasEnded()
    if (state !== 'Running') throw notRunning('the container does not run yet')
    if (gatewayAddress === '' || gatewayPin === '')
      throw notRunning('the machine of the container has no gateway for it')
    return { run, address: gatewayAddress, pin: gatewayPin }
  }

  async log(uuid: string, follow: boolean, asker: ContainerAsker): Promise<ContainerLog> {
    const { store, onMore, clock } = this.#options
    if ((await this.#record(uuid, asker)).isOutputDropped) throw outputDropped()
    return new RecordedLog({ uuid, follow, store, clock, onMore: listener => onMore(uuid, listener) })
  }
}

/** Undefined where every owner is meant. */
const ownerIn = ({ audience, caller }: ContainerAsker): string | undefined =>
  audience === 'user' ? caller.username : undefined

const tooLong = () =>
  new ApiError(422, { msg: `is larger than ${longestSpec} bytes as JSON`, type: 'too_long', loc: ['body'] })
