/** T24: the lease scripts on a real Redis, compared with a model of their answers. */
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { Fenced } from '../../../src/base/errors.ts'
import type { Args, Connection } from '../../../src/store/connection.ts'
import { Keys } from '../../../src/store/keys.ts'
import { LabStore } from '../../../src/store/labs.ts'
import { OwnerStore, type Ownership } from '../../../src/store/owners.ts'
import { type LabFields, type LabRecord, labForm, parseRecord } from '../../../src/store/records.ts'
import { callCommand, defineCommands } from '../../../src/store/scripts.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { creation, deletion, eventsMs, holdMs, ownRedis, Store, sealing, tombstoneMs } from '../../kit/store/store.ts'
import { type Command, firstOp, LeaseModel, ownerCount } from './lease-model.ts'
import { isWhole } from './points.ts'

const runs = isWhole ? 10_000 : 300
/** Long enough that nothing expires during a run. */
const ttlMs = 60_000
const user = 'ada'
const identity = 'this-redis'

/** The stores of one run. All commands of a run are sent before the first answer comes. */
class Scripts {
  readonly keys: Keys
  readonly #redis: Redis
  readonly #owners: OwnerStore<LabRecord, LabFields>
  readonly #labs: LabStore

  constructor(redis: Redis, run: number) {
    this.#redis = redis
    this.keys = new Keys(`run-${run}`)
    const send = async (name: string, keys: string[], args: Args) =>
      callCommand(redis, name, keys, typeof args === 'function' ? args(identity) : args)
    const common = { connection: { run: send } as unknown as Connection, keys: this.keys, sealing }
    this.#owners = new OwnerStore({
      ...common,
      family: this.keys,
      form: labForm,
      clock: systemClock,
      tombstoneMs,
      holdMs,
    })
    this.#labs = new LabStore({ ...common, retention: { tombstoneMs, idempotencyMs: 1000, eventsMs } })
    void redis.hset(this.keys.generation, 'identity', identity)
    void redis.set(this.keys.last, String(firstOp))
  }

  async send(command: Command, model: LeaseModel): Promise<unknown> {
    if (command.do === 'create') {
      const accepted = await this.#labs.acceptCreate(creation(user))
      return 'op' in accepted ? `accepted ${accepted.op}` : accepted.answer
    }
    if (command.do === 'delete') {
      const accepted = await this.#labs.acceptDelete(deletion(user))
      return accepted?.answer === 'accepted' ? `accepted ${accepted.op}` : (accepted?.answer ?? 'none')
    }
    if (command.do === 'expire') return void (await this.#redis.del(this.keys.lease(user)))
    if (command.do === 'free') return this.#free(command.late)
    const by = { ...model.owners[command.owner]!, name: user }
    if (command.do === 'acquire') {
      const key = this.keys.lease(user)
      return (await this.#redis.set(key, model.nextToken(command.owner), 'PX', ttlMs, 'NX')) === 'OK'
    }
    if (command.do === 'claim') return (await this.#owners.claim(user, by.token, ttlMs)) !== null
    if (command.do === 'extend') return (await this.#owners.extend([by], ttlMs))[0]
    if (command.do === 'release') return this.#owners.release(by)
    if (command.do === 'giveBack') return this.#owners.giveBack(user, by.token)
    return this.#write(command, by)
  }

  async #write(
    command: Extract<Command, { do: 'commit' | 'finish' }>,
    by: Ownership & { readonly seq: number },
  ): Promise<boolean> {
    const seq = by.seq - (command.late ? 1 : 0)
    const written =
      command.do === 'commit'
        ? this.#owners.commit(by, seq, [['info', 'made']], { acting: command.acting })
        : this.#owners.finish(by, seq, [['complete', 'ended']], command.outcome, {})
    return written.then(
      () => true,
      error => {
        if (error instanceof Fenced) return false
        throw error
      },
    )
  }

  async #free(late: boolean): Promise<boolean> {
    const beat = Number(await this.#redis.zscore(this.keys.owned, user))
    return this.#owners.free(user, beat - (late ? 1 : 0), ttlMs)
  }

  /** The state in the form of the model. */
  async state(): Promise<Pick<LeaseModel, 'record' | 'lease' | 'waiting' | 'owned'>> {
    const { keys } = this
    const [flat, lease, look] = await Promise.all([
      this.#redis.hgetall(keys.record(user)),
      this.#redis.get(keys.lease(user)),
      this.#owners.look(10, true),
    ])
    const found = parseRecord(Object.entries(flat).flat(), user)
    const { op, status, active, token, seq, claims, attempts } = found ?? {}
    const record = found && ({ op, status, active, token, seq, claims, attempts } as LeaseModel['record'])
    return { record, lease: lease ?? '', waiting: look!.waiting.length > 0, owned: look!.owned.length > 0 }
  }
}

const owner = fc.nat(ownerCount - 1)
const late = fc.boolean()
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('acquire' as const), owner }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('claim' as const), owner }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('extend' as const, 'release', 'giveBack'), owner }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('commit' as const), owner, late, acting: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ do: fc.constant('finish' as const), owner, late },
      outcome: fc.constantFrom('running' as const, 'failed', 'gone'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('free' as const), late }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('create' as const, 'create', 'delete', 'expire', 'expire') }),
  },
)

/** Commands that belong together come together often, since random ones would hardly ever own anything. */
const take = owner.map((index): Command[] => [
  { do: 'acquire', owner: index },
  { do: 'claim', owner: index },
])
const takeOver = take.map((commands): Command[] => [{ do: 'expire' }, ...commands])
const story = fc
  .array(fc.oneof({ weight: 8, arbitrary: command.map(each => [each]) }, { weight: 1, arbitrary: take }, takeOver), {
    minLength: 4,
    maxLength: 30,
  })
  .map((parts): Command[] => [{ do: 'create' }, ...parts.flat()])

async function compareWithModel(trial: Trial): Promise<void> {
  const server = await ownRedis()
  const { redis, close } = await Store.open(server).then(store => ({ redis: store.redis, close: () => store.close() }))
  const counts = { commands: 0, accepted: 0, refused: 0 }
  try {
    defineCommands(redis)
    let run = 0
    const property = fc.asyncProperty(story, async commands => {
      run += 1
      const [scripts, model] = [new Scripts(redis, run), new LeaseModel()]
      const [answers, expected]: [Promise<unknown>[], unknown[]] = [[], []]
      for (const each of commands) {
        answers.push(scripts.send(each, model))
        // The script's beat must be read before the next script changes it.
        if (each.do === 'free') await answers.at(-1)
        expected.push(model.answer(each))
      }
      const given = await Promise.all(answers)
      expect(given.map((answer, i) => [commands[i]!.do, answer])).toEqual(
        expected.map((answer, i) => [commands[i]!.do, answer]),
      )
      const { record, lease, waiting, owned } = model
      expect(await scripts.state()).toEqual({ record, lease, waiting, owned })
      count(counts, expected)
      trial.injected()
      trial.landed()
      if (run % 500 === 0) await redis.flushall()
    })
    await fc.assert(property, { seed: trial.seed, numRuns: runs, endOnFailure: false })
  } finally {
    close()
    await server.stop()
  }
  for (const [name, figure] of Object.entries(counts)) trial.figure(name, figure)
}

function count(counts: { commands: number; accepted: number; refused: number }, expected: readonly unknown[]): void {
  counts.commands += expected.length
  counts.accepted += expected.filter(answer => answer === true).length
  counts.refused += expected.filter(answer => answer === false).length
}

attack('T24 lease scripts beside a model', compareWithModel, { concurrent: true, limitMs: 400_000 })
