/**
 * A machine's memory of runs whose folders are removed: the highest run of each container, so that older starts are refused for
 * ever, and how it ended, for a Redis that has lost that end. A file to which lines are appended. It is bounded: the oldest names
 * become a floor for all containers that it does not name, which holds since runs are drawn from one counter.
 */
import { closeSync, fdatasyncSync, ftruncateSync, openSync, readFileSync, statSync } from 'node:fs'
import { writeAll, writeLasting } from './slots.ts'

export const mostNames = 100_000
/** The share of names that is kept when there are more than the bound. */
const keptShare = 0.5

export interface Remembered {
  readonly run: number
  /** Whether it may have run. A run that never began may be started again. */
  readonly begun: boolean
  /** How it ended, for one that was acknowledged to its end. */
  readonly end?: PastEnd
}

export interface PastEnd {
  readonly atMs: number
  readonly exitCode?: number
  readonly timedOut?: true
}

/** Its last character proves that a line is complete. */
const form = /^(?:floor (\d{1,16})\.|([a-z0-9-]{27}) (\d{1,16}) ([bu])(?: (\d{1,16}) (\d{1,3}|-) ([tn]))?)$/

export class Past {
  readonly #path: string
  readonly #most: number
  #names = new Map<string, Remembered>()
  #floor = 0
  #highest = 0
  /** More than names: a container may have had several runs. */
  #lines = 0
  /** The file as it was read: another process may have changed it. */
  #read = ''

  constructor(path: string, most = mostNames) {
    this.#path = path
    this.#most = most
  }

  /** The highest run of all. */
  get highest(): number {
    this.#refresh()
    return this.#highest
  }

  /** The highest run of a container that the machine has forgotten; run 0: none. */
  of(uuid: string): Remembered {
    this.#refresh()
    return this.#names.get(uuid) ?? { run: this.#floor, begun: this.#floor > 0 }
  }

  /** It is on disk when this returns. To be called inside the gate. @throws ENOSPC, without an effect */
  add(uuid: string, remembered: Remembered): void {
    const { run } = remembered
    const known = this.of(uuid)
    if (known.run > run || (known.run === run && known.begun)) return
    this.#lines += 1
    this.#append(lineOf(uuid, remembered))
    this.#learn(uuid, remembered)
    this.#read = this.#signature()
    if (this.#names.size > this.#most || this.#lines > 2 * this.#most) this.#compact()
  }

  #append(line: string): void {
    const fd = openSync(this.#path, 'a', 0o600)
    const { size } = statSync(this.#path)
    try {
      // A line that was torn by a crash ends here.
      writeAll(fd, Buffer.from(size === 0 ? line : `\n${line}`))
      fdatasyncSync(fd)
    } catch (error) {
      ftruncateSync(fd, size)
      throw error
    } finally {
      closeSync(fd)
    }
  }

  #compact(): void {
    const tooMany = this.#names.size > this.#most ? this.#names.size - Math.ceil(this.#most * keptShare) : 0
    const leaving = [...this.#names].slice(0, tooMany)
    for (const [uuid, { run }] of leaving) {
      this.#floor = Math.max(this.#floor, run)
      this.#names.delete(uuid)
    }
    const lines = [...this.#names].map(([uuid, remembered]) => lineOf(uuid, remembered))
    writeLasting(this.#path, Buffer.from(`floor ${this.#floor}.\n${lines.join('')}`))
    this.#lines = lines.length
    this.#read = this.#signature()
  }

  #signature(): string {
    const stat = statSync(this.#path, { throwIfNoEntry: false })
    return stat ? `${stat.ino} ${stat.size} ${stat.mtimeMs}` : ''
  }

  #refresh(): void {
    const signature = this.#signature()
    if (signature === this.#read) return
    this.#names = new Map()
    this.#floor = 0
    const lines = signature === '' ? [] : readFileSync(this.#path, 'utf8').split('\n')
    this.#lines = lines.length
    for (const line of lines) {
      const [, floor, uuid, run, mark, ...end] = form.exec(line) ?? []
      if (floor !== undefined) this.#floor = Number(floor)
      else if (uuid !== undefined) this.#learn(uuid, { run: Number(run), begun: mark === 'b', ...endOf(end) })
    }
    this.#highest = Math.max(this.#highest, this.#floor)
    this.#read = signature
  }

  #learn(uuid: string, remembered: Remembered): void {
    // The latest names are last.
    this.#names.delete(uuid)
    this.#names.set(uuid, remembered)
    this.#highest = Math.max(this.#highest, remembered.run)
  }
}

function lineOf(uuid: string, { run, begun, end }: Remembered): string {
  const { atMs, exitCode = '-', timedOut } = end ?? {}
  const more = end ? ` ${atMs} ${exitCode} ${timedOut ? 't' : 'n'}` : ''
  return `${uuid} ${run} ${begun ? 'b' : 'u'}${more}\n`
}

function endOf([atMs, exitCode, mark]: readonly (string | undefined)[]): Pick<Remembered, 'end'> {
  if (atMs === undefined) return {}
  const code = exitCode === '-' ? {} : { exitCode: Number(exitCode) }
  return { end: { atMs: Number(atMs), ...code, ...(mark === 't' && { timedOut: true }) } }
}
