/** The tests' side of failpoints: arms them, waits for blows, and releases what they hold. */
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
  /** Resolves with the blow of this number (default: the first) when it lands. Rejects after the limit. */
  landed(blow?: number, limitMs?: number): Promise<Mark>
  /** Releases everything that it holds, now and later. */
  release(): void
  /** Prevents further blows. Held blows stay held. */
  disarm(): void
}

/** Against hanging: beside nine other fleets on half a processor a machine took 30 s until it served. */
const landLimitMs = 90_000

const isStopped = (pid: number) => /^.*\) T /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))

/** All failpoints of one fleet. */
export class FailpointArms {
  readonly folder: string
  #arms: ArmSpec[] = []
  /** All arms so far, including disarmed ones. */
  readonly #known: ArmSpec[] = []
  #count = 0

  constructor(folder: string) {
    mkdirSync(folder)
    this.folder = folder
  }

  /**
   * Arms a failpoint in all replicas, including running ones. By default it has one blow, for the first that passes.
   * @param point its name; a final `*` matches any ending
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
        // A process makes the mark before it stops: a SIGCONT sent now could come before the SIGSTOP.
        if (effect === 'stop') await this.#stopped(mark.pid)
        return mark
      },
      release: () => this.#release(options.group ?? id),
      disarm: () => this.#write(this.#arms.filter(arm => arm.id !== id)),
    }
  }

  /** Every blow so far, with its effect. */
  blows(): (Mark & { readonly effect: Effect })[] {
    return this.#known.flatMap(({ id, effect }) => readMarks(this.folder, id).map(mark => ({ ...mark, effect })))
  }

  /** Prevents further blows, and releases all held ones. */
  letGo(): void {
    for (const { id, group = id, effect } of this.#known) if (effect === 'hold') this.#release(group)
    this.#write([])
  }

  /** Skips a group that was released before: the file says only once whether to stop first. */
  #release(group: string): void {
    const file = goFile(this.folder, group)
    if (!existsSync(file)) writeFileSync(file, '')
  }

  /**
   * Stops the one process that holds a whole group, as SIGSTOP does, at the moment of the release. When the process
   * wakes, it continues at each place before any of its timers fires.
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

  /** Sets the offset of a replica's wall clock from the real time. */
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
