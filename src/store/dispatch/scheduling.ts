/** The commands of the scheduler, which holds the lease `Keys.dispatch.scheduleLease`, and of the throttle of all replicas. */
import { RetryLater } from '../../base/errors.ts'
import type { MachineBrief } from '../../dispatch/container.ts'
import type { Throttle } from '../../dispatch/types.ts'
import type { Connection } from '../connection.ts'
import type { Keys } from '../keys.ts'
import { counterAhead } from '../operations.ts'
import { type Decision, encodeDecision, keyOf, type Outcome, placesOf } from './decisions.ts'
import { parseMachine, wellFormed } from './forms.ts'
import {
  atOnce,
  groupsOf,
  partsOf,
  type Queued,
  type QueueGroup,
  type QueueLimits,
  readQueued,
  shareOf,
} from './queue.ts'
import { encodeThrottle, parseThrottle } from './throttles.ts'

export type { At, Decision, NewMachine, Outcome } from './decisions.ts'
export type { Queued, QueueGroup, QueueLimits } from './queue.ts'

/**
 * The input of a pass. It is read in parts, so parts may be of different times: versions decide when a decision is written.
 */
export interface Reading {
  readonly nowMs: number
  readonly groups: readonly QueueGroup[]
  readonly queue: readonly Queued[]
  /** Groups of which there are more. */
  readonly cut: ReadonlySet<string>
  readonly machines: readonly MachineBrief[]
  readonly throttle: Throttle
  readonly throttleVersion: number
  /** While machines were not asked what they run, `write` answers `wait` for some containers. */
  readonly unasked: number
}

/** Machines, or groups, that are read by one command, and decisions that are written by one. */
const [batch, writeBatch] = [250, 200]

export class SchedulingStore {
  readonly #connection: Pick<Connection, 'run' | 'read'>
  readonly #keys: Keys

