/**
 * The certificate of a server, reloaded when it is rotated. Files are read again when their folders change, as when a
 * kubelet replaces the link to them. A pair that cannot be used is logged, and changes nothing.
 */
import { type FSWatcher, watch } from 'node:fs'
import { dirname } from 'node:path'
import { type Clock, notNeeded } from '../base/clock.ts'
import type { Logger } from '../telemetry/log.ts'
import { type Pair, readPair, type TlsFiles, type UnusableFile } from './files.ts'

export interface CertificatesOptions {
  readonly files: TlsFiles
  /** The pair that was read at the start. */
  readonly first: Pair
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

/** Waits for a writer that writes one file after the other. */
const settleMs = 500
/** Wait after a pair that cannot be used: the rest of it may follow. */
const againMs = 10_000
/** Interval of reading where the file system reports no changes. */
const unaskedMs = 300_000

export class Certificates {
  readonly #options: CertificatesOptions
  readonly #listeners = new Set<(pair: Pair) => void>()
  readonly #closing = new AbortController()
  #watchers: readonly FSWatcher[] = []
  #current: Pair
  #problem: string | undefined
  #changed = new AbortController()
  #following: Promise<void> = Promise.resolve()

  constructor(options: CertificatesOptions) {
    this.#options = options
    this.#current = options.first
  }

  get current(): Pair {
    return this.#current
  }

  /** Whether the files hold something that cannot be used, so that the former pair stays in use. */
  get unusable(): boolean {
    return this.#problem !== undefined
  }

  /** Calls `listener` with each new pair. */
  onChange(listener: (pair: Pair) => void): void {
    this.#listeners.add(listener)
  }

  /** Watches the files until `close`. */
  start(): void {
    const { files, log } = this.#options
    const folders = new Set(Object.values(files).map(file => dirname(file)))
    const untold = (err: unknown) =>
      log.warn({ err }, 'changes of a certificate cannot be watched: it is read every 5 minutes')
    this.#watchers = [...folders].flatMap(folder => {
      try {
        return [watch(folder, () => this.#changed.abort(notNeeded)).on('error', untold)]
      } catch (error) {
        untold(error)
        return []
      }
    })
    this.#following = this.#follow()
  }

  async close(): Promise<void> {
    this.#closing.abort(notNeeded)
    for (const watcher of this.#watchers) watcher.close()
    await this.#following
  }

  async #follow(): Promise<void> {
    const { clock } = this.#options
    const closing = this.#closing.signal
    while (!closing.aborted) {
      const waitMs = this.unusable ? againMs : unaskedMs
      await clock.sleep(waitMs, AbortSignal.any([closing, this.#changed.signal])).catch(() => {})
      await clock.sleep(settleMs, closing).catch(() => {})
      if (closing.aborted) return
      this.#changed = new AbortController()
      await this.#look()
    }
  }

  async #look(): Promise<void> {
    const { files, clock, log } = this.#options
    try {
      const pair = await readPair(files)
      this.#problem = undefined
      if (isSame(pair, this.#current)) return
      const nowMs = clock.wallMs()
      if (pair.expiresMs <= nowMs && this.#current.expiresMs > nowMs) return this.#refuse('certFile: it has expired')
      this.#current = pair
      for (const listener of this.#listeners) listener(pair)
      log.info({ expires: new Date(pair.expiresMs).toISOString() }, 'a new certificate is in use')
    } catch (error) {
      const { key, message } = error as UnusableFile
      this.#refuse(`${key}: ${message}`)
    }
  }

  #refuse(problem: string): void {
    const { log } = this.#options
    if (problem !== this.#problem)
      log.error({ problem }, 'a new certificate cannot be used: the former one stays in use')
    this.#problem = problem
  }
}

function isSame(one: Pair, other: Pair): boolean {
  return one.cert === other.cert && one.key === other.key && one.clientCa === other.clientCa
}
