/**
 * A cloud in memory with the faults of real ones: listings lag, answers are lost, tokens are not honoured, and a yes to the end of
 * a machine may mean nothing. Its clock is the test's, and its seed decides what fails. It guards nothing: a caller that names
 * a machine of others harms it, and the journal records that.
 */
import type { CloudCall, Driver, Instance, InstanceState, Intent, PreResource } from '../driver.ts'
import { AtQuota, CloudRefused, NoCapacity, RateLimited, Unanswered } from '../errors.ts'

type Tags = Readonly<Record<string, string>>

/** Shares of calls, from 0 to 1. */
export interface Faults {
  /** It is done, and nobody hears of it. */
  readonly lostReply: number
  /** Nothing is done, and nobody hears of it. */
  readonly lostRequest: number
  /** `destroy` says yes and does nothing. */
  readonly idleYes: number
  readonly refusal: number
}

export interface FakeCloudOptions {
  readonly nowMs: () => number
  readonly seed?: number
  /** How old a listing is. Default 0. */
  readonly lagMs?: number
  /** The same token makes one machine. Default true. */
  readonly honoursTokens?: boolean
  readonly bootMs?: number
  readonly endMs?: number
  readonly faults?: Partial<Faults>
  readonly quota?: number
  readonly setTag?: string
}

/** A request to the cloud, with the tags that the machine had then. */
export interface JournalEntry {
  readonly operation: string
  readonly id: string
  readonly token?: string
  readonly tags: Tags
  readonly atMs: number
  readonly agent: string
}

interface Machine {
  readonly id: string
  readonly token: string
  readonly providerType: string
  /** Each has been so since its time. */
  readonly history: { readonly atMs: number; readonly tags: Tags }[]
  readonly createdMs: number
  endsMs: number
}

const never = Number.POSITIVE_INFINITY
const noFaults: Faults = { lostReply: 0, lostRequest: 0, idleYes: 0, refusal: 0 }

export class FakeCloud {
  readonly journal: JournalEntry[] = []
  readonly machines = new Map<string, Machine>()
  readonly resources = new Map<string, PreResource & { machine?: string }>()
  faults: Faults
  /** Every call fails so while it is set. */
  away: Error | undefined
  readonly #options: FakeCloudOptions
  #random: number
  #drawn = 0

  constructor(options: FakeCloudOptions) {
    this.#options = options
    this.#random = options.seed ?? 1
    this.faults = { ...noFaults, ...options.faults }
  }

  get setTag(): string {
    return this.#options.setTag ?? 'InstanceSetID'
  }

  /** A machine that nobody of ours asked for. @returns its id */
  add(tags: Tags, providerType = 't.small'): string {
    return this.#make({ token: `foreign-${this.#drawn}`, providerType, tags })
  }

