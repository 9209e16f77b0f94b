/** Notes of lines that the audit log must get. Scripts leave them; the replica that writes the line removes the note. */
import type { OperationKind } from '../base/domain.ts'
import type { Connection } from './connection.ts'
import type { Keys } from './keys.ts'

/** `superseded`: a deletion ended a creation; `overruled`: a compare found that Redis had lost later operations. */
export type NoteResult = 'accepted' | 'succeeded' | 'failed' | 'superseded' | 'overruled'

export interface Note {
  readonly op: number
  readonly kind: OperationKind
  readonly result: NoteResult
  /** The origin of the operation, from its record. */
  readonly by: string
}

/** How long the replica that ran the script has to write the line; after that another replica does. */
export const noteGraceMs = 15_000

/** The same format as in `include/notes.lua`. */
export const formatNote = ({ op, kind, result, by }: Note) => `${op} ${kind} ${result} ${by}`

const form = /^(\d+) (create|delete) ([a-z]+) (.*)$/s

export class NoteStore {
  readonly #connection: Connection
  readonly #keys: Keys

  constructor(connection: Connection, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  /** Takes notes that are due. No other replica gets them for `noteGraceMs`. */
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
