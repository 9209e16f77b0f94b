/** The tests' side of failpoints: arms them, waits for the blows, lets go what is held. */
import { existsSync, mkdirSync, readFileSync, renameSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitUntil } from '../../../dev/process/api-client.ts'
import { type ArmSpec, armsFile, type Effect, goFile, type Mark, readMarks, skewFile, stopFirst } from './arms.ts'

export type ArmOptions = Partial<Pick<ArmSpec, 'user' | 'replica' | 'times' | 'ms' | 'group'>>

/** One armed failpoint. */
export interface Arm {
  readonly id: string
  /** The blows so far. */
  marks(): Mark[]
  /** Resolves with the blow of this number (default: the first) when it has landed. Rejects after the limit. */
  landed(blow?: number, limitMs?: number): Promise<Mark>
  /** Lets all go on that is held, now and later. */
  release(): void
  /** No further blow. What is held stays held. */
  disarm(): void
}

const landLimitMs = 30_000

const isStopped = (pid: number) => /^.*\) T /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))

/** All failpoints of one fleet. */
export class FailpointArms {
  readonly folder: string
  #arms: ArmSpec[] = []
  /** Those that are disarmed, too. */
  readonly #known: ArmSpec[] = []
  #count = 0

  constructor(folder: string) {
    mkdirSync(folder)
    this.folder = folder
  }

  /**
   * Arms a failpoint in all replicas, running ones too. By default there is one blow: whoever comes first takes it.
   * @param point its name; a `*` at the end stands for anything
   */
  arm(point: string, effect: Effect, options: ArmOptions = {}): Arm {
    this.#count += 1
    const id = `arm-${this.#count}`
    const arm: ArmSpec = { times: 1, ...options, id, point, effect }
    this.#known.push(arm)
    this.#write([...this.#arms, arm])
    const marks = () => readMarks(this.folder, id)
    return {
      id,
      marks,
      landed: async (blow = 1, limitMs = landLimitMs) => {
        const mark = await this.#landed(id, point, blow, limitMs)
        // The mark is made first: a SIGCONT sent now could come before the SIGSTOP.
        if (effect === 'stop') await this.#stopped(mark.pid)
        return mark
      },
      release: () => this.#release(options.group ?? id),
      disarm: () => this.#write(this.#arms.filter(arm => arm.id !== id)),
    }
  }

  /** Every blow so far, with what it did. */
  blows(): (Mark & { readonly effect: Effect })[] {
    return this.#known.flatMap(({ id, effect }) => readMarks(this.folder, id).map(mark => ({ ...mark, effect })))
  }

  /** No further blow, and nothing stays held. */
  letGo(): void {
    for (const { id, group = id, effect } of this.#known) if (effect === 'hold') this.#release(group)
    this.#write([])
  }

  /** A group that has gone on already is left alone: it may be told only once whether to stop before that. */
  #release(group: string): void {
    const file = goFile(this.folder, group)
    if (!existsSync(file)) writeFileSync(file, '')
  }

  /**
   * Stops the one process in which a whole group is held, as by SIGSTOP, in the very moment in which all of them go on:
   * woken, it does what comes next at each place before any timer of its own is due.
   */
  async stopHeld(group: string, pid: number): Promise<void> {
    const part = join(this.folder, `${group}.part`)
    writeFileSync(part, stopFirst)
    renameSync(part, goFile(this.folder, group))
    await this.#stopped(pid)
  }

  async #stopped(pid: number): Promise<void> {
    await waitUntil(async () => isStopped(pid), { what: `process ${pid} stopped`, limitMs: landLimitMs })
  }

  /** Steps the wall clock of a replica to so far off the real time. */
  stepWallClock(replica: string, offMs: number): void {
    const file = skewFile(this.folder, replica)
    writeFileSync(`${file}.part`, String(offMs))
    renameSync(`${file}.part`, file)
  }

  #write(arms: ArmSpec[]): void {
    this.#arms = arms
    const part = `${armsFile(this.folder)}.part`
    writeFileSync(part, JSON.stringify(arms))
    renameSync(part, armsFile(this.folder))
  }

  #landed(id: string, point: string, blow: number, limitMs: number): Promise<Mark> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const mark = readMarks(this.folder, id)[blow - 1]
        if (!mark) return
        end()
        resolve(mark)
      }
      const watcher = watch(this.folder, look)
      const timer = setTimeout(() => {
        end()
        reject(new Error(`${point}: blow ${blow} has not landed after ${limitMs} ms`))
      }, limitMs)
      const end = () => {
        clearTimeout(timer)
        watcher.close()
      }
      look()
    })
  }
}
