/** The runs of a machine: what their folders and locks say, and the end of those whose supervisor was lost. */
import { rmSync } from 'node:fs'
import type { Clock } from '../base/clock.ts'
import type { Gateway, Listed, RunState } from '../dispatch/protocol.ts'
import { engineOf } from './engines/engines.ts'
import { isHeld } from './state/locks.ts'
import type { Machine } from './state/machine.ts'
import type { PastEnd, Remembered } from './state/past.ts'
import { endOf, type Numbered, RunFolder, type Started } from './state/run-folder.ts'
import { isNoRoom } from './state/slots.ts'
import { lastSeq } from './state/spool-reader.ts'

/** `held`: by a supervisor, which may have ended its container. `unbegun`: nothing of it ran, and nothing will. */
export type Standing = 'held' | 'ended' | 'lost' | 'unbegun'

export class Runs {
  readonly #machine: Machine
  readonly #clock: Clock

  constructor(machine: Machine, clock: Clock) {
    this.#machine = machine
    this.#clock = clock
  }

  all(): RunFolder[] {
    return RunFolder.all(this.#machine.runsDir)
  }

  of(uuid: string, run: number): RunFolder | undefined {
    return this.all().find(folder => folder.uuid === uuid && folder.run === run)
  }

  /** The lock is asked first: who frees it has written the end before. */
  async standing(folder: RunFolder): Promise<Standing> {
    if (await isHeld(this.#machine.lockName(folder.uuid, folder.run))) return folder.ended() ? 'ended' : 'held'
    if (folder.ended()) return 'ended'
    return folder.begun() ? 'lost' : 'unbegun'
  }

  /** The highest run of a container, and whether it may have run. */
  highest(uuid: string): Remembered {
    const runs = this.all().filter(folder => folder.uuid === uuid)
    const past = this.#machine.past.of(uuid)
    const highest = Math.max(0, ...runs.map(({ run }) => run))
    return highest > past.run ? { run: highest, begun: true } : past
  }

  get highestOfAll(): number {
    return this.all().reduce((highest, { run }) => Math.max(highest, run), this.#machine.past.highest)
  }

  /**
   * Brings what a crash has left to an end: kills what runs without a supervisor, and forgets what never began
   * or is acknowledged to its end. To be called
   * inside the gate: a start in progress would look like one that never began.
   */
  async settle(folders: readonly RunFolder[]): Promise<void> {
    for (const folder of folders) {
      const standing = await this.standing(folder)
      if (standing === 'unbegun') this.forgetIfRoom(folder, false)
      if (standing === 'ended' && folder.isAcked()) this.forgetIfRoom(folder, true)
      if (standing === 'lost') await this.#end(folder)
    }
  }

  /** The number stays for ever; the rest goes, with its secrets. To be called inside the gate. */
  forgetIfRoom(folder: RunFolder, begun: boolean): void {
    try {
      this.#forget(folder, begun)
    } catch (error) {
      // The next look tries again.
      if (!isNoRoom(error)) throw error
    }
  }

  #forget(folder: RunFolder, begun: boolean): void {
    const end = pastEndOf(endOf(folder.ended()))
    // Makes room for the number. Where there is still none, the state is left, and remembers it.
    folder.empty()
    this.#machine.past.add(folder.uuid, { run: folder.run, begun, ...(end && { end }) })
    folder.remove()
  }

  async listed(folder: RunFolder): Promise<Listed | undefined> {
    const standing = await this.standing(folder)
    const warrant = folder.warrant()
    if (standing === 'unbegun' || !warrant) return undefined
    // Read before the beginning, which was written before it: this process may be halted between the two for a whole run.
    const ended = folder.ended()
    const started = folder.started()
    const end = endOf(ended)
    const isStale = standing === 'lost' || ended?.isStale === true
    const state: RunState = isStale ? 'stale' : end ? 'ended' : started ? 'running' : 'starting'
    return {
      ...warrant,
      state,
      ...(started && { startedMs: started.first.entry.atMs }),
      ...(state === 'running' && gatewayOf(started)),
      ...(end && { finishedMs: end.atMs, end: end.end }),
      seq: await lastSeq(folder),
    }
  }

  /** The machine is broken by this: what killed one supervisor may kill the next. */
  async #end(folder: RunFolder): Promise<void> {
    this.#machine.setBroken(`the supervisor of ${folder.uuid} was lost`)
    if (!(await this.#discard(folder))) return
    const atMs = this.#clock.wallMs()
    const entry: Numbered['entry'] = { kind: 'ended', atMs, end: { reason: 'the supervisor was lost' } }
    folder.setEnded({ entries: [{ seq: (await lastSeq(folder)) + 1, entry }], isStale: true })
    rmSync(`${folder.path}/environment`, { force: true })
  }

  async #discard(folder: RunFolder): Promise<boolean> {
    const begun = folder.begun()
    const warrant = folder.warrant()
    if (!begun || !warrant) return false
    const machineId = this.#machine.id
    const engine = engineOf({ warrant, folder, machineId, clock: this.#clock, engine: begun.engine, begun })
    // An engine that does not answer proves nothing. The next look tries again.
    return engine.discard(folder.started()).catch(() => false)
  }
}

/** Its words go with its folder. */
function pastEndOf(ended: ReturnType<typeof endOf>): PastEnd | undefined {
  if (!ended) return undefined
  const { exitCode, timedOut } = ended.end
  return { atMs: ended.atMs, ...(exitCode !== undefined && { exitCode }), ...(timedOut && { timedOut }) }
}

/** As the first entry has it. After a loss of Redis the list is all that the keeper gets. */
function gatewayOf(started: Started | undefined): Partial<Gateway> {
  const entry = started?.first.entry
  if (entry?.kind !== 'running') return {}
  const { gatewayPort, gatewayPin } = entry
  return gatewayPort && gatewayPin ? { gatewayPort, gatewayPin } : {}
}
