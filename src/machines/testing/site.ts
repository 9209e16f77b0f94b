/** For tests: one machine with its keeper, between a record in memory, a cloud that obeys, and a runner that does too. */
import { type Clock, systemClock } from '../../base/clock.ts'
import { NeedsSomeone } from '../../base/errors.ts'
import type { Driver, Instance } from '../../clouds/driver.ts'
import type { MachineBrief } from '../../dispatch/container.ts'
import type { Entry, Listed, Warrant } from '../../dispatch/protocol.ts'
import type { CreateOutcome } from '../../dispatch/throttle.ts'
import type { Claimed } from '../../ops/kind.ts'
import { Unreachable } from '../../ssh/errors.ts'
import type { Machine } from '../../ssh/machine.ts'
import type { KeepingStore, MachineFacts, Told } from '../../store/dispatch/keeping.ts'
import { machineKind } from '../../store/dispatch-keys.ts'
import type { NewEvent } from '../../store/records.ts'
import { SubjectBell } from '../../store/subject-bell.ts'
import { noTracing } from '../../telemetry/tracing.ts'
import { Cloud } from '../cloud.ts'
import { machineKindOf } from '../kind.ts'
import type { LinkHandlers, RunnerLink } from '../ports.ts'
import type { MachineParts, MachineShape } from '../shape.ts'
import { keepingOf } from './keeping.ts'
import { Seen } from './seen.ts'

export const name = '0mach1'
export const uuid = 'clust-dz642-000000000000001'

const brief: MachineBrief = {
  ...{ name, op: 7, type: 'small', providerType: 't.small', price: 1, tenant: 'default', state: 'creating' },
  ...{ sinceMs: 0, createdMs: 0, probedMs: 0, busyMs: 0, idleBehavior: 'run', broken: '', instance: '', address: '' },
  ...{ ending: '', containers: [], lastContainer: '', version: 1 },
}

type Line = { readonly handlers: LinkHandlers; readonly end: AbortController; readonly epoch: number }

export class Site {
  brief: MachineBrief | undefined
  facts: MachineFacts = { hostKey: '', place: '', missingSinceMs: 0 }
  cancelled: ReadonlyMap<string, string> = new Map()
  nextRun = 100
  /** The keeper's clock. */
  clock: Clock = systemClock
  /** What happened, in order. */
  readonly log: string[] = []
  readonly told: Told[] = []
  readonly outcomes: CreateOutcome[] = []
  readonly events: NewEvent[] = []
  readonly seen = new Seen()
  /** How long the container has waited; undefined for one that has begun before. */
  waitedMs: number | undefined = 5_000
  onTell: () => Promise<void> = async () => {}
  /** The machine's list of runs. */
  listed: Listed[] = []
  isReachable = true
  hasBooted = true
  onCreate: () => Promise<void> = async () => {}
  onLink: () => Promise<void> = async () => {}
  onList: () => Promise<void> = async () => {}
  onDestroy: () => Promise<void> = async () => {}
  onStart: () => void | Promise<void> = () => {}
  isTaken = false
  /** Whether a key of this replica opens what containers run. */
  isReadable = true
  /** `most`: where the limit of the configuration does not hold. */
  onAdopt: (uuid: string, most?: number) => 'known' | 'adopted' | 'other' | 'busy' = () => 'known'
  killAnswer: 'killing' | 'unknown' = 'killing'
  startAnswer: Awaited<ReturnType<RunnerLink['start']>> = 'started'
  line: Line | undefined
  readonly stopped = new AbortController()
  readonly #instances = new Map<string, Instance>()
  #ring: ((ring: { what: 'missed' }) => void) | undefined

  constructor(more: Partial<MachineBrief> = {}) {
    this.brief = { ...brief, ...more }
    if (this.brief.instance !== '') this.#instances.set(this.brief.instance, this.#instance(this.brief.instance))
  }

  /** Changes the record as somebody else would, and rings. */
  change(more: Partial<MachineBrief>): void {
    this.brief = { ...this.brief!, ...more }
    this.ring()
  }

  ring(): void {
    this.#ring?.({ what: 'missed' })
  }

  end(): void {
    this.#instances.clear()
  }

  say(seq: number, entry: Entry, run = this.nextRun): void {
    this.line!.handlers.onEntry(uuid, run, seq, entry)
  }

