/** The keeper of a machine: the replica that owns its operation, between Redis and the runner. */
import { LetGo, NeedsSomeone } from '../base/errors.ts'
import type { MachineRuns } from '../dispatch/attached.ts'
import type { ContainerBrief, MachineBrief } from '../dispatch/container.ts'
import type { Warrant } from '../dispatch/protocol.ts'
import type { Sending } from '../store/dispatch/keeping-words.ts'
import { takeInventory } from './inventory.ts'
import { Line } from './line.ts'
import { Mailbox } from './mailbox.ts'
import type { RunnerLink } from './ports.ts'
import type { MachineContext, MachineParts, MachineResult } from './shape.ts'

const unkillable = 'a container does not end'

interface Kill {
  readonly sinceMs: number
  nextMs: number
}

export class Keeper {
  readonly #context: MachineContext
  readonly #line: Line
  readonly #mailbox: Mailbox
  readonly #off: () => void
  readonly #wake: () => void
  #changed = Promise.withResolvers<void>()
  #toldMs = Number.NEGATIVE_INFINITY
  #beatMs = Number.NEGATIVE_INFINITY
  /** The runs that were started over the present channel, by uuid. */
  readonly #started = new Map<string, number>()
  /** By uuid. */
  readonly #kills = new Map<string, Kill>()
  /** The reason that the machine gives; recorded once. */
  #broken: string | undefined

