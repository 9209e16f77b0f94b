/** What replicas say of the stops that they wanted: read from their logs as they grow. */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../../../src/base/clock.ts'
import type { Fleet } from '../../../kit/fleet/fleet.ts'

/** One request to stop a lab. */
export interface Stop {
  readonly atMs: number
  readonly replica: string
  readonly id: string
  readonly podUid: string
  readonly why: string
  readonly result: 'requested' | 'changed' | 'held' | 'clock'
}

const readEveryMs = 30
const limitMs = 60_000

/** All requests of one fleet so far, in the order in which they are read. */
export class Stops {
  readonly all: Stop[] = []
  readonly #fleet: Fleet
  readonly #read: number[]
  readonly #rests: string[]
  #reading: Promise<void> | undefined

  constructor(fleet: Fleet) {
    this.#fleet = fleet
    this.#read = fleet.urls.map(() => 0)
    this.#rests = fleet.urls.map(() => '')
  }

  /** Those of one lab. */
  async of(name: string): Promise<readonly Stop[]> {
    await this.refresh()
    return this.all.filter(({ id }) => id === name)
  }

  /** The lab's next one after so many, or undefined if `isOver` says first that none comes. */
  async next(name: string, after: number, isOver: () => Promise<boolean>): Promise<Stop | undefined> {
    const endMs = performance.now() + limitMs
    for (;;) {
      const over = await isOver()
      const found = (await this.of(name))[after]
      if (found || over) return found
      if (performance.now() > endMs) throw new Error(`neither a stop of ${name} nor the end of its check`)
      await systemClock.sleep(readEveryMs)
    }
  }

  /** Stops that were requested. */
  async requested(): Promise<readonly Stop[]> {
    await this.refresh()
    return this.all.filter(({ result }) => result === 'requested')
  }

  /** Reads what the logs have by now, once for all that ask meanwhile. */
  async refresh(): Promise<void> {
    // One that is under way may have begun before what the caller has just seen.
    await this.#reading
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readAll(): Promise<void> {
    await Promise.all(this.#read.map((_, index) => this.#readOne(index)))
  }

  async #readOne(index: number): Promise<void> {
    const file = await open(join(this.#fleet.stateDir, 'log', `replica-${index + 1}.log`)).catch(() => undefined)
    if (!file) return
    try {
      const from = this.#read[index]!
      const buffer = Buffer.alloc(Math.max(0, (await file.stat()).size - from))
      const { bytesRead } = await file.read(buffer, 0, buffer.length, from)
      const lines = (this.#rests[index] + buffer.toString('utf8', 0, bytesRead)).split('\n')
      this.#read[index] = from + bytesRead
      this.#rests[index] = lines.pop()!
      for (const line of lines) if (line.includes('"msg":"a workload is ')) this.#add(line)
    } finally {
      await file.close()
    }
  }

  #add(line: string): void {
    const { time, ...stop } = JSON.parse(line)
    this.all.push({ ...stop, atMs: Date.parse(time) })
  }
}