  /** Runs the steps of a life from one of them, as the engine does. */
  async live(from = 'create'): Promise<void> {
    const kind = machineKindOf(this.#parts(), { longestRequestMs: 1_000 })
    const { signal } = this.stopped
    const claimed = { claim: { record: { token: 't' } }, name, op: 7 } as unknown as Claimed<MachineShape>
    const work = kind.begin(claimed)
    const call = () => {
      signal.throwIfAborted()
      const log = { warn: () => {}, info: () => {}, error: () => {} } as never
      return { signal, agent: 'a', check: () => {}, failpoint: () => {}, log, span: noTracing.operation({} as never) }
    }
    const common = {
      ...{ name, op: 7, epoch: 5, plan: { secret: 's3cret' }, known: {}, clock: this.clock, signal, call },
      report: async (events: readonly NewEvent[]) => void this.events.push(...events),
      unreported: (events: readonly NewEvent[]) => events,
      failpoint: () => {},
    }
    const context = work.context(common, () => context)
    const steps = work.steps('create', undefined)
    for (const step of steps.slice(steps.findIndex(each => each.name === from))) {
      const done = await step.run(context)
      if (done !== 'nothing') this.events.push(...done.events)
    }
  }

  #instance = (id: string): Instance => ({
    ...{ id, address: `${id}:22`, providerType: 't.small', state: 'running', tags: { Intent: name } },
  })

  #parts(): MachineParts {
    const bell = {
      on: (listener: unknown) => {
        this.#ring = listener as never
        return () => {}
      },
    }
    const wakes = new SubjectBell(bell, machineKind)
    return {
      ...{ keeping: keepingOf(this) as unknown as KeepingStore, wakes },
      cloud: new Cloud({
        ...{ driver: this.#driver(), clock: systemClock, listMs: 1 },
        reserve: async () => 0,
        onCall: (operation, error) => void this.log.push(error ? `${operation}: ${error}` : operation),
      }),
      sight: this.seen.sight,
      teach: async outcome => void this.outcomes.push(outcome),
      times: { probeMs: 20, shutdownMs: 30, signalMs: 10, termMs: 200, letGoMs: 60_000, tellMs: 1_000 },
      program: async () => ({ hash: 'h', architecture: undefined, directory: '', isStanding: true, files: [] }),
      intent: ({ name: token }, secret) => ({
        ...{ token, providerType: 't.small', image: 'i', tags: { Intent: token }, publicKey: 'k', preemptible: false },
        ...{ initCommand: secret, addedScratchBytes: 0 },
      }),
      pinTag: 'HostKey',
      groupOf: type => `group of ${type}`,
      connect: async () => this.#connect(),
      digest: () => answer => answer,
      bootProbe: 'true',
      runnerEnv: 'env',
      link: async (_, epoch, __, handlers) => this.#link(epoch, handlers),
      tunnelKey: () => '',
      warrant: (of, { run, owner }) => {
        if (!this.isReadable) throw new NeedsSomeone('no key opens it')
        return { uuid: of, run, owner, spec: {}, seal: 's' } as unknown as Warrant
      },
      found: listed => (listed.seal === 's' ? (listed as never) : undefined),
    }
  }

  #driver(): Driver {
    return {
      ...{ name: 'fake', idempotentCreate: true },
      create: async ({ token }) => {
        this.log.push(`asked ${token}`)
        await this.onCreate()
        const made = this.#instance('i-1')
        this.#instances.set('i-1', made)
        return made
      },
      list: async () => [...this.#instances.values()],
      find: async id => this.#instances.get(id) ?? { ...this.#instance(id), state: 'gone' },
      setTags: async (_, tags) => void this.log.push(`tagged ${Object.keys(tags)}`),
      destroy: async () => {
        await this.onDestroy()
        this.log.push('destroyed')
      },
      orphans: async () => [],
      remove: async () => {},
      close: async () => {},
    }
  }

  async #connect(): Promise<Machine> {
    this.log.push('connected')
    if (!this.isReachable) throw new Unreachable('no route')
    return {
      ...{ hostKey: 'key', changed: false, ended: new AbortController().signal },
      probe: async () => ({ isReady: this.hasBooted, words: 'degraded' }),
      install: async () => ({ command: 'skylab', skipped: false }),
      channel: async () => ({}) as never,
      exec: async () => ({ exitCode: 0, stdout: '', words: '' }),
      close: () => {},
    }
  }

  async #link(epoch: number, handlers: LinkHandlers): Promise<RunnerLink> {
    await this.onLink()
    const end = new AbortController()
    this.line = { handlers, end, epoch }
    return {
      ended: end.signal,
      list: async () => {
        await this.onList()
        return { runs: this.listed, broken: undefined }
      },
      start: async ({ run }) => {
        this.log.push(`started ${run}`)
        await this.onStart()
        return this.startAnswer
      },
      kill: async (of, run) => {
        this.log.push(`killed ${of === uuid ? run : of}`)
        return this.killAnswer
      },
      ack: (_, __, seq) => void this.log.push(`acknowledged ${seq}`),
      close: () => end.abort(),
    }
  }
}
