/** For `skylab heal`: finds and removes numbers in Redis from a counter that ran ahead, of every kind of subjects. */
import type { Subject } from '../base/subject.ts'
import type { CompareKeys } from './compares.ts'
import type { Connection } from './connection.ts'
import type { Family } from './family.ts'
import type { Keys } from './keys.ts'

/** The numbers of one subject in Redis; 0 for a missing one. */
export interface SubjectOps {
  readonly subject: Subject
  readonly record: number
  readonly stream: number
  readonly tombstone: number
  readonly waiting: number
  /** The number of the last claim, for a kind whose claims draw one. */
  readonly epoch: number
  /** The number of the last run of a container; 0 for other kinds. */
  readonly run: number
  /** The record's field `nsUid`, which other kinds than labs may use for something else; '' if unknown. */
  readonly namespaceUid: string
}

export interface Survey {
  readonly lastOp: number
  /** Redis' clock */
  readonly nowMs: number
  readonly subjects: readonly SubjectOps[]
  /** The last numbers that claims drew, by kind; 0 for a kind whose claims draw none. */
  readonly epochs: Readonly<Record<string, number>>
}

export class HealStore {
  readonly #connection: Connection
  readonly #keys: Keys
  readonly #kinds: readonly string[]
  readonly #compared: Pick<CompareKeys, 'hold' | 'generation' | 'doubt' | 'mark'>

  /**
   * @param kinds all kinds of subjects of the installation
   * @param compared what a new compare is begun by. Default: that of labs with the cluster
   */
  constructor(
    connection: Connection,
    keys: Keys,
    kinds: readonly string[],
    compared: Pick<CompareKeys, 'hold' | 'generation' | 'doubt' | 'mark'> = keys,
  ) {
    this.#connection = connection
    this.#keys = keys
    this.#kinds = kinds
    this.#compared = compared
  }

  async survey(): Promise<Survey> {
    const lastOp = await this.#number(this.#keys.last)
    const [seconds] = await this.#connection.read('time', redis => redis.time())
    const subjects: SubjectOps[] = []
    const epochs: Record<string, number> = {}
    const counters = new Set<string>()
    for (const kind of this.#kinds) {
      const family = this.#keys.family(kind)
      // Kinds of dispatch share one counter, which the first of them stands for.
      if (!counters.has(family.lastEpoch)) epochs[kind] = await this.#number(family.lastEpoch)
      counters.add(family.lastEpoch)
      for (const name of await this.#names(family)) subjects.push(await this.#surveyOf(family, name))
    }
    return { lastOp, nowMs: Number(seconds) * 1000, subjects, epochs }
  }

  async #surveyOf(family: Family, name: string): Promise<SubjectOps> {
    const keys = [family.record(name), family.events(name), family.tombstone(name), family.waiting]
    const answer = (await this.#connection.run('survey-subject', keys, [name])) as string[]
    const [record, stream, tombstone, waiting, epoch, run] = answer.map(Number)
    const ops = { record: record!, stream: stream!, tombstone: tombstone!, waiting: waiting!, epoch: epoch!, run: run! }
    return { subject: { kind: family.kind, name }, ...ops, namespaceUid: answer[6]! }
  }

  /** @returns the names of removed parts: record, waiting, tombstone, epoch, stream */
  async healSubject({ kind, name }: Subject): Promise<string[]> {
    const f = this.#keys.family(kind)
    const keys = [f.record(name), f.events(name), f.tombstone(name), f.waiting, f.owned, f.deadlines, f.index]
    return (await this.#connection.run('heal-subject', keys, [name])) as string[]
  }

  /**
   * Resets all counters.
   * @param compare whether the records of labs, or of machines, are compared anew; until then nothing of them is answered
   * @returns the new value of the counter of ops
   */
  async healCounter(trusted: number, compare: boolean): Promise<number> {
    const k = this.#compared
    const keys = [this.#keys.last, k.hold, k.generation, k.doubt, k.mark]
    const ofKinds = this.#kinds.map(kind => this.#keys.family(kind).lastEpoch)
    return Number(await this.#connection.run('heal-counter', [...keys, ...ofKinds], [trusted, compare ? '1' : '']))
  }

  async #number(key: string): Promise<number> {
    return Number((await this.#connection.read('get', redis => redis.get(key))) ?? 0)
  }

  /** All subjects with any key in Redis, such as users with or without a lab. */
  async #names(family: Family): Promise<string[]> {
    const names = new Set<string>()
    for (const set of [family.index, family.waiting]) {
      for (const name of await this.#connection.read('zrange', redis => redis.zrange(set, '0', '-1'))) names.add(name)
    }
    for (const keyOf of [family.record, family.events, family.tombstone]) {
      const prefix = keyOf.call(family, '')
      // A prefix may have characters with a meaning in patterns.
      const pattern = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}*`
      let cursor = '0'
      do {
        const at = cursor
        const [next, found] = await this.#connection.read('scan', redis =>
          redis.scan(at, 'MATCH', pattern, 'COUNT', 1000),
        )
        for (const key of found) names.add(key.slice(prefix.length))
        cursor = next
      } while (cursor !== '0')
    }
    return [...names].sort()
  }
}
