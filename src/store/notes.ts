/** Notes of what the audit log must tell: left by the script that did it, removed by who told it. */
import type { OperationKind } from '../base/domain.ts'
import type { Connection } from './connection.ts'
import type { Keys } from './keys.ts'

/** `superseded`: a deletion ended a creation; `overruled`: a compare found that Redis had lost what came after. */
export type NoteResult = 'accepted' | 'succeeded' | 'failed' | 'superseded' | 'overruled'

export interface Note {
  readonly op: number
  readonly kind: OperationKind
  readonly result: NoteResult
  /** Who asked for it, as the record of the operation had it. */
  readonly by: string
}

/** How long the replica that did it has to tell it; then another one does. */
export const noteGraceMs = 15_000

/** As `include/notes.lua` writes it. */
export const formatNote = ({ op, kind, result, by }: Note) => `${op} ${kind} ${result} ${by}`

const form = /^(\d+) (create|delete) ([a-z]+) (.*)$/s

export class NoteStore {
  readonly #connection: Connection
  readonly #keys: Keys

  constructor(connection: Connection, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  /** Notes that are due. No other replica gets them for as long as a replica has to tell what it did. */
  async take(limit: number): Promise<Note[]> {
    const flat = (await this.#connection.run('take-notes', [this.#keys.audit], [limit, noteGraceMs])) as string[]
    return flat.flatMap(text => {
      const [, op, kind, result, by] = form.exec(text) ?? []
      if (op === undefined) return []
      return [{ op: Number(op), kind: kind as OperationKind, result: result as NoteResult, by: by! }]
    })
  }

  async drop(notes: readonly string[]): Promise<void> {
    await this.#connection.run('drop-notes', [this.#keys.audit], notes)
  }
}
