/**
 * A file of pages that are there before they are needed: each is written in place, so a full disk cannot keep a write away. A
 * page is one JSON value, padded. A torn one counts as empty.
 */
import { closeSync, constants, fdatasyncSync, fsyncSync, openSync, readSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

const pageBytes = 4096

/** Spaces: a page of zeros could become a hole. */
const emptyPage = () => Buffer.alloc(pageBytes, ' ')

/** Makes what was renamed or created in a folder last over a loss of power. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

export const isNoRoom = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Writes all bytes. @throws as `writeSync`, ENOSPC among others */
export function writeAll(fd: number, bytes: Buffer, position: number | null = null): void {
  for (let done = 0; done < bytes.length; )
    done += writeSync(fd, bytes, done, bytes.length - done, position === null ? null : position + done)
}

/** Makes a file with mode 0600 that lasts: complete, or not there. */
export function writeLasting(path: string, bytes: Buffer): void {
  const temporary = `${path}.new`
  const fd = openSync(temporary, 'w', 0o600)
  try {
    writeAll(fd, bytes)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(temporary, path)
  syncFolder(dirname(path))
}

function pageOf(value: unknown): Buffer {
  const bytes = emptyPage()
  const text = Buffer.from(JSON.stringify(value))
  if (text.length > pageBytes) throw new Error(`${text.length} bytes do not fit a page`)
  text.copy(bytes)
  return bytes
}

export class Slots {
  readonly #fd: number

  private constructor(fd: number) {
    this.#fd = fd
  }

  /** @param values of pages; the others are empty */
  static create(path: string, pages: number, values: Readonly<Record<number, unknown>> = {}): void {
    const made = Array.from({ length: pages }, (_, page) => (page in values ? pageOf(values[page]) : emptyPage()))
    writeLasting(path, Buffer.concat(made))
  }

  /** @throws ENOENT when the file is not there */
  static open(path: string): Slots {
    return new Slots(openSync(path, 'r+'))
  }

  /** @returns undefined for a page that is empty, or was not written to its end */
  read(page: number): unknown {
    const bytes = Buffer.alloc(pageBytes)
    const read = readSync(this.#fd, bytes, 0, pageBytes, page * pageBytes)
    try {
      return JSON.parse(bytes.toString('utf8', 0, read))
    } catch {
      return undefined
    }
  }

  /** @param options.lasting whether it is on disk when this returns */
  write(page: number, value: unknown, { lasting }: { readonly lasting: boolean }): void {
    writeAll(this.#fd, pageOf(value), page * pageBytes)
    if (lasting) fdatasyncSync(this.#fd)
  }

  close(): void {
    closeSync(this.#fd)
  }

  /** Reads or writes, and closes. */
  static with<T>(path: string, work: (slots: Slots) => T): T {
    const slots = Slots.open(path)
    try {
      return work(slots)
    } finally {
      slots.close()
    }
  }
}
