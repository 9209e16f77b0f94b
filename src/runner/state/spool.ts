/**
 * The supervisor's side of a spool: numbers entries, and appends output to segments. It waits for nobody. Output beyond a bound,
 * or beyond what the disk has, is dropped and counted. The first entry and the last ones are in pages that exist already.
 */
import { closeSync, ftruncateSync, openSync, statSync } from 'node:fs'
import type { Clock } from '../../base/clock.ts'
import { type Gateway, mostOutputBytes, type RunEnd } from '../../dispatch/protocol.ts'
import type { Numbered, RunFolder } from './run-folder.ts'
import { writeAll } from './slots.ts'

type Stream = 'stdout' | 'stderr'

/** A segment is removed as a whole once it is acknowledged. */
const segmentBytes = 1024 * 1024
/** For so long small writes are gathered into one entry. */
const gatherMs = 50

interface Piece {
  readonly stream: Stream
  parts: Buffer[]
  bytes: number
}

export interface SpoolOptions {
  readonly folder: RunFolder
  readonly clock: Clock
  readonly mostBytes: number
  /** Called after entries were written, with the last number. */
  readonly onWritten: (seq: number) => void
}

export class Spool {
  readonly #options: SpoolOptions
  #seq = 0
  #gathered: Piece[] = []
  #cancelFlush: (() => void) | undefined
  #lostBytes = 0
  #segment: { readonly fd: number; size: number } | undefined
  /** The size of the segments on disk, as last counted. The keeper's process removes acknowledged ones. */
  #bytes = 0

  constructor(options: SpoolOptions) {
    this.#options = options
  }

  get seq(): number {
    return this.#seq
  }

  /** @param process what a later process needs to find it */
  started(process: { readonly pid?: number; readonly birth?: string }, gateway?: Gateway): void {
    const first = this.#number({ kind: 'running', atMs: this.#now(), ...gateway })
    this.#options.folder.setStarted({ first, ...process })
    this.#options.onWritten(this.#seq)
  }

  output(stream: Stream, bytes: Buffer): void {
    for (let from = 0; from < bytes.length; from += mostOutputBytes)
      this.#gather(stream, bytes.subarray(from, from + mostOutputBytes))
    this.#cancelFlush ??= this.#options.clock.after(gatherMs, () => this.flush())
  }

  #gather(stream: Stream, bytes: Buffer): void {
    const last = this.#gathered.at(-1)
    if (last?.stream === stream && last.bytes + bytes.length <= mostOutputBytes) {
      last.parts.push(bytes)
      last.bytes += bytes.length
      return
    }
    // The gathered output stays small, also when a command writes faster than the timer rings.
    if (this.#gathered.length >= 8) this.flush()
    this.#gathered.push({ stream, parts: [bytes], bytes: bytes.length })
  }

  flush(): void {
    this.#cancelFlush?.()
    this.#cancelFlush = undefined
    const gathered = this.#gathered
    if (gathered.length === 0) return
    this.#gathered = []
    const before = this.#seq
    for (const { stream, parts, bytes } of gathered) {
      const base64 = Buffer.concat(parts).toString('base64')
      if (!this.#tellLost() || !this.#append({ kind: 'output', atMs: this.#now(), stream, base64 }))
        this.#lostBytes += bytes
    }
    if (this.#seq > before) this.#options.onWritten(this.#seq)
  }

  /** The last entry. It needs no room on disk. */
  ended(end: RunEnd): void {
    this.flush()
    const entries: Numbered[] = []
    if (this.#lostBytes > 0) entries.push(this.#number({ kind: 'lost', atMs: this.#now(), bytes: this.#lostBytes }))
    entries.push(this.#number({ kind: 'ended', atMs: this.#now(), end }))
    this.#options.folder.setEnded({ entries })
    this.#options.onWritten(this.#seq)
  }

  /** @returns false while an entry `lost` cannot be written: later output is lost too, since entries are in order */
  #tellLost(): boolean {
    if (this.#lostBytes === 0) return true
    if (!this.#append({ kind: 'lost', atMs: this.#now(), bytes: this.#lostBytes })) return false
    this.#lostBytes = 0
    return true
  }

  /** @returns false without room */
  #append(entry: Numbered['entry']): boolean {
    const line = Buffer.from(`${JSON.stringify({ seq: this.#seq + 1, entry })}\n`)
    if (!this.#hasRoomFor(line.length)) return false
    try {
      this.#segment ??= { fd: openSync(this.#options.folder.segmentPath(this.#seq + 1), 'a', 0o600), size: 0 }
      writeAll(this.#segment.fd, line)
    } catch {
      // There is no room, or the disk fails: output is lost, and an entry counts it later. The run goes on.
      this.#cutSegment()
      return false
    }
    this.#seq += 1
    this.#bytes += line.length
    this.#segment.size += line.length
    if (this.#segment.size >= segmentBytes) this.#closeSegment()
    return true
  }

  /** A part of a line may be there. */
  #cutSegment(): void {
    if (!this.#segment) return
    try {
      ftruncateSync(this.#segment.fd, this.#segment.size)
    } catch {
      // Readers skip a line that is no entry.
      this.#segment = undefined
    }
  }

  #hasRoomFor(bytes: number): boolean {
    const { folder, mostBytes } = this.#options
    if (this.#bytes + bytes <= mostBytes) return true
    this.#bytes = folder
      .segments()
      .reduce((sum, { path }) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0)
    return this.#bytes + bytes <= mostBytes
  }

  #closeSegment(): void {
    if (this.#segment) closeSync(this.#segment.fd)
    this.#segment = undefined
  }

  #number(entry: Numbered['entry']): Numbered {
    this.#seq += 1
    return { seq: this.#seq, entry }
  }

  #now(): number {
    return this.#options.clock.wallMs()
  }
}
