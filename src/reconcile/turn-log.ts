/** Logs the errors of turns. */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { KubeError } from '../kube/client.ts'
import { Rarely } from '../telemetry/rarely.ts'
import type { TurnEnd } from './turn-end.ts'

export class TurnLog {
  readonly #log: Log
  readonly #kind: string
  readonly #refusals: Rarely
  readonly #defects: Rarely

  constructor(kind: string, log: Log, clock: Clock) {
    this.#kind = kind
    this.#log = log
    const messages = { trouble: 'a write for a custom resource was refused', over: '' }
    this.#refusals = new Rarely({ clock, log, fields: { kind }, ...messages })
    const trouble = 'a lease of a custom resource was not taken, for no reason of Redis'
    this.#defects = new Rarely({ clock, log, fields: { kind }, trouble, over: '' })
  }

  /** A turn goes on without a lease, and the next ones may get none either. */
  defect(key: string, error: unknown): void {
    this.#defects.failed(error instanceof Error ? error.message : 'unknown', { key, err: error }, 'defect')
  }

  /**
   * A refusal is the key's, and may be one of very many: it is logged rarely, and without a stack.
   * @param failures of the key in a row, before this one
   */
  ended(key: string, failures: number, { result, error, words }: TurnEnd): void {
    if (result !== 'failed') return
    if (words === undefined && failures === 0) {
      this.#log.error({ kind: this.#kind, key, err: error }, 'a turn of a custom resource failed')
    }
    if (words === undefined || !(error instanceof KubeError)) return
    const { status, reason } = error
    this.#refusals.failed(words, { key, status, cause: reason }, `${status} ${reason}`)
  }
}