  constructor(context: MachineContext) {
    this.#context = context
    const { clock, parts, name, signal } = context
    const wake = () => this.#changed.resolve()
    this.#wake = wake
    this.#mailbox = new Mailbox(context, wake)
    this.#line = new Line(context, {
      onEntry: (uuid, run, seq, entry) => this.#mailbox.put(uuid, run, seq, entry),
      onBeat: broken => {
        this.#beatMs = clock.monotonicMs()
        if (broken === undefined || this.#broken !== undefined) return
        this.#broken = broken
        wake()
      },
      onOpening: () => this.#mailbox.reset(),
      onOpen: link => this.#begin(link),
      onChange: wake,
    })
    this.#off = parts.wakes.on(name, wake)
    signal.addEventListener('abort', wake, { once: true })
  }

  /** Serves until the machine is to end. */
  async run(): Promise<MachineResult> {
    const { parts, keeping, signal, clock } = this.#context
    this.#line.open()
    while (true) {
      signal.throwIfAborted()
      this.#changed = Promise.withResolvers()
      this.#line.check()
      this.#mailbox.check()
      const { brief, cancelled } = await keeping.read()
      if (brief.ending !== '') return { events: [['info', `It ends: ${brief.ending}`]] }
      await this.#unlessEnding(this.#act(brief, cancelled).catch(error => this.#line.failed(error)))
      // A machine that boots answers nobody.
      if (this.#line.wasOpen && this.#line.awayMs > parts.times.letGoMs)
        throw new LetGo(`the machine cannot be reached: ${this.#line.reason}`)
      const cancel = clock.after(this.#restMs(brief), this.#wake)
      await this.#changed.promise.finally(cancel)
    }
  }

  /** A machine that does not answer must not delay its own end. */
  async #unlessEnding(acting: Promise<void>): Promise<void> {
    let isDone = false
    let isWoken = false
    const done = acting.finally(() => {
      isDone = true
    })
    // An error after the end concerns nobody.
    done.catch(() => {})
    while (!isDone) {
      await Promise.race([done, this.#changed.promise])
      if (isDone) break
      isWoken = true
      this.#changed = Promise.withResolvers()
      if ((await this.#context.keeping.read()).brief.ending !== '') break
    }
    // The next look serves those that have rung meanwhile.
    if (isWoken) this.#wake()
    if (isDone) await done
  }

  async close(): Promise<void> {
    this.#off()
    this.#context.signal.removeEventListener('abort', this.#wake)
    await this.#line.close()
    await this.#mailbox.close()
  }

  /** Until it looks again although nothing has rung: where nothing is to be done, until a good probe is due to be recorded. */
  #restMs({ containers }: MachineBrief): number {
    const { clock, parts } = this.#context
    const { times } = parts
    if (this.#kills.size > 0) return Math.min(times.probeMs, times.signalMs)
    const isDone = containers.every(({ uuid, run }) => this.#started.get(uuid) === run)
    const untilTellMs = this.#toldMs + times.tellMs - clock.monotonicMs()
    return this.#line.link && isDone && untilTellMs > 0 ? untilTellMs : times.probeMs
  }

  /** A new channel: what runs there is known before anything is started. */
  async #begin(link: RunnerLink): Promise<void> {
    const { keeping, clock } = this.#context
    this.#started.clear()
    this.#beatMs = clock.monotonicMs()
    const listed = await this.#ask(link)
    const { strays, isWhole } = await takeInventory(this.#context, listed)
    for (const { uuid, run } of strays) this.#mailbox.forget(uuid, run)
    const { broken } = listed
    const kept = await keeping.keep({
      ...{ state: 'idle', probed: true },
      ...(isWhole && { asked: true }),
      ...(broken !== undefined && { broken }),
    })
    this.#toldMs = clock.monotonicMs()
    const address = kept.answer === 'taken' ? '' : kept.brief.address
    this.#mailbox.open(link, address)
    // Answers come behind entries, which somebody must take by now.
    for (const { uuid, run } of strays) await link.kill(uuid, run)
  }

  async #ask(link: RunnerLink): Promise<MachineRuns> {
    const { parts, clock, signal } = this.#context
    const askedMs = clock.monotonicMs()
    const tell = (isAnswered: boolean) => parts.sight.asked(isAnswered, (clock.monotonicMs() - askedMs) / 1000)
    try {
      const listed = await link.list()
      tell(true)
      return listed
    } catch (error) {
      // At its own end a keeper waits for no answer.
      if (!signal.aborted) tell(false)
      throw error
    }
  }

  async #act(brief: MachineBrief, cancelled: ReadonlyMap<string, string>): Promise<void> {
    const { link } = this.#line
    if (!link) return
    await this.#tellProbe()
    if (this.#broken !== undefined && brief.broken === '') await this.#context.keeping.keep({ broken: this.#broken })
    const isKilled = ({ uuid, run }: ContainerBrief) => run > 0 && cancelled.has(uuid)
    const [killed, others] = [brief.containers.filter(isKilled), brief.containers.filter(each => !isKilled(each))]
    for (const uuid of this.#kills.keys()) if (!killed.some(each => each.uuid === uuid)) this.#kills.delete(uuid)
    for (const uuid of this.#started.keys())
      if (!brief.containers.some(each => each.uuid === uuid)) this.#started.delete(uuid)
    // A start may take long.
    for (const each of killed) await this.#killContainer(link, each, others.length === 0)
    for (const each of others) {
      await this.#start(link, brief, each)
      await this.#tellProbe()
    }
  }

  async #tellProbe(): Promise<void> {
    const { parts, keeping, clock } = this.#context
    const now = clock.monotonicMs()
    const isFresh = this.#beatMs > now - 3 * parts.times.probeMs
    if (!isFresh || now - this.#toldMs < parts.times.tellMs) return
    this.#toldMs = now
    await keeping.keep({ probed: true })
  }

  /** Asks for the same run as often as need be: the machine answers alike. */
  async #start(link: RunnerLink, { idleBehavior }: MachineBrief, { uuid, run: ran }: ContainerBrief): Promise<void> {
    const { parts, keeping, clock } = this.#context
    if (ran === 0 && idleBehavior !== 'run') return
    if (ran > 0 && this.#started.get(uuid) === ran) return
    const sent = await keeping.send(uuid)
    if (sent.answer !== 'send') return
    const { run, waitedMs } = sent
    const sentMs = clock.monotonicMs()
    this.#context.call()
    // A process that is stopped here may wake much later: the machine's fence refuses it.
    await this.#context.failpoint('before-act')
    const warrant = warranted(parts, uuid, sent)
    if (!warrant) return this.#settle(link, uuid, run)
    const answer = await link.start(warrant, parts.tunnelKey(uuid, run))
    await this.#context.failpoint('after-act')
    // An earlier run of it ends first: it is asked again.
    if (answer !== 'started' && answer.refused === 'busy') return
    if (answer !== 'started' && answer.refused === 'run') parts.sight.stale('run')
    this.#started.set(uuid, run)
    if (answer === 'started') {
      // A container that was sent before may have begun then.
      if (ran === 0 && waitedMs !== undefined) parts.sight.began((waitedMs + clock.monotonicMs() - sentMs) / 1000)
      return
    }
    // The machine obeys this channel alone, so nobody starts this run any more.
    const { end, message } = answer
    await keeping.tell(uuid, run, end ? { what: 'ended', ...end } : { what: 'lacks', why: message })
    if (answer.refused === 'broken') await keeping.keep({ broken: answer.message })
  }

  /** For a run that we cannot send. An earlier keeper may have sent it: only a list of this channel proves that it does not run. */
  async #settle(link: RunnerLink, uuid: string, run: number): Promise<void> {
    if (await this.#isThere(link, uuid, run)) this.#started.set(uuid, run)
    else await this.#context.keeping.tell(uuid, run, { what: 'lacks', why: 'what it runs cannot be read' })
  }

  async #isThere(link: RunnerLink, uuid: string, run: number): Promise<boolean> {
    const { runs } = await this.#ask(link)
    return runs.some(each => each.uuid === uuid && each.run === run)
  }

  /** @param isLast all that the machine has are to end: it may end with them */
  async #killContainer(link: RunnerLink, { uuid, run }: ContainerBrief, isLast: boolean): Promise<void> {
    const { parts, keeping, clock } = this.#context
    const now = clock.monotonicMs()
    const kill = this.#kills.get(uuid) ?? { sinceMs: now, nextMs: now }
    this.#kills.set(uuid, kill)
    if (now < kill.nextMs) return
    kill.nextMs = now + parts.times.signalMs
    if (now - kill.sinceMs > parts.times.termMs) {
      // Its container is free once the machine is gone. Until then others go on, and nobody joins them.
      await keeping.keep({ broken: unkillable, ...(isLast && { ending: unkillable }) })
      return
    }
    if ((await link.kill(uuid, run)) === 'killing') return
    // Its end may be on its way; a run that no list has is proof.
    if (!(await this.#isThere(link, uuid, run))) await keeping.tell(uuid, run, { what: 'lacks' })
  }
}

/** @returns undefined where no key of ours opens what it runs: we send nothing */
function warranted(parts: MachineParts, uuid: string, sent: Sending): Warrant | undefined {
  try {
    return parts.warrant(uuid, sent)
  } catch (error) {
    if (error instanceof NeedsSomeone) return undefined
    throw error
  }
}
