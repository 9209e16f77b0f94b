/**
 * The folder of one run: its warrant, its state in pages, and its output in segments. The keeper's process makes and removes it;
 * the supervisor writes what happened; both read. Secrets are in the warrant, and in nothing that is listed or logged.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { asNumber, asObject } from '../../base/json.ts'
import type { Entry, RunEnd, Warrant } from '../../dispatch/protocol.ts'
import { isRun, isUuid } from './names.ts'
import type { EngineName } from './options.ts'
import { Slots, syncFolder, writeAll } from './slots.ts'

export interface Numbered {
  readonly seq: number
  readonly entry: Entry
}

/** Written before the engine is called: from here on, something may run. */
export interface Begun {
  readonly engine: EngineName
  /** The folder of its control group, if it has one. */
  readonly cgroup?: string
}

/** The engine runs it. With the engine `process`: the leader of its group, and what distinguishes it from a later process. */
export interface Started {
  readonly first: Numbered
  readonly pid?: number
  readonly birth?: string
}

/** The last entries: how much output was lost, if it was, and the end. */
export interface Ended {
  readonly entries: readonly Numbered[]
  /** The supervisor was lost, and another process wrote this. */
  readonly isStale?: true
}

const beginPage = 0
const startPage = 1
const endPage = 2
const ackPage = 3
const pages = 4

const stateName = 'state'
const keyName = 'tunnel-key'
const segmentForm = /^out\.(\d{1,16})$/

/** A file of output, by the number of its first entry. */
export interface Segment {
  readonly first: number
  readonly path: string
}

export class RunFolder {
  readonly uuid: string
  readonly run: number
  readonly path: string

  constructor(runsDir: string, uuid: string, run: number) {
    this.uuid = uuid
    this.run = run
    this.path = join(runsDir, `${uuid}.${run}`)
  }

  /** All runs that have a folder. */
  static all(runsDir: string): RunFolder[] {
    return readdirSync(runsDir).flatMap(name => RunFolder.named(runsDir, name) ?? [])
  }

  static named(runsDir: string, name: string): RunFolder | undefined {
    const [uuid = '', text = '', ...more] = name.split('.')
    const run = Number(text)
    return isUuid(uuid) && isRun(run) && String(run) === text && more.length === 0
      ? new RunFolder(runsDir, uuid, run)
      : undefined
  }

  /** It is on disk when this returns. @throws ENOSPC and others; what was made then is for `remove` */
  create(warrant: Warrant, key?: string): void {
    mkdirSync(this.path, { mode: 0o700 })
    this.#writeNew('warrant.json', JSON.stringify(warrant))
    if (key !== undefined) this.#writeNew(keyName, key)
    closeSync(openSync(join(this.path, 'log'), 'wx', 0o600))
    // The last file, and complete or not there: a folder without it was never begun.
    Slots.create(this.#slots, pages)
    syncFolder(join(this.path, '..'))
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }

  /** Leaves nothing but the state, which says that this run has ended: all that needs room, and all secrets. */
  empty(): void {
    for (const name of readdirSync(this.path))
      if (name !== stateName) rmSync(join(this.path, name), { recursive: true, force: true })
  }

  /** @returns undefined when it was not written to its end, or was removed */
  warrant(): Warrant | undefined {
    try {
      return JSON.parse(readFileSync(join(this.path, 'warrant.json'), 'utf8'))
    } catch {
      return undefined
    }
  }

  /** The key of its tunnel; undefined where it has none. */
  tunnelKey(): string | undefined {
    try {
      return readFileSync(join(this.path, keyName), 'utf8')
    } catch {
      return undefined
    }
  }

  begun(): Begun | undefined {
    return this.#read(beginPage) as Begun | undefined
  }

  setBegun(begun: Begun): void {
    this.#write(beginPage, begun, true)
  }

  started(): Started | undefined {
    return this.#read(startPage) as Started | undefined
  }

  setStarted(started: Started): void {
    this.#write(startPage, started, true)
  }

  ended(): Ended | undefined {
    return this.#read(endPage) as Ended | undefined
  }

  setEnded(ended: Ended): void {
    this.#write(endPage, ended, true)
  }

  /** Up to where the keeper has its entries. */
  acked(): number {
    return asNumber(asObject(this.#read(ackPage)).seq)
  }

  /** Need not last: an entry that is sent again is known by its number. */
  setAcked(seq: number): void {
    this.#write(ackPage, { seq }, false)
  }

  /** Whether the keeper has its end. */
  isAcked(): boolean {
    const end = this.ended()?.entries.at(-1)?.seq
    return end !== undefined && this.acked() >= end
  }

  segments(): Segment[] {
    try {
      return readdirSync(this.path)
        .flatMap(name => {
          const first = segmentForm.exec(name)?.[1]
          return first === undefined ? [] : [{ first: Number(first), path: join(this.path, name) }]
        })
        .sort((a, b) => a.first - b.first)
    } catch {
      return []
    }
  }

  segmentPath(first: number): string {
    return join(this.path, `out.${first}`)
  }

  get #slots(): string {
    return join(this.path, stateName)
  }

  #writeNew(name: string, text: string): void {
    const fd = openSync(join(this.path, name), 'wx', 0o600)
    try {
      writeAll(fd, Buffer.from(text))
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  }

  #read(page: number): unknown {
    try {
      return Slots.with(this.#slots, slots => slots.read(page))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  #write(page: number, value: unknown, lasting: boolean): void {
    Slots.with(this.#slots, slots => slots.write(page, value, { lasting }))
  }
}

/** The end among the last entries. */
export function endOf(ended: Ended | undefined): { readonly atMs: number; readonly end: RunEnd } | undefined {
  const entry = ended?.entries.at(-1)?.entry
  return entry?.kind === 'ended' ? entry : undefined
}
