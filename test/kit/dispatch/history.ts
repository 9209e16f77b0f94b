/**
 * A cloud of the imagination, whose machines keep the fence of a runner, and replicas that use the store as keepers and
 * schedulers do: also late, under a lease that was lost, and each command twice. Redis may be emptied, or go back in time.
 */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { ApiError, Fenced } from '../../../src/base/errors.ts'
import { type MachineBrief, sentOf } from '../../../src/dispatch/container.ts'
import type { Limits } from '../../../src/dispatch/room.ts'
import type { Connection } from '../../../src/store/connection.ts'
import type { Told } from '../../../src/store/dispatch/keeping.ts'
import type { At, Decision, Reading } from '../../../src/store/dispatch/scheduling.ts'
import type { Ownership } from '../../../src/store/owners.ts'
import type { Store } from '../store/store.ts'
import { container, Dispatch, shape, stray, view } from './store.ts'

interface Run {
  readonly run: number
  live: boolean
  exitCode: number | undefined
}

/** A machine as the cloud has it, with its runner. */
interface Vm {
  readonly id: string
  readonly intent: string
  alive: boolean
  /** The highest epoch that it has heard. */
  epoch: number
  readonly runs: Map<string, Run>
  readonly highest: Map<string, number>
}

interface Keeper {
  readonly by: Ownership & { readonly epoch: number }
  vm: Vm | undefined
  /** Starts that are written, and not sent yet. */
  readonly outbox: { readonly uuid: string; readonly run: number }[]
  /** What was found out, and not written yet. */
  readonly findings: { readonly uuid: string; readonly run: number; readonly told: Told }[]
}

/** Sends each command twice while `twice` is set: the first reply is lost. */
class Repeating {
  twice = false
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }
  run: Connection['run'] = async (name, keys, args) => {
    const first = await this.#connection.run(name, keys, args)
    return this.twice ? this.#connection.run(name, keys, args) : first
  }
  read: Connection['read'] = (name, call) => this.#connection.read(name, call)
  identity: Connection['identity'] = () => this.#connection.identity()
  refreshIdentity: Connection['refreshIdentity'] = () => this.#connection.refreshIdentity()
}

/** Steps of a history, with two numbers that choose. */
export type Step = readonly [name: StepName, a: number, b: number]
export type StepName = Exclude<keyof History['steps'], symbol>

export class History {
  readonly dispatch: Dispatch
  readonly #store: Store
  readonly #repeating: Repeating
  readonly #uuids: string[] = []
  readonly #vms: Vm[] = []
  #keepers: Keeper[] = []
  #reading: Reading | undefined
  #snapshot: (readonly [key: string, dump: Buffer, ttl: number])[] | undefined
  /** Starts that a runner refused, runs that began, those beside others, and losses of data. */
  readonly counts = { refused: 0, begun: 0, losses: 0, ended: 0, adopted: 0, fenced: 0, full: 0, beside: 0 }
  /** Containers that have ended, and are not kept any more. */
  readonly dropped = new Set<string>()

  readonly #room: Limits | undefined

  /** @param room what a machine may hold; without it one container */
  constructor(store: Store, room?: Limits) {
    this.#store = store
    this.#room = room
    this.#repeating = new Repeating(store.connection)
    this.dispatch = new Dispatch(store, this.#repeating as unknown as Connection, room?.places)
  }

  async start(): Promise<void> {
    await this.dispatch.compare()
    await this.dispatch.schedule()
  }

  async take([name, a, b]: Step): Promise<void> {
    this.#repeating.twice = b % 3 === 0
    try {
      await this.steps[name](a, b)
    } catch (error) {
      if (error instanceof Fenced) this.counts.fenced += 1
      else if (!(error instanceof ApiError && error.status === 503)) throw error
    }
    this.#repeating.twice = false
    await this.dispatch.check()
    await this.#checkDropped()
  }

  /** What was dropped runs nowhere, and never comes back, but by a loss of data. */
  async #checkDropped(): Promise<void> {
    const { redis, keys } = this.#store
    for (const uuid of this.#uuids) {
      const is = (await redis.exists(keys.dispatch.containers.record(uuid))) === 1
      expect(is && this.dropped.has(uuid) ? `${uuid} is back` : '').toBe('')
      if (is || this.dropped.has(uuid) || this.counts.losses > 0) continue
      this.dropped.add(uuid)
      const runs = this.#vms.some(({ alive, runs }) => alive && runs.get(uuid)?.live)
      expect(runs ? `${uuid} runs, and was dropped` : '').toBe('')
    }
  }

