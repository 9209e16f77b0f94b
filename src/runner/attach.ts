/**
 * `skylab runner attach`: one keeper, over the standard streams of one channel. It may die at any line: what must last is in the
 * state folder, and supervisors need nobody.
 */
import { type FSWatcher, readFileSync, watch } from 'node:fs'
import { loadavg } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { type Clock, systemClock } from '../base/clock.ts'
import { Lines, tooLong } from '../dispatch/lines.ts'
import { type FromRunner, type Listed, longestLineBytes, type ToRunner } from '../dispatch/protocol.ts'
import { Acts, RefusedAct } from './acts.ts'
import { isMisread, readAsked } from './asked.ts'
import { Pushes } from './pushes.ts'
import { Runs } from './runs.ts'
import { Machine } from './state/machine.ts'
import type { RunnerOptions } from './state/options.ts'

export interface AttachParts {
  readonly options: RunnerOptions
  readonly version: string
  readonly input: Readable
  readonly output: Writable
  readonly env: NodeJS.ProcessEnv
}

/** @returns when the channel is closed, or another connection has taken over */
export async function attach(parts: AttachParts): Promise<void> {
  const machine = await Machine.open(parts.options.dir)
  const session = new Session({ ...parts, machine, clock: systemClock })
  // The reader is gone.
  parts.output.on('error', () => parts.input.destroy())
  try {
    // The process may die amid an act, so nothing is waited for.
    await Promise.race([session.run(), session.over])
  } finally {
    session.stop()
  }
}

/** For the last words: a keeper that reads nothing any more gets none. */
const lastWordsMs = 1000

interface SessionParts extends AttachParts {
  readonly machine: Machine
  readonly clock: Clock
}

class Session {
  readonly #parts: SessionParts
  readonly #runs: Runs
  readonly #acts: Acts
  readonly #pushes: Pushes
  #isTelling = false
  #watcher: FSWatcher | undefined
  #cancelBeat: () => void = () => {}
  #hasWelcome = false
  #isOver = false
  #end: () => void = () => {}
  /** Resolves when another connection has taken over. */
  readonly over = new Promise<void>(resolve => {
    this.#end = resolve
  })

  constructor(parts: SessionParts) {
    this.#parts = parts
    const { machine, clock, env } = parts
    this.#runs = new Runs(machine, clock)
    this.#acts = new Acts({ machine, runs: this.#runs, env })
    this.#pushes = new Pushes({
      clock,
      machine,
      runs: this.#runs,
      send: message => this.#send(message),
      onFailure: error => this.#parts.input.destroy(error as Error),
    })
  }

  async run(): Promise<void> {
    const lines = new Lines(longestLineBytes)
    for await (const chunk of this.#parts.input)
      for (const line of lines.take(chunk)) {
        if (this.#isOver) return this.over
        await this.#take(line)
      }
  }

  stop(): void {
    this.#cancelBeat()
    this.#watcher?.close()
    this.#pushes.stop()
  }

  async #take(line: string | typeof tooLong): Promise<void> {
    const asked = line === tooLong ? { problem: 'the line is too long' } : readAsked(line)
    const id = 'id' in asked ? asked.id : undefined
    try {
      if (isMisread(asked)) throw new RefusedAct('bad', asked.problem)
      await this.#do(asked)
    } catch (error) {
      // A folder that cannot be read or written makes the machine useless, in words; the keeper decides.
      const refused = error instanceof RefusedAct ? error : new RefusedAct('broken', (error as Error).message)
      await this.#refuse(refused, id)
    }
  }

  async #do(asked: ToRunner): Promise<void> {
    switch (asked.type) {
      case 'hello':
        return this.#hello(asked.epoch)
      case 'list':
        return this.#list(asked.id)
      case 'start': {
        const { type: _, id, key, ...warrant } = asked
        await this.#acts.start(warrant, key)
        return this.#send({ type: 'started', id, uuid: warrant.uuid, run: warrant.run })
      }
      case 'kill': {
        const { id, uuid, run } = asked
        await this.#acts.kill(uuid, run)
        return this.#send({ type: 'killing', id, uuid, run })
      }
      case 'ack': {
        const { uuid, run, seq } = asked
        return this.#acts.ack(uuid, run, seq, this.#pushes.told(uuid, run))
      }
    }
  }

  async #hello(epoch: number): Promise<void> {
    const highestRun = await this.#acts.hello(epoch)
    await this.#send({ type: 'welcome', epoch, version: this.#parts.version, highestRun })
    if (this.#hasWelcome) return
    this.#hasWelcome = true
    // A hello of another connection is written to this file.
    this.#watcher = watch(this.#parts.machine.file, () => this.#look())
    this.#look()
    this.#beat()
  }

  /** Ends the pushes once another connection said hello. Acts look again, inside the gate. */
  #look(): void {
    if (this.#isOver || this.#acts.isCurrent()) return
    void this.#refuse(new RefusedAct('epoch', 'another connection said hello'), undefined)
  }

  async #list(id: number): Promise<void> {
    const folders = await this.#acts.list()
    for (const folder of folders) {
      const listed: Listed | undefined = await this.#runs.listed(folder)
      if (listed) await this.#send({ type: 'listed', id, runs: [listed], more: true })
    }
    const broken = this.#parts.machine.broken()
    await this.#send({ type: 'listed', id, runs: [], ...(broken !== undefined && { broken }) })
    // The keeper knows by now what the entries are of: those before the answer would have to be kept without bound.
    if (this.#isTelling) return
    this.#isTelling = true
    this.#pushes.start()
  }

  #beat(): void {
    const { clock, machine, options } = this.#parts
    this.#cancelBeat = clock.after(options.beatMs, () => {
      // A keeper that does not read gets no more beats.
      if (this.#parts.output.writableLength === 0) {
        const broken = machine.broken()
        const atMs = clock.wallMs()
        void this.#send({ type: 'beat', atMs, load: loadavg()[0]!, ...(broken !== undefined && { broken }) })
      }
      this.#beat()
    })
  }

  async #refuse({ why, message, highest, end }: RefusedAct, id: number | undefined): Promise<void> {
    const { machine, options, clock } = this.#parts
    if (this.#isOver) return
    const said = this.#send({
      ...{ type: 'refused', ...(id !== undefined && { id }), why, message, ...(end && { end }) },
      highest: highest ?? machine.fence().epoch,
      secret: secretOf(options.secretFile),
    })
    if (why !== 'epoch') return said
    this.#isOver = true
    this.stop()
    await Promise.race([said, clock.sleep(lastWordsMs)])
    this.#end()
  }

  /** Resolves when there is room for more. */
  async #send(message: FromRunner): Promise<void> {
    const { output } = this.#parts
    if (output.write(`${JSON.stringify(message)}\n`) || output.destroyed) return
    await new Promise<void>(resolve => {
      const done = () => {
        output.off('drain', done).off('close', done)
        resolve()
      }
      output.on('drain', done).on('close', done)
    })
  }
}

/** It proves to the keeper that it hears this machine. */
function secretOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}
