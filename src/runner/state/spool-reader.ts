/** Reads the entries of a run from its folder, in order and from a number on, while its supervisor may still write. */
import { type FileHandle, open } from 'node:fs/promises'
import { asNumber, asObject, parseJson } from '../../base/json.ts'
import type { Numbered, RunFolder } from './run-folder.ts'

/** Longer than any line: output is bounded by `mostOutputBytes`, and a third is added by base64. */
const chunkBytes = 64 * 1024

export class SpoolReader {
  readonly #folder: RunFolder
  #seq: number
  /** The segment that is being read. `position`: after the last line that has an end. */
  #open: { readonly first: number; readonly file: FileHandle; position: number } | undefined
  #isOver = false

  /** @param after the last number that the keeper has */
  constructor(folder: RunFolder, after: number) {
    this.#folder = folder
    this.#seq = after
  }

  /** The last number that was read. */
  get seq(): number {
    return this.#seq
  }

  /** Whether the last entry of all was read. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The entries that are there by now and were not read yet, in portions. */
  async *read(): AsyncGenerator<Numbered[]> {
    // The end is read first, as it was written last: this process may be halted between two reads for as long as a run takes.
    const ended = this.#folder.ended()
    const first = this.#seq === 0 ? this.#folder.started()?.first : undefined
    if (first) yield this.#next([first])
    yield* this.#segments()
    if (!ended || this.#isOver) return
    this.#isOver = true
    const last = ended.entries.filter(({ seq }) => seq > this.#seq)
    if (last.length > 0) yield this.#next(last)
  }

  async close(): Promise<void> {
    await this.#open?.file.close()
    this.#open = undefined
  }

  async *#segments(): AsyncGenerator<Numbered[]> {
    for (;;) {
      if (this.#open) yield* this.#rest(this.#open)
      const segments = this.#folder.segments()
      // The one that has the next entry, or begins with it.
      const next = segments.filter(({ first }) => first <= this.#seq + 1).at(-1)
      if (!next || next.first === this.#open?.first) return
      await this.close()
      const file = await open(next.path).catch(() => undefined)
      // It was acknowledged, and removed, by another connection.
      if (!file) return
      this.#open = { first: next.first, file, position: 0 }
    }
  }

  async *#rest(segment: { readonly file: FileHandle; position: number }): AsyncGenerator<Numbered[]> {
    const buffer = Buffer.allocUnsafe(chunkBytes)
    for (;;) {
      const { bytesRead } = await segment.file.read(buffer, 0, chunkBytes, segment.position)
      // A line without an end is read again: on a full disk the supervisor takes it back.
      const length = buffer.subarray(0, bytesRead).lastIndexOf(0x0a) + 1
      if (length === 0) return
      segment.position += length
      const lines = buffer.toString('utf8', 0, length).split('\n')
      const entries = lines.flatMap(line => {
        const value = asObject(parseJson(line))
        return asNumber(value.seq) > this.#seq ? [value as unknown as Numbered] : []
      })
      if (entries.length > 0) yield this.#next(entries)
    }
  }

  #next(entries: Numbered[]): Numbered[] {
    this.#seq = entries.at(-1)!.seq
    return entries
  }
}

/** The last number of a run's entries. */
export async function lastSeq(folder: RunFolder): Promise<number> {
  const end = folder.ended()?.entries.at(-1)?.seq
  if (end !== undefined) return end
  const first = folder.segments().at(-1)?.first
  const reader = new SpoolReader(folder, first === undefined ? 0 : first - 1)
  for await (const _ of reader.read());
  await reader.close()
  return reader.seq
}
