/** The machines that the front let moto make: what the account may still have, and what listings show of them by now. */
import { Buckets } from '../../src/base/buckets.ts'
import type { Clock } from '../../src/base/clock.ts'
import type { Call } from './call.ts'
import type { Faults, Rate } from './faults.ts'
import { errorReply, inState, itemsOf, type Reply, textOf } from './xml.ts'

interface Known {
  readonly type: string
  readonly subnet: string
  readonly createdMs: number
  endedMs: number | undefined
}

export class Estate {
  readonly #clock: Clock
  readonly #faults: Faults
  readonly #known = new Map<string, Known>()
  /** Asked for, and not made yet. */
  readonly #reserved = new Set<Known>()
  #rate: Rate | undefined
  #bucket: Buckets | undefined

  constructor(clock: Clock, faults: Faults) {
    this.#clock = clock
    this.#faults = faults
  }

  /** Counts the call in the bucket of calls. @returns whether it may pass */
  isInRate({ action }: Call): boolean {
    const { rate } = this.#faults
    if (rate !== this.#rate) this.#bucket = rate && new Buckets(rate, this.#clock)
    this.#rate = rate
    return !this.#bucket || (rate?.actions?.includes(action) ?? true) === false || this.#bucket.take('calls') === 0
  }

  /**
   * Keeps a place for a machine, until `release`.
   * @returns the refusal if there is none
   */
  reserve({ type = '', subnet = '' }: Call): { release(): void } | Reply {
    const refusal = this.#refusal(type, subnet)
    if (refusal) return refusal
    const place = { type, subnet, createdMs: 0, endedMs: undefined }
    this.#reserved.add(place)
    return { release: () => this.#reserved.delete(place) }
  }

  #refusal(type: string, subnet: string): Reply | undefined {
    const { instances, quota = {}, capacity = {}, fullSubnets = [] } = this.#faults.limits
    const all = [...this.#known.values(), ...this.#reserved].filter(({ endedMs }) => endedMs === undefined)
    const count = (fits: (known: Known) => boolean) => all.filter(fits).length
    if (instances !== undefined && all.length >= instances)
      return errorReply('InstanceLimitExceeded', `Your quota allows for ${instances} instances.`)
    for (const [start, most] of Object.entries(quota)) {
      if (type.startsWith(start) && count(known => known.type.startsWith(start)) >= most)
        return errorReply('VcpuLimitExceeded', 'You have requested more vCPU capacity than your current limit.')
    }
    if (fullSubnets.includes(subnet))
      return errorReply('InsufficientFreeAddressesInSubnet', 'There are not enough free addresses in this subnet.')
    const here = capacity[`${type}@${subnet}`]
    const isShort =
      (here !== undefined && count(known => known.type === type && known.subnet === subnet) >= here) ||
      (capacity[type] !== undefined && count(known => known.type === type) >= capacity[type])
    return isShort
      ? errorReply('InsufficientInstanceCapacity', 'We currently do not have sufficient capacity.', 500)
      : undefined
  }

  add(id: string, { type = '', subnet = '' }: Call): void {
    this.#known.set(id, { type, subnet, createdMs: this.#clock.monotonicMs(), endedMs: undefined })
  }

  end(ids: readonly string[]): void {
    for (const id of ids) {
      const known = this.#known.get(id)
      if (known) known.endedMs ??= this.#clock.monotonicMs()
    }
  }

  live(): readonly string[] {
    return [...this.#known].filter(([, { endedMs }]) => endedMs === undefined).map(([id]) => id)
  }

  hasEnded(id: string): boolean {
    return this.#known.get(id)?.endedMs !== undefined
  }

  /** A listing, or a look by id, as of some time ago. */
  asSeen(reply: Reply, byId: boolean): Reply {
    const list = reply.status < 400 ? itemsOf(reply.body, 'reservationSet') : null
    if (!list) return reply
    const lagMs = byId ? this.#faults.findLagMs : this.#faults.lagMs
    const items = list.items.flatMap(item => this.#itemAsSeen(item, lagMs) ?? [])
    if (byId && items.length < list.items.length)
      return errorReply('InvalidInstanceID.NotFound', 'The instance ID does not exist')
    return { status: reply.status, body: list.before + items.join('') + list.after }
  }

  #itemAsSeen(item: string, lagMs: number): string | undefined {
    const known = this.#known.get(textOf(item, 'instanceId') ?? '')
    if (!known) return item
    const nowMs = this.#clock.monotonicMs()
    const ageMs = nowMs - known.createdMs
    if (ageMs < lagMs) return undefined
    if (known.endedMs !== undefined && nowMs - known.endedMs < lagMs) return inState(item, 16, 'running')
    return known.endedMs === undefined && ageMs < this.#faults.pendingMs ? inState(item, 0, 'pending') : item
  }
}