  readonly steps = {
    accept: async (a: number, b: number) => {
      const need = shape({ vcpus: 1 + (a % 2) })
      const of = view(['ada', 'eve'][b % 2], 1 + (a % 3))
      const spec = 'x'.repeat(97 * (a % 50))
      const asked = container({ shape: need, priority: [0, 1, 500, 500][a % 4]!, view: of, sealSpec: () => spec })
      const most = [10 ** 9, 400_000, 40_000][b % 3]!
      const accepted = await this.dispatch.containersWithin(most).accept(asked)
      if ('uuid' in accepted) this.#uuids.push(accepted.uuid)
      else if (accepted.answer === 'full') this.counts.full += 1
      if ('uuid' in accepted) expect((await this.dispatch.containers.counts())!.activeBytes).toBeLessThanOrEqual(most)
    },
    priority: async (a: number, b: number) => {
      const uuid = pick(this.#uuids, a)
      if (uuid) await this.dispatch.containers.change(uuid, undefined, { priority: [0, 1, 999][b % 3]! })
    },
    cancel: async (a: number) => {
      const uuid = pick(this.#uuids, a)
      if (uuid) await this.dispatch.containers.change(uuid, undefined, { cancel: 'its owner wants so' })
    },
    read: async () => {
      this.#reading = (await this.dispatch.scheduling.read({ perGroup: 10, inAll: 100 })) ?? undefined
    },
    /** By the last reading, which may be old. */
    decide: async (a: number, b: number) => {
      const decisions = await this.#decisions(a, b)
      const token = b % 11 === 10 ? 'a former one' : this.dispatch.token
      const outcomes = await this.dispatch.scheduling.write(token, decisions)
      if (token !== this.dispatch.token && decisions.length > 0) expect(outcomes).toBeNull()
    },
    behavior: async (a: number, b: number) => {
      const brief = pick(await this.dispatch.machines.list(), a)
      if (brief && b % 7 === 6) await this.dispatch.machines.kill(brief.name, 'operator: no')
      else if (brief)
        await this.dispatch.machines.setBehavior(brief.name, pick(['run', 'hold', 'drain', 'run'] as const, b)!)
    },
    own: async (a: number) => {
      const brief = pick(await this.dispatch.machines.list(), a)
      if (brief) await this.#own(brief.name)
    },
    create: async (a: number) => {
      const keeper = this.#keeper(a)
      if (keeper) await this.#create(keeper)
    },
    attach: async (a: number) => {
      const keeper = this.#keeper(a)
      if (keeper?.vm) await this.#attach(keeper)
    },
    ask: async (a: number) => {
      const keeper = this.#keeper(a)
      if (keeper) await this.#ask(keeper)
    },
    send: async (a: number) => {
      const keeper = this.#keeper(a)
      if (keeper?.vm) await this.#send(keeper)
    },
    deliver: async (a: number) => {
      for (const keeper of this.#keepers.slice(a % (this.#keepers.length + 1))) this.#deliver(keeper)
    },
    /** Finds out what its machine says, and writes it at once or later. */
    find: async (a: number) => {
      const keeper = this.#keeper(a)
      if (keeper) this.#find(keeper)
    },
    tell: async (a: number) => {
      const keeper = this.#keeper(a)
      if (keeper) await this.#tell(keeper)
    },
    log: async (a: number, b: number) => {
      const keeper = this.#keeper(a)
      for (const [uuid, { run }] of keeper?.vm?.runs ?? []) {
        const base64 = Buffer.alloc(1 + 13 * b, 'x').toString('base64')
        const entry = { kind: 'output', atMs: 1, stream: 'stdout', base64 } as const
        await this.dispatch.keeping.appendLog(keeper!.by, uuid, run, [[1 + (b % 5), entry]])
      }
    },
    /** Limits that hold from here on. */
    drop: async (a: number, b: number) => {
      const [containers, bytes] = [[0, 1, 2, 1_000][a % 4]!, [0, 20_000, 40_000, 10 ** 9][b % 4]!]
      await this.dispatch.dropBeyond({ containers, bytes, keepMs: a % 7 === 6 ? 1 : 10 ** 9 })
    },
    destroy: async (a: number) => {
      const keeper = this.#keeper(a)
      if (keeper) await this.#destroy(keeper)
    },
    gone: async (a: number) => {
      const keeper = this.#keeper(a)
      if (keeper) await this.#gone(keeper)
    },
    finish: async (a: number, b: number) => {
      const vm = pick(this.#vms, a)
      for (const run of vm?.runs.values() ?? []) this.#end(run, b % 2 === 0 ? b : undefined)
    },
    die: async (a: number) => {
      const vm = pick(this.#vms, a)
      if (vm) this.#die(vm)
    },
    snapshot: async () => {
      const { redis } = this.#store
      const keys = await redis.keys(`{${this.#store.prefix}}:*`)
      this.#snapshot = []
      for (const key of keys) {
        const dump = await redis.dumpBuffer(key)
        if (dump) this.#snapshot.push([key, dump, Math.max(0, await redis.pttl(key))])
      }
    },
    lose: async (a: number) => this.#lose(a % 3 !== 0),
  }

  /** Brings all to rest: every machine is asked, and no container runs that the records do not show so. */
  async rest(): Promise<void> {
    for (const { name } of await this.dispatch.machines.list()) {
      const keeper = await this.#own(name)
      await this.#create(keeper)
      if (keeper.vm?.alive) {
        await this.#attach(keeper)
        await this.#ask(keeper)
      } else {
        await this.#gone(keeper)
      }
    }
    await this.dispatch.check()
    await this.#checkDropped()
    expect(await this.dispatch.machines.unasked()).toEqual([])
    for (const vm of this.#vms.filter(({ alive }) => alive)) {
      for (const [uuid, { run, live }] of vm.runs) {
        const found = await this.dispatch.containers.find(uuid)
        if (live) expect(found, uuid).toMatchObject({ run, instance: vm.id })
      }
    }
  }

  get uuids(): readonly string[] {
    return this.#uuids
  }

  #keeper(a: number): Keeper | undefined {
    // A later one is taken more often than one that is stale.
    return a % 4 === 0 ? pick(this.#keepers, a) : pick(this.#keepers.slice(-3), a)
  }

  async #own(name: string): Promise<Keeper> {
    const by = await this.dispatch.own(name)
    const { instance } = await this.dispatch.machine(name)
    const vm = this.#vms.find(({ id }) => id === instance)
    const keeper: Keeper = { by, vm, outbox: [], findings: [] }
    this.#keepers.push(keeper)
    return keeper
  }

  /** The same intent makes one machine, also when the reply is lost. */
  async #create(keeper: Keeper): Promise<void> {
    const { brief } = await this.dispatch.keeping.read(keeper.by)
    if (brief.instance !== '' || brief.ending !== '') return
    let vm = this.#vms.find(({ intent, alive }) => intent === brief.name && alive)
    if (!vm) {
      vm = { id: `i-${randomUUID()}`, intent: brief.name, alive: true, epoch: 0, runs: new Map(), highest: new Map() }
      this.#vms.push(vm)
    }
    const kept = await this.dispatch.keeping.keep(keeper.by, { instance: vm.id, state: 'booting' })
    if (kept.answer === 'kept') keeper.vm = vm
  }

  async #attach({ by, vm }: Keeper): Promise<void> {
    if (!vm!.alive) return
    if (by.epoch >= vm!.epoch) vm!.epoch = by.epoch
    else await this.dispatch.keeping.floor(by, vm!.epoch)
  }

  #isAttached({ by, vm }: Keeper): boolean {
    return vm?.alive === true && by.epoch === vm.epoch
  }

  /** Reads what the machine has, under the present epoch: that is proof. */
  async #ask(keeper: Keeper): Promise<void> {
    if (!this.#isAttached(keeper)) return
    const { by, vm } = keeper
    const { keeping } = this.dispatch
    this.#deliver(keeper)
    let isWhole = true
    // A run of the record that the machine lacks goes first: it would be in the way of what the machine has.
    for (const { uuid, run: of } of sentOf((await keeping.read(by)).brief)) {
      if ((vm!.runs.get(uuid)?.run ?? 0) < of) keeper.findings.push({ uuid, run: of, told: { what: 'lacks' } })
    }
    await this.#tell(keeper)
    // What has ended takes no place, and frees one.
    const runs = [...vm!.runs].sort(([, a], [, b]) => Number(a.live) - Number(b.live))
    for (const [uuid, { run, live, exitCode }] of runs) {
      const end = { ...(!live && { end: { atMs: 1, ...(exitCode !== undefined && { exitCode }) } }) }
      const found = {
        uuid,
        run,
        shape: shape(),
        priority: 500,
        sealedSpec: 'sealed',
        running: true,
        startedMs: 1,
        ...end,
      }
      const whole = { ...found, view: { ...view(), uuid } }
      let answer = await keeping.adopt(by, whole)
      if (answer === 'busy') {
        // As a keeper does: what is over makes room, then what runs there is adopted whatever the limit says.
        await this.#tell(keeper)
        answer = await keeping.adopt(by, whole, Number.MAX_SAFE_INTEGER)
      }
      if (answer === 'adopted') this.counts.adopted += 1
      if (answer === 'busy') isWhole = false
      if (answer === 'other') vm!.runs.delete(uuid)
      expect(answer).not.toBe('ahead')
      if (answer !== 'other' && !live) this.#find(keeper)
    }
    await this.#tell(keeper)
    if (isWhole && this.#isAttached(keeper)) await keeping.keep(by, { state: 'idle', asked: true, probed: true })
  }

  async #send({ by, outbox }: Keeper): Promise<void> {
    const { brief } = await this.dispatch.keeping.read(by)
    for (const { uuid } of brief.containers) {
      const sent = await this.dispatch.keeping.send(by, uuid)
      if (sent.answer === 'send') outbox.push({ uuid, run: sent.run })
    }
  }

  /** The runner's fence: only the highest epoch, and only a higher run. */
  #deliver({ by, vm, outbox }: Keeper): void {
    for (const { uuid, run } of outbox.splice(0)) {
      if (!vm?.alive) continue
      if (by.epoch !== vm.epoch || (vm.highest.get(uuid) ?? 0) >= run) {
        this.counts.refused += 1
        continue
      }
      const beside = [...vm.runs.values()].filter(({ live }) => live).length
      const places = this.#room?.places ?? 1
      expect(beside >= places ? `${uuid} runs on ${vm.id} beside ${beside} others` : '').toBe('')
      if (beside > 0) this.counts.beside += 1
      for (const other of this.#vms) {
        const isTwice = other.alive && other.runs.get(uuid)?.live
        expect(isTwice ? `${uuid} runs on ${other.id} and ${vm.id}` : '').toBe('')
      }
      vm.highest.set(uuid, run)
      vm.runs.set(uuid, { run, live: true, exitCode: undefined })
      this.counts.begun += 1
    }
  }