  /** As somebody does by hand, in the console. */
  retag(id: string, change: (tags: Tags) => Tags): void {
    const machine = this.machines.get(id)!
    machine.history.push({ atMs: this.#nowMs, tags: change(tagsAt(machine, this.#nowMs)!) })
  }

  end(id: string): void {
    this.machines.get(id)!.endsMs = this.#nowMs
  }

  addResource(id: string, tags: Tags, createdMs: number | undefined): void {
    this.resources.set(id, { kind: 'nic', id, tags, createdMs })
  }

  stateOf(id: string): InstanceState | undefined {
    const machine = this.machines.get(id)
    return machine && this.#stateAt(machine, this.#nowMs)
  }

  tagsOf(id: string): Tags {
    return tagsAt(this.machines.get(id)!, this.#nowMs)!
  }

  /** Those that cost money. */
  get live(): string[] {
    return [...this.machines.keys()].filter(id => this.stateOf(id) !== 'gone')
  }

  /** Calls that changed something, of machines and resources. */
  changes(): JournalEntry[] {
    return this.journal.filter(({ operation }) => ['create', 'destroy', 'setTags', 'remove'].includes(operation))
  }

  driver(sets: readonly string[]): Driver {
    const isOurs = (tags: Tags) => sets.includes(tags[this.setTag] ?? '')
    return {
      name: 'fake',
      idempotentCreate: this.#options.honoursTokens ?? true,
      prepare: (intent, call) => this.#answer('prepare', '', intent.tags, call, () => this.#prepare(intent)),
      create: (intent, _, call) =>
        this.#answer('create', '', intent.tags, call, () => this.#create(intent), intent.token),
      list: call =>
        this.#answer('list', '', {}, call, () => {
          const atMs = this.#nowMs - (this.#options.lagMs ?? 0)
          return [...this.machines.values()]
            .flatMap(machine => this.#viewAt(machine, atMs) ?? [])
            .filter(({ tags }) => isOurs(tags))
        }),
      find: (id, call) =>
        this.#answer('find', id, this.#tags(id), call, () => {
          const machine = this.machines.get(id)
          const view = machine && this.#viewAt(machine, this.#nowMs)
          return view && isOurs(view.tags) ? view : 'unknown'
        }),
      missing: (id, call) => this.#answer('missing', id, this.#tags(id), call, () => !this.machines.has(id)),
      setTags: (id, tags, call) =>
        this.#answer('setTags', id, this.#tags(id), call, () => this.retag(id, before => ({ ...before, ...tags }))),
      destroy: (id, call) => this.#answer('destroy', id, this.#tags(id), call, () => this.#destroy(id)),
      orphans: call =>
        this.#answer('orphans', '', {}, call, () =>
          [...this.resources.values()].filter(({ tags, machine }) => isOurs(tags) && machine === undefined),
        ),
      remove: ({ id, tags }, call) => this.#answer('remove', id, tags, call, () => void this.resources.delete(id)),
      close: async () => {},
    }
  }

  get #nowMs(): number {
    return this.#options.nowMs()
  }

  #tags = (id: string): Tags => {
    const machine = this.machines.get(id)
    return (machine && tagsAt(machine, this.#nowMs)) ?? {}
  }

  async #answer<T>(
    operation: string,
    id: string,
    tags: Tags,
    call: CloudCall,
    act: () => T,
    token?: string,
  ): Promise<T> {
    call.signal.throwIfAborted()
    await call.failpoint?.('before-send')
    call.check?.()
    if (this.away) throw this.away
    if (this.#happens(this.faults.refusal)) throw new CloudRefused(`the fake cloud refuses: ${operation}`)
    if (this.#happens(this.faults.lostRequest)) throw new Unanswered('the request was lost')
    this.journal.push({
      operation,
      id,
      tags,
      atMs: this.#nowMs,
      agent: call.agent,
      ...(token !== undefined && { token }),
    })
    const answer = act()
    await call.failpoint?.('after-send')
    if (this.#happens(this.faults.lostReply)) throw new Unanswered('the reply was lost')
    return answer
  }

  #prepare({ token, tags }: Intent): PreResource[] {
    const id = `nic-${token}`
    const standing = this.resources.get(id) ?? { kind: 'nic', id, tags, createdMs: this.#nowMs }
    this.resources.set(id, standing)
    return [standing]
  }

  #create(intent: Intent): Instance {
    const honoured = this.#options.honoursTokens ?? true
    const standing = honoured ? [...this.machines.values()].find(({ token }) => token === intent.token) : undefined
    if (!standing && this.live.length >= (this.#options.quota ?? never)) throw new AtQuota('no more machines', 'all')
    const id = standing?.id ?? this.#make(intent)
    const nic = this.resources.get(`nic-${intent.token}`)
    if (nic && nic.machine === undefined) nic.machine = id
    return this.#viewAt(this.machines.get(id)!, this.#nowMs)!
  }

  #make({ token, providerType, tags }: Pick<Intent, 'token' | 'providerType' | 'tags'>): string {
    this.#drawn += 1
    const id = `vm-${this.#drawn}`
    const atMs = this.#nowMs
    this.machines.set(id, { id, token, providerType, createdMs: atMs, endsMs: never, history: [{ atMs, tags }] })
    return id
  }

  #destroy(id: string): void {
    if (this.#happens(this.faults.idleYes)) return
    const machine = this.machines.get(id)
    if (machine) machine.endsMs = Math.min(machine.endsMs, this.#nowMs)
    for (const [nic, { machine: of }] of this.resources) if (of === id) this.resources.delete(nic)
  }

  #stateAt({ createdMs, endsMs }: Machine, atMs: number): InstanceState {
    if (atMs >= endsMs) return atMs >= endsMs + (this.#options.endMs ?? 0) ? 'gone' : 'stopping'
    return atMs >= createdMs + (this.#options.bootMs ?? 0) ? 'running' : 'pending'
  }

  /** As it was then; undefined before it was made. */
  #viewAt(machine: Machine, atMs: number): Instance | undefined {
    const tags = tagsAt(machine, atMs)
    if (!tags) return undefined
    const { id, providerType } = machine
    return { id, providerType, tags, state: this.#stateAt(machine, atMs), address: `${id}.example:22` }
  }

  #happens(share: number): boolean {
    this.#random = (Math.imul(this.#random ^ (this.#random >>> 15), 1 | this.#random) + 0x6d2b79f5) | 0
    const mixed = Math.imul(this.#random ^ (this.#random >>> 7), 61 | this.#random)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 < share
  }
}

const tagsAt = ({ history }: Machine, atMs: number): Tags | undefined =>
  history.findLast(each => each.atMs <= atMs)?.tags

/** Errors for `away`. */
export const awayErrors = {
  rate: (untilMs: number) => new RateLimited('too many calls', untilMs),
  capacity: () => new NoCapacity('none left'),
  silent: () => new Unanswered('no answer'),
}
