/**
 * Tells a keeper the entries of all runs, in order for each, until they are acknowledged. A connection begins after the last
 * acknowledged one. Supervisors say when there is more, and the folder of runs is watched: no disk is polled.
 */
import { existsSync, type FSWatcher, watch } from 'node:fs'
import type { Clock } from '../base/clock.ts'
import type { FromRunner } from '../dispatch/protocol.ts'
import { follow } from './control.ts'
import type { Runs } from './runs.ts'
import type { Machine } from './state/machine.ts'
import { RunFolder } from './state/run-folder.ts'
import { SpoolReader } from './state/spool-reader.ts'

/** Until a run whose supervisor was lost is looked at again. */
const againMs = 1000

export interface PushesParts {
  readonly clock: Clock
  readonly machine: Machine
  readonly runs: Pick<Runs, 'all' | 'settle' | 'standing'>
  /** Resolves when there is room for more. */
  readonly send: (message: FromRunner) => Promise<void>
  readonly onFailure: (error: unknown) => void
}

export class Pushes {
  readonly #parts: PushesParts
  readonly #byName = new Map<string, Push>()
  #watcher: FSWatcher | undefined
  #isStopped = false

  constructor(parts: PushesParts) {
    this.#parts = parts
  }

  start(): void {
    const { machine, runs } = this.#parts
    this.#watcher = watch(machine.runsDir, (_, name) => {
      const folder = RunFolder.named(machine.runsDir, String(name))
      if (!folder) return
      if (existsSync(folder.path)) this.#push(folder)
      else this.#byName.delete(String(name))
    })
    this.#watcher.on('error', error => this.#parts.onFailure(error))
    for (const folder of runs.all()) this.#push(folder)
  }

  stop(): void {
    this.#isStopped = true
    this.#watcher?.close()
    for (const push of this.#byName.values()) push.stop()
  }

  /** The highest number of a run that was sent. */
  told(uuid: string, run: number): number {
    return this.#byName.get(`${uuid}.${run}`)?.seq ?? 0
  }

  #push(folder: RunFolder): void {
    const name = `${folder.uuid}.${folder.run}`
    if (this.#isStopped || this.#byName.has(name)) return
    const push = new Push(this.#parts, folder)
    this.#byName.set(name, push)
    push.run().catch(error => {
      // Another connection may have removed the folder meanwhile.
      if (!this.#isStopped && existsSync(folder.path)) this.#parts.onFailure(error)
    })
  }
}

class Push {
  readonly #parts: PushesParts
  readonly #folder: RunFolder
  readonly #reader: SpoolReader
  #isStopped = false
  /** There may be more to read. */
  #isWoken = true
  #wake: () => void = () => {}
  /** The connection to the supervisor. */
  #letGo: (() => void) | undefined
  /** A supervisor was there, so the keeper may have heard that the run is held. */
  #wasHeld = false

  constructor(parts: PushesParts, folder: RunFolder) {
    this.#parts = parts
    this.#folder = folder
    this.#reader = new SpoolReader(folder, folder.acked())
  }

  get seq(): number {
    return this.#reader.seq
  }

  /** Resolves when everything was sent. */
  async run(): Promise<void> {
    while (!this.#isStopped) {
      // Before the look: what is written after it wakes this.
      this.#isWoken = false
      const isThere = await this.#follow()
      await this.#tell()
      if (this.#reader.isOver) break
      if (!isThere && !(await this.#settle())) break
      await this.#rest()
    }
    this.#letGo?.()
    await this.#reader.close()
  }

  stop(): void {
    this.#isStopped = true
    this.#awake()
  }

  async #tell(): Promise<void> {
    const { uuid, run } = this.#folder
    for await (const entries of this.#reader.read())
      for (const { seq, entry } of entries) {
        if (this.#isStopped) return
        await this.#parts.send({ type: 'entry', uuid, run, seq, entry })
      }
  }

  /** @returns whether a supervisor is there */
  async #follow(): Promise<boolean> {
    if (this.#letGo) return true
    const { machine } = this.#parts
    const { uuid, run } = this.#folder
    this.#letGo = await follow(machine.lockName(uuid, run), machine.key, {
      onSeq: seq => {
        if (seq > this.seq) this.#awake()
      },
      onGone: () => {
        this.#letGo = undefined
        this.#awake()
      },
    })
    this.#wasHeld ||= this.#letGo !== undefined
    return this.#letGo !== undefined
  }

  /** Without a supervisor: a start is in progress, or it was lost. @returns whether there will be more */
  async #settle(): Promise<boolean> {
    const { machine, runs, clock } = this.#parts
    const standing = await machine.gate.pass(async () => {
      await runs.settle([this.#folder])
      return runs.standing(this.#folder)
    })
    // It was lost after `settle` had looked, or its processes could not be killed.
    if (standing === 'lost') clock.after(againMs, () => this.#awake())
    else this.#awake()
    // A supervisor that never got `go` had the lock. The keeper learns by the next list that there is no such run.
    if (standing === 'unbegun' && this.#wasHeld) this.#parts.onFailure(new Error('a run never began: list again'))
    return standing !== 'unbegun'
  }

  #awake(): void {
    this.#isWoken = true
    this.#wake()
  }

  async #rest(): Promise<void> {
    if (!this.#isWoken && !this.#isStopped)
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
  }
}
