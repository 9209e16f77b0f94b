/** The keeper of a machine: the replica that owns its operation, between Redis and the runner. */
import { Fenced, LetGo } from '../base/errors.ts'
import type { MachineBrief } from '../dispatch/container.ts'
import { Line } from './line.ts'
import { Mailbox } from './mailbox.ts'
import type { Kept, RunnerLink } from './ports.ts'
import type { MachineContext, MachineResult } from './shape.ts'

interface Kill {
  readonly uuid: string
  readonly sinceMs: number
  nextMs: number
}

export class Keeper {
  readonly #context: MachineContext
  readonly #line: Line
  readonly #mailbox: Mailbox
  readonly #off: () => void
  #changed = Promise.withResolvers<void>()
  #toldMs = Number.NEGATIVE_INFINITY
  #beatMs = Number.NEGATIVE_INFINITY
  /** The run that was started over the present channel. */
  #started: string | undefined
  #kill: Kill | undefined

  constructor(context: MachineContext) {
    this.#context = context
    const { clock, parts, name } = context
    const wake = () => this.#changed.resolve()
    this.#mailbox = new Mailbox(context, wake)
    this.#line = new Line(context, {
      onEntry: (uuid, run, seq, entry) => this.#mailbox.put(uuid, run, seq, entry),
      onBeat: () => {
        this.#beatMs = clock.monotonicMs()
      },
      onOpening: () => this.#mailbox.reset(),
      onOpen: link => this.#begin(link),
      onChange: wake,
    })
    this.#off = parts.wakes.on(name, wake)
  }

  /** Serves until the machine is to end. */
  async run(): Promise<MachineResult> {
    const { parts, name, signal, clock } = this.#context
    this.#line.open()
    while (true) {
      this.#changed = Promise.withResolvers()
      this.#line.check()
      this.#mailbox.check()
      const kept = await parts.keeping.read(name)
      if (!kept.brief) throw new Fenced('the machine is buried')
      if (kept.brief.ending !== '') return { events: [['info', `It ends: ${kept.brief.ending}`]] }
      await this.#act(kept, kept.brief)
      if (this.#line.awayMs > parts.times.letGoMs)
        throw new LetGo(`the machine cannot be reached: ${this.#line.reason}`)
      const timer = new AbortController()
      const due = clock.sleep(this.#restMs(), AbortSignal.any([signal, timer.signal]))
      try {
        await Promise.race([this.#changed.promise, due])
      } finally {
        timer.abort()
        due.catch(() => {})
      }
      signal.throwIfAborted()
    }
  }

  async close(): Promise<void> {
    this.#off()
    await this.#line.close()
    await this.#mailbox.close()
  }

  /** Until it looks again although nothing has rung. */
  #restMs(): number {
    const { times } = this.#context.parts
    return this.#kill ? Math.min(times.probeMs, times.signalMs) : times.probeMs
  }

  /** A new channel: what runs there is known before anything is started. */
  async #begin(link: RunnerLink): Promise<void> {
    const { parts, own, clock } = this.#context
    this.#started = undefined
    this.#beatMs = clock.monotonicMs()
    for (const listed of await link.list()) {
      if (!parts.isOurs(listed))
        await this.#context.report([['error', `The machine shows a run that is not ours: ${listed.uuid}`]])
      else if ((await parts.keeping.adopt(own, listed)) === 'other') await this.#endStray(link, listed.uuid, listed.run)
    }
    const { brief } = await parts.keeping.read(this.#context.name)
    await parts.keeping.keep(own, { state: brief?.container?.run ? 'running' : 'idle', probed: true })
    this.#toldMs = clock.monotonicMs()
    this.#mailbox.open(link, (brief?.address ?? '').replace(/:[0-9]+$/, ''))
  }

  /** Redis knows a later run of this container, or its end. */
  async #endStray(link: RunnerLink, uuid: string, run: number): Promise<void> {
    await link.kill(uuid, run)
    this.#mailbox.forget(uuid, run)
  }

  async #act({ cancelled }: Kept, brief: MachineBrief): Promise<void> {
    const { link } = this.#line
    if (!link) return
    await this.#tellProbe()
    const { container } = brief
    if (!container) {
      this.#kill = undefined
      return
    }
    if (cancelled !== '' && container.run > 0) return this.#killContainer(link, container.uuid, container.run)
    await this.#start(link, brief, container.uuid)
  }

  async #tellProbe(): Promise<void> {
    const { parts, own, clock } = this.#context
    const now = clock.monotonicMs()
    const isFresh = this.#beatMs > now - 3 * parts.times.probeMs
    if (!isFresh || now - this.#toldMs < parts.times.tellMs) return
    this.#toldMs = now
    await parts.keeping.keep(own, { probed: true })
  }

  /** Asks for the same run as often as need be: the machine answers alike. */
  async #start(link: RunnerLink, { idleBehavior, container }: MachineBrief, uuid: string): Promise<void> {
    const { parts, own } = this.#context
    if (container!.run === 0 && idleBehavior !== 'run') return
    if (container!.run > 0 && this.#started === `${uuid} ${container!.run}`) return
    const sent = await parts.keeping.send(own, uuid)
    if (sent === 'no') return
    const { run, owner, spec } = sent
    await this.#context.failpoint('before-send')
    this.#context.call()
    const answer = await link.start(parts.warrant({ uuid, run, owner, spec }))
    await this.#context.failpoint('after-send')
    this.#started = `${uuid} ${run}`
    if (answer === 'started') return
    // Our epoch is the highest, so nobody starts this run any more.
    await parts.keeping.tell(own, uuid, run, { what: 'lacks', why: answer.message })
    if (answer.refused === 'broken') await parts.keeping.keep(own, { broken: answer.message })
  }

  async #killContainer(link: RunnerLink, uuid: string, run: number): Promise<void> {
    const { parts, own, clock } = this.#context
    const now = clock.monotonicMs()
    if (this.#kill?.uuid !== uuid) this.#kill = { uuid, sinceMs: now, nextMs: now }
    const kill = this.#kill
    if (now < kill.nextMs) return
    kill.nextMs = now + parts.times.signalMs
    if (now - kill.sinceMs > parts.times.termMs) {
      await parts.keeping.keep(own, { drain: true, broken: 'a container does not end' })
      return
    }
    await link.kill(uuid, run)
  }
}
