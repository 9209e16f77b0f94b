/** The store of the activity of workloads: ends of checks, requests to stop, and reads of both. */
import { labKind } from '../base/subject.ts'
import type { WorkloadKind } from '../config/idle.ts'
import {
  activityEventOf,
  encodeAsk,
  encodeFound,
  type FoundAnswer,
  type LabAnswer,
  labOf,
  type ReadAnswer,
  readOf,
  stateScore,
  viewOf,
} from './activity-forms.ts'
import { NumberAhead } from './compares.ts'
import type { Connection, Entry } from './connection.ts'
import { comparingLabs } from './due.ts'
import type {
  ActivityEventsRead,
  ActivityRead,
  ActivityView,
  CheckEnd,
  CullRequest,
  LabRead,
  StopRefusal,
  StopRequest,
} from './idle.ts'
import type { Keys } from './keys.ts'
import { counterAhead } from './operations.ts'
import { encodeEvents } from './records.ts'
import { gatewayBehindMs, gatewayGoneMs } from './touches.ts'

export class ActivityStore {
  readonly #connection: Pick<Connection, 'run'>
  readonly #keys: Keys

  constructor(connection: Pick<Connection, 'run'>, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  /**
   * Reads what is known of an incarnation. Raises the floor if it is of another Redis, or ahead.
   * @throws {RetryLater} when Redis does not answer
   */
  async read(kind: WorkloadKind, id: string, podUid: string): Promise<ActivityRead> {
    const keys = this.#readKeys(kind, id)
    const args = (identity: string) => [identity, podUid, gatewayBehindMs, gatewayGoneMs]
    return readOf((await this.#connection.run('read-activity', keys, args)) as ReadAnswer)
  }

  /**
   * As `read`, with the lab's record.
   * @throws {RetryLater} when the data are not compared, or Redis does not answer
   */
  async readLab(user: string, podUid: string): Promise<LabRead> {
    const keys = [...this.#readKeys(labKind, user), this.#keys.generation, this.#keys.record(user)]
    const args = (identity: string) => [identity, podUid, gatewayBehindMs, gatewayGoneMs]
    const answer = (await this.#connection.run('read-idle-lab', keys, args)) as [string, ReadAnswer, LabAnswer]
    if (answer[0] === 'comparing') throw comparingLabs()
    return { ...readOf(answer[1]), lab: labOf(answer[2], user) }
  }

  /**
   * Ends a check: writes what it found, and when the next one is due.
   * @returns false if the workload is another replica's by now, or no more checked: nothing was written
   * @throws {RetryLater} when Redis does not answer
   */
  async end(end: CheckEnd): Promise<boolean> {
    const k = this.#keys
    const { kind, id, activity, lab } = end
    const family = k.family(kind)
    const keys = [
      ...[k.generation, family.record(id), family.events(id), k.bell, k.activityFloor, k.activity(kind, id)],
      ...[k.due(kind), k.dueSlow(kind), k.activityStates(kind), k.activityEvents],
    ]
    const events = end.events.map(({ event, data }) => [event, data.toWellFormed()])
    const words = lab?.words.map(data => ['info', data] as const) ?? []
    const args = (identity: string) => [
      ...[identity, kind, id, end.score, activity.podUid, end.touches, encodeFound(end), Math.ceil(end.nextInMs)],
      ...[activity.failures > 0 ? 'slow' : 'fast', stateScore(end.finding.state), JSON.stringify(events)],
      ...[lab?.op ?? '', encodeEvents(words)],
    ]
    return (await this.#connection.run('end-check', keys, args)) === 1
  }

  /**
   * Requests the deletion of a lab, or refuses, by one script. From here on it is any deletion.
   * @returns the op of the deletion
   * @throws {NumberAhead} when no op can be drawn
   * @throws {RetryLater} when the data are not compared, or Redis does not answer
   */
  async cullLab(request: CullRequest): Promise<{ readonly op: number } | StopRefusal> {
    const k = this.#keys
    const { id, op, words, timeLimitMs, by } = request
    const keys = [
      ...[k.generation, k.last, k.record(id), k.events(id), k.waiting, k.deadlines, k.bell, k.index, k.audit],
      ...[k.activityFloor, k.activity(labKind, id), k.due(labKind), k.dueSlow(labKind)],
      ...[k.activityStates(labKind), k.activityStops(labKind), k.activityEvents],
    ]
    const first = encodeEvents([['info', words]])
    const args = (identity: string) => [identity, id, op, encodeAsk(request), first, timeLimitMs, by ?? '']
    const [answer, deletion] = (await this.#connection.run('cull-lab', keys, args)) as [string, string]
    if (answer === 'comparing') throw comparingLabs()
    if (answer === 'ahead') throw new NumberAhead(counterAhead)
    return answer === 'requested' ? { op: Number(deletion) } : (answer as StopRefusal)
  }

  /**
   * Requests the stop of a workload that is no lab. The caller carries it out, and then tells it; if it does not, the workload
   * is looked at anew.
   * @throws {RetryLater} when Redis does not answer
   */
  async requestStop(request: StopRequest): Promise<'requested' | StopRefusal> {
    const k = this.#keys
    const { kind, id } = request
    const keys = [k.activityFloor, k.activity(kind, id), k.due(kind), k.dueSlow(kind), k.activityStops(kind)]
    const args = (identity: string) => [identity, id, encodeAsk(request)]
    const [answer] = (await this.#connection.run('request-stop', keys, args)) as ['requested' | StopRefusal]
    return answer
  }

  /**
   * Reports that such a request was carried out, once. If the caller does not, `DueStore.dismiss` reports it.
   * @throws {RetryLater} when Redis does not answer
   */
  async tellStop({ kind, id, score }: Pick<StopRequest, 'kind' | 'id' | 'score'>): Promise<void> {
    const k = this.#keys
    await this.#connection.run(
      'tell-stop',
      [k.activityFloor, k.activity(kind, id), k.activityEvents, k.bell],
      [kind, id, score],
    )
  }

  /**
   * Takes such a request back, since it cannot be carried out: it counts for the fuse no longer.
   * @throws {RetryLater} when Redis does not answer
   */
  async withdrawStop({ kind, id, score }: Pick<StopRequest, 'kind' | 'id' | 'score'>): Promise<void> {
    const keys = [this.#keys.activity(kind, id), this.#keys.activityStops(kind)]
    await this.#connection.run('withdraw-stop', keys, [id, score])
  }

  /**
   * Nobody counts as idle for longer than since now.
   * @throws {RetryLater} when Redis does not answer
   */
  async raiseFloor(): Promise<void> {
    await this.#connection.run('raise-floor', [this.#keys.activityFloor], identity => [identity])
  }

  /**
   * The view of the API, for each id; undefined where nothing is known.
   * @throws {RetryLater} when Redis does not answer
   */
  async find(kind: WorkloadKind, ids: readonly string[]): Promise<readonly (ActivityView | undefined)[]> {
    if (ids.length === 0) return []
    const keys = ids.map(id => this.#keys.activity(kind, id))
    return ((await this.#connection.run('find-activities', keys, [])) as FoundAnswer[]).map(viewOf)
  }

  /**
   * Reads events of all workloads after a place, for the one reader of a replica; from the first one when the place lies beyond
   * the end, since Redis has lost that series. A ring `activity` announces each.
   * @param afterId '0-0': from the first one
   * @throws {RetryLater} when Redis does not answer
   */
  async readEvents(afterId: string, limit: number): Promise<ActivityEventsRead> {
    const [series = '0', seq = '0'] = afterId.split('-')
    const answer = await this.#connection.run('read-series', [this.#keys.activityEvents], [series, seq, limit])
    const [is, lastSeries, lastSeq, entries] = answer as [string, number, number, Entry[]]
    if (is === 'none') return { newestId: undefined, events: [] }
    return { newestId: `${lastSeries}-${lastSeq}`, events: entries.map(activityEventOf) }
  }

  #readKeys(kind: WorkloadKind, id: string): string[] {
    return [this.#keys.activityFloor, this.#keys.activity(kind, id), this.#keys.activityFlushed(kind)]
  }
}
