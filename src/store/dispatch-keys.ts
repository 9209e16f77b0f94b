/** The keys of containers and of the machines that run them; `keys.ts` has the table. */
import { containerKind, dispatchShared, type Family, machineKind } from './family.ts'

export { containerKind, machineKind }

/**
 * Dispatch compares its data with the cloud, and labs are compared with the cluster: neither waits for the other.
 * Scripts find the other keys by that of `generation`, since only a record says in which group its container waits
 * (`commands/include/dispatch.lua` has the same names).
 */
export class DispatchKeys {
  readonly generation: string
  readonly hold: string
  readonly mark: string
  readonly doubt: string
  /** The counter of epochs and runs. A machine's answers never reach `Keys.last`. */
  readonly last: string
  /** Machines, as a kind of subjects of the engine. */
  readonly machines: Family
  /** Containers have no operations, but records, events, nonces and idempotency as a kind has them. */
  readonly containers: Family
  readonly briefs: string
  readonly ids: string
  readonly unasked: string
  readonly found: string
  readonly index: string
  readonly ended: string
  readonly kept: string
  readonly outputs: string
  readonly groups: string
  readonly groupIds: string
  readonly statuses: string
  readonly waiting: string
  readonly sent: string
  readonly counts: string
  readonly bytes: string
  readonly throttle: string
  readonly calls: string
  readonly compareLease: string
  readonly scheduleLease: string
  readonly watched: string
  readonly sweepLease: string
  readonly amountLease: string
  /** The containers of Arvados' queue that are in ours. */
  readonly mirrored: string
  readonly mirrorLease: string
  readonly overload: string
  readonly #tag: string

  constructor(tag: string, family: (kind: string) => Family) {
    this.#tag = tag
    const { generation, hold, lastEpoch } = dispatchShared(tag)
    this.generation = generation
    this.hold = hold
    this.last = lastEpoch
    this.mark = `${tag}dispatch-mark`
    this.doubt = `${tag}dispatch-doubt`
    this.machines = family(machineKind)
    this.containers = family(containerKind)
    this.briefs = `${tag}instance-briefs`
    this.ids = `${tag}instance-ids`
    this.unasked = `${tag}dispatch-unasked`
    this.found = `${tag}dispatch-found`
    this.index = `${tag}containers`
    this.ended = `${tag}containers-ended`
    this.kept = `${tag}containers-kept`
    this.outputs = `${tag}container-outputs`
    this.groups = `${tag}container-groups`
    this.groupIds = `${tag}container-group-ids`
    this.statuses = `${tag}dispatch-statuses`
    this.waiting = `${tag}container-briefs`
    this.sent = `${tag}container-sent`
    this.counts = `${tag}container-count`
    this.bytes = `${tag}container-bytes`
    this.throttle = `${tag}dispatch-throttle`
    this.calls = `${tag}dispatch-calls`
    this.compareLease = `${tag}lease-of-dispatch`
    this.scheduleLease = `${tag}lease-of-schedule`
    this.watched = `${tag}dispatch-watched`
    this.sweepLease = `${tag}lease-of-sweep`
    this.amountLease = `${tag}lease-of-amounts`
    this.mirrored = `${tag}arvados-mirrored`
    this.mirrorLease = `${tag}lease-of-arvados`
    this.overload = `${tag}dispatch-overload`
  }

  /** For `Compares`. Ops are those of all kinds. */
  compare({ last, bell }: { readonly last: string; readonly bell: string }) {
    const { generation, hold, mark, doubt, compareLease } = this
    return { generation, hold, mark, doubt, compareLease, last, bell }
  }

  /** The containers of an owner. */
  indexOf(owner: string): string {
    return `${this.#tag}containers-of:${owner}`
  }
  /** The containers of a state. */
  indexIn(state: string): string {
    return `${this.#tag}containers-in:${state}`
  }
  /** The containers that wait in a group. */
  group(id: string): string {
    return `${this.#tag}container-group:${id}`
  }
  /** Output of a container: its beginning, and its end. */
  logHead(uuid: string): string {
    return `${this.#tag}container-log:${uuid}`
  }
  logTail(uuid: string): string {
    return `${this.#tag}container-log-tail:${uuid}`
  }
}