  constructor(connection: Pick<Connection, 'run' | 'read'>, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  /** @returns null while comparing. @throws {RetryLater} when Redis does not answer */
  async read(limits: QueueLimits): Promise<Reading | null> {
    const { throttle, version } = await this.throttle()
    const found = await this.#readMachines()
    const groups = found && (await this.#readGroups())
    if (!groups) return null
    const byId = new Map(groups.map(group => [group.id, group]))
    const queue = new Map<string, Queued>()
    const assigned = found.machines.flatMap(({ containers }) =>
      containers.filter(({ run }) => run === 0).map(({ uuid }) => uuid),
    )
    for (let from = 0; from < assigned.length; from += atOnce) {
      if (!(await this.#readQueue(['', ...assigned.slice(from, from + atOnce)], byId, queue))) return null
    }
    // Those that have a machine may be the first of their group: as many more are read.
    const have = Map.groupBy(queue.values(), ({ shape }) => shape)
    const share = shareOf(groups, limits)
    const most = (id: string) => share + (have.get(id)?.length ?? 0)
    for (const part of partsOf(groups, most)) {
      if (!(await this.#readQueue(part, byId, queue))) return null
    }
    const cut = new Set(groups.filter(({ id, count }) => count > most(id)).map(({ id }) => id))
    return { ...found, groups, queue: [...queue.values()], cut, throttle, throttleVersion: version }
  }

  /** @returns null while comparing */
  async #readGroups(): Promise<QueueGroup[] | null> {
    const found: QueueGroup[] = []
    for (let after = ''; ; ) {
      const at = after
      const args = (identity: string) => [identity, at, batch]
      const [word, ...flat] = await this.#read('read-groups', args)
      if (word !== 'read') return null
      if (flat.length === 0) return found
      found.push(...groupsOf(flat))
      after = String(flat.at(-3))
    }
  }

  /** They are named first, and then read in parts. @returns null while comparing */
  async #readMachines(): Promise<Pick<Reading, 'machines' | 'nowMs' | 'unasked'> | null> {
    const names = await this.#connection.read('hkeys', redis => redis.hkeys(this.#keys.dispatch.briefs))
    const machines: MachineBrief[] = []
    let [nowMs, unasked] = [0, 0]
    for (let from = 0; from < Math.max(1, names.length); from += batch) {
      const args = (identity: string) => [identity, ...names.slice(from, from + batch)]
      const [word, now, some, ...briefs] = await this.#read('read-dispatch', args)
      if (word !== 'read') return null
      for (const json of briefs) if (json !== null) machines.push(parseMachine(String(json)))
      nowMs = Number(now)
      unasked = Number(some)
    }
    return { machines, nowMs, unasked }
  }

  /**
   * Says that this replica schedules.
   * @param gapMs a longer time without such a word is a gap
   * @returns since when there was no gap, by Redis' clock; null if another replica has the lease
   * @throws {RetryLater} when Redis does not answer
   */
  async watch(token: string, gapMs: number): Promise<number | null> {
    const { scheduleLease, watched } = this.#keys.dispatch
    const since = await this.#connection.run('watch-machines', [scheduleLease, watched], [token, Math.ceil(gapMs)])
    return since === '' ? null : Number(since)
  }

  async #read(name: string, args: (identity: string) => (string | number)[]): Promise<unknown[]> {
    return (await this.#connection.run(name, [this.#keys.dispatch.generation], args)) as unknown[]
  }

  /** @returns false while comparing */
  async #readQueue(
    part: readonly (string | number)[],
    groups: ReadonlyMap<string, QueueGroup>,
    queue: Map<string, Queued>,
  ): Promise<boolean> {
    const args = (identity: string) => [identity, ...part]
    const answer = (await this.#read('read-queue', args)) as string[]
    if (answer[0] !== 'read') return false
    for (let i = 1; i < answer.length; i += 2) {
      const queued = readQueued(answer[i]!, answer[i + 1], groups)
      if (queued) queue.set(queued.uuid, queued)
    }
    return true
  }

  /**
   * Draws names for machines, of which any may stay unused.
   * @param ids the sealing keys of this replica (`Sealer.ids`)
   * @returns null while comparing, or if the others seal with a key that is not ours
   * @throws {RetryLater} when no op can be drawn
   */
  async draw(
    count: number,
    ids: string,
  ): Promise<{ readonly names: readonly string[]; readonly keyId: string } | null> {
    const k = this.#keys
    const args = (identity: string) => [identity, count, ids]
    const answer = await this.#connection.run('draw-ops', [k.dispatch.generation, k.last, k.sealing], args)
    const [word, first, keyId] = answer as [string, string, string]
    if (word === 'ahead') throw new RetryLater(counterAhead)
    if (word !== 'drawn') return null
    return { names: Array.from({ length: count }, (_, i) => (Number(first) + i).toString(36)), keyId }
  }

  /**
   * Writes decisions in their order. A decision that takes back what an earlier one of this call wrote has the versions that were
   * read.
   * @param token of the schedule lease
   * @returns an outcome for each; null while comparing, or if another replica has the lease
   */
  async write(token: string, decisions: readonly Decision[]): Promise<readonly Outcome[] | null> {
    const { generation, scheduleLease } = this.#keys.dispatch
    const outcomes: Outcome[] = []
    /** The versions that earlier parts have written. */
    const written = new Map<string, number>()
    for (let from = 0; from < decisions.length; from += writeBatch) {
      const part = decisions.slice(from, from + writeBatch).map(decision => encodeDecision(decision, written))
      const keys = [generation, scheduleLease, this.#keys.sealing]
      const args = (identity: string) => [identity, token, wellFormed(part)]
      const [answer, ...results] = (await this.#connection.run('write-decisions', keys, args)) as WriteAnswer
      if (answer !== 'written') return null
      results.forEach(([outcome, ofContainer, ofMachine], i) => {
        outcomes.push(outcome)
        if (outcome !== 'done') return
        const { container, machine } = placesOf(decisions[from + i]!)
        if (container) written.set(keyOf(container), Number(ofContainer))
        if (machine) written.set(keyOf(machine), Number(ofMachine))
      })
    }
    return outcomes
  }

  /**
   * Writes why containers wait, by group; '' if they do not. Groups that are gone are left out.
   * @returns false if another replica has the lease
   */
  async explain(token: string, sentences: ReadonlyMap<string, string>): Promise<boolean> {
    const { generation, scheduleLease } = this.#keys.dispatch
    const all = [...sentences].flatMap(([id, sentence]) => [id, sentence.toWellFormed()])
    for (let from = 0; from < all.length; from += 2 * batch) {
      const args = [token, ...all.slice(from, from + 2 * batch)]
      if ((await this.#connection.run('explain-groups', [generation, scheduleLease], args)) !== 1) return false
    }
    return true
  }

  /** @returns it with Redis' clock, by which its pauses end */
  async throttle(): Promise<{ readonly throttle: Throttle; readonly version: number; readonly nowMs: number }> {
    const [now, text] = (await this.#connection.run('read-throttle', [this.#keys.dispatch.throttle], [])) as string[]
    const [, version = '0', json = ''] = /^(\d+) (.*)$/s.exec(text!) ?? []
    return { throttle: parseThrottle(json), version: Number(version), nowMs: Number(now) }
  }

  /** @returns false if another version is there. Written again, it is the same */
  async setThrottle(throttle: Throttle, version: number): Promise<boolean> {
    const args = [version, encodeThrottle(throttle)]
    return (await this.#connection.run('set-throttle', [this.#keys.dispatch.throttle], args)) === 1
  }

  /**
   * Reserves the next time for a call of the cloud.
   * @returns in how many milliseconds it may be made; null if that is beyond `mostMs`, and nothing was reserved
   */
  async reserveCall(perSecond: number, mostMs: number): Promise<number | null> {
    const args = [Math.ceil(1e6 / perSecond), Math.floor(mostMs * 1000)]
    const answer = await this.#connection.run('reserve-cloud-op', [this.#keys.dispatch.calls], args)
    return answer === null ? null : Math.ceil(Number(answer) / 1000)
  }
}

type WriteAnswer = ['written' | 'lost' | 'comparing', ...[Outcome, string, string][]]
