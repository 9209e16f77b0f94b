/**
 * The acts of a connection on its machine. Each passes the gate: the fence is compared, then comes the effect, and no act of
 * another connection comes between.
 */
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { failpoint } from '../base/failpoint.ts'
import { mostRuns, type Refusal, type Warrant } from '../dispatch/protocol.ts'
import { askToKill } from './control.ts'
import { launch } from './launch.ts'
import type { Runs } from './runs.ts'
import type { Machine } from './state/machine.ts'
import type { PastEnd } from './state/past.ts'
import { RunFolder } from './state/run-folder.ts'
import { isNoRoom } from './state/slots.ts'
import { lastSeq } from './state/spool-reader.ts'

const killAnswerMs = 5000

/** An act was refused: it did nothing. */
export class RefusedAct extends Error {
  override readonly name = 'RefusedAct'
  readonly why: Refusal
  /** The highest run of the container, for `run`. */
  readonly highest: number | undefined
  /** How this very run ended, for `run`. */
  readonly end: PastEnd | undefined

  constructor(why: Refusal, message: string, highest?: number, end?: PastEnd) {
    super(message)
    this.why = why
    this.highest = highest
    this.end = end
  }
}

export interface ActsParts {
  readonly machine: Machine
  readonly runs: Runs
  /** For supervisors. */
  readonly env: NodeJS.ProcessEnv
}

/** The acts of one connection. */
export class Acts {
  readonly #parts: ActsParts
  readonly #connection = randomBytes(12).toString('hex')
  #epoch = 0

  constructor(parts: ActsParts) {
    this.#parts = parts
  }

  /** @returns the highest run that the machine was asked to start. @throws RefusedAct for an epoch below the highest */
  hello(epoch: number): Promise<number> {
    const { machine, runs } = this.#parts
    return machine.gate.pass(async () => {
      if (epoch < machine.fence().epoch) throw new RefusedAct('epoch', 'a higher epoch was here')
      await failpoint('runner.hello.checked')
      machine.setFence({ epoch, connection: this.#connection })
      await failpoint('runner.hello.stored')
      this.#epoch = epoch
      return runs.highestOfAll
    })
  }

  /** Whether no later hello was heard. Certain only inside the gate. */
  isCurrent(): boolean {
    const { epoch, connection } = this.#parts.machine.fence()
    return epoch === this.#epoch && connection === this.#connection
  }

  /** Once nothing can change them meanwhile: all runs. */
  list(): Promise<RunFolder[]> {
    return this.#act('list', async () => {
      const { runs } = this.#parts
      await runs.settle(runs.all())
      return runs.all()
    })
  }

  /** @returns when the supervisor holds its lock, and the run is on disk. @throws RefusedAct */
  start(warrant: Warrant, key?: string): Promise<void> {
    return this.#act('start', async () => {
      const { machine, runs } = this.#parts
      const { uuid, run } = warrant
      await runs.settle(runs.all())
      if (await this.#isSame(uuid, run)) return
      const past = runs.highest(uuid)
      if (run < past.run || (run === past.run && past.begun))
        throw new RefusedAct(
          'run',
          `run ${past.run} of this container was here`,
          past.run,
          run === past.run ? past.end : undefined,
        )
      for (const folder of runs.all())
        if (folder.uuid === uuid && (await runs.standing(folder)) !== 'ended')
          throw new RefusedAct('busy', `run ${folder.run} of this container has not ended`)
      if (runs.all().length >= mostRuns) throw new RefusedAct('busy', `${mostRuns} runs are not acknowledged`)
      const broken = machine.broken()
      if (broken !== undefined) throw new RefusedAct('broken', broken)
      await failpoint('runner.start.checked')
      await this.#begin(new RunFolder(machine.runsDir, uuid, run), warrant, key)
    })
  }

  /** The signal was sent, or there was nothing left to send it to. @throws RefusedAct */
  kill(uuid: string, run: number): Promise<void> {
    return this.#act('kill', async () => {
      const { machine, runs } = this.#parts
      const folder = runs.of(uuid, run)
      if (!folder) throw new RefusedAct('unknown', 'no such run')
      await failpoint('runner.kill.checked')
      try {
        if (await askToKill(machine.lockName(uuid, run), machine.key, killAnswerMs)) return
      } catch {
        throw new RefusedAct('broken', 'the supervisor does not answer')
      }
      await runs.settle([folder])
    })
  }

  /** @param told the highest number that was sent over this connection: a higher `seq` is compared with the spool */
  ack(uuid: string, run: number, seq: number, told: number): Promise<void> {
    return this.#act('ack', async () => {
      const { runs } = this.#parts
      const folder = runs.of(uuid, run)
      if (!folder) return
      const upTo = seq <= told ? seq : Math.min(seq, await lastSeq(folder))
      if (upTo > folder.acked()) folder.setAcked(upTo)
      await failpoint('runner.ack.stored')
      if (folder.isAcked()) return runs.forgetIfRoom(folder, true)
      const segments = folder.segments()
      // The last one is still written.
      segments.slice(0, -1).forEach(({ path }, index) => {
        if (segments[index + 1]!.first <= upTo + 1) rmSync(path, { force: true })
      })
    })
  }

  #act<T>(name: string, effect: () => Promise<T>): Promise<T> {
    return this.#parts.machine.gate.pass(async () => {
      if (!this.isCurrent())
        throw new RefusedAct('epoch', this.#epoch === 0 ? 'say hello first' : 'another connection said hello')
      await failpoint(`runner.${name}.current`)
      try {
        return await effect()
      } catch (error) {
        throw isNoRoom(error) ? new RefusedAct('broken', 'the disk is full') : error
      }
    })
  }

  /** Whether this very run was begun, and is not forgotten. */
  async #isSame(uuid: string, run: number): Promise<boolean> {
    const folder = this.#parts.runs.of(uuid, run)
    if (!folder?.warrant()) return false
    return ['held', 'ended'].includes(await this.#parts.runs.standing(folder))
  }

  async #begin(folder: RunFolder, warrant: Warrant, key?: string): Promise<void> {
    try {
      folder.create(warrant, key)
    } catch (error) {
      folder.remove()
      throw error
    }
    await failpoint('runner.start.stored')
    if (await launch(folder, this.#parts.env)) return
    // It may have begun before it was lost.
    await this.#parts.runs.settle([folder])
    throw new RefusedAct('broken', 'the supervisor could not be started')
  }
}