  #find(keeper: Keeper): void {
    if (!this.#isAttached(keeper)) return
    for (const [uuid, { run, live, exitCode }] of keeper.vm!.runs) {
      const ended = { what: 'ended', atMs: Date.now(), ...(exitCode !== undefined && { exitCode }) } as const
      const told: Told = live ? { what: 'running', atMs: Date.now(), gatewayAddress: 'g' } : ended
      keeper.findings.push({ uuid, run, told })
    }
  }

  async #tell({ by, vm, findings }: Keeper): Promise<void> {
    for (const { uuid, run, told } of findings.splice(0)) {
      const answer = await this.dispatch.keeping.tell(by, uuid, run, told)
      const known = vm?.runs.get(uuid)
      if (known?.run === run && (!known.live || answer === 'other')) vm!.runs.delete(uuid)
    }
  }

  async #destroy({ by, vm }: Keeper): Promise<void> {
    const { brief } = await this.dispatch.keeping.read(by)
    if (brief.ending !== '' && vm) this.#die(vm)
  }

  async #gone({ by, vm }: Keeper): Promise<void> {
    const { brief } = await this.dispatch.keeping.read(by)
    if (vm?.alive || this.#vms.some(({ id, alive }) => id === brief.instance && alive)) return
    if (
      brief.instance === '' &&
      (brief.ending === '' || this.#vms.some(({ intent, alive }) => intent === by.name && alive))
    )
      return
    await this.dispatch.keeping.gone(by)
    await this.dispatch.owners.finish(by, 0, [], 'gone', {})
  }

  #end(run: Run, exitCode: number | undefined): void {
    if (!run.live) return
    run.live = false
    run.exitCode = exitCode
    this.counts.ended += 1
  }

  #die(vm: Vm): void {
    vm.alive = false
    vm.runs.clear()
  }

  /** Redis comes back empty, or as it once was. Former owners have stopped, but what they sent may still arrive. */
  async #lose(isBack: boolean): Promise<void> {
    const { redis, prefix, keys } = this.#store
    const all = await redis.keys(`{${prefix}}:*`)
    await redis.del(...all)
    const snapshot = isBack ? (this.#snapshot ?? []) : []
    for (const [key, dump, ttl] of snapshot) await redis.restore(key, ttl, dump, 'REPLACE')
    await redis.del(keys.dispatch.generation, keys.dispatch.hold)
    for (const keeper of this.#keepers) keeper.findings.splice(0)
    this.#reading = undefined
    this.counts.losses += 1
    this.dropped.clear()
    await this.dispatch.schedule()
    await this.dispatch.compare(async mark => {
      for (const { id, intent, alive } of this.#vms) {
        if (alive) expect((await this.dispatch.machines.adopt(stray(id, { intent }), mark)).answer).not.toBe('unmarked')
      }
      expect(await this.dispatch.machines.doubt(mark)).toBe(true)
      // The end of a compare that is sent again is answered as if it was overtaken: it begins again.
      this.#repeating.twice = false
    })
  }

  async #decisions(a: number, b: number): Promise<Decision[]> {
    const { queue = [], machines = [] } = this.#reading ?? {}
    const decisions: Decision[] = []
    const assign = (container: At, machine: MachineBrief): Decision => ({
      ...{ what: 'assign', container, machine: atOf(machine), ...(this.#room && { room: this.#room }) },
    })
    for (const [i, queued] of queue.entries()) {
      const at: At = { id: queued.uuid, version: queued.version }
      const machine = pick(machines, a + i)
      const own = machines.find(({ name }) => name === queued.machine)
      const choice = (a * 7 + b * 3 + i) % 10
      if (own && choice < 2) decisions.push({ what: 'unassign', container: at, machine: atOf(own) })
      if (choice === 9 && b % 5 === 0) decisions.push({ what: 'fail', container: at, why: 'no type fits' })
      else if (!own && choice < 5 && machine) decisions.push(assign(at, machine))
      else if (!own && machines.length < 6) {
        decisions.push({ what: 'create', container: at, create: await this.dispatch.newMachine() })
      }
    }
    const ends = pick(machines, b)
    const why = pick(['idle', 'room', 'unreachable', 'boot', 'broken', 'drain'] as const, a)!
    if (ends && b % 4 === 0) {
      decisions.push({ what: 'shutdown', machine: atOf(ends), probedMs: ends.probedMs, why })
    }
    return decisions
  }
}

const atOf = ({ name, version }: { readonly name: string; readonly version: number }): At => ({ id: name, version })

const pick = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(1, list.length)]
