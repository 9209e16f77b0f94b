/** A file's content packed once for many readers. */
import { openSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, pipeline, type Readable } from 'node:stream'
import { pipeline as piped } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { readShared, writeShared } from './shared-file.ts'

/** 1 takes a third of the time of 6 for Node, and gives a tenth more. */
const level = 1

export class Packed {
  readonly #content: () => Readable
  readonly #folder: string
  /** Open until this process ends. */
  #file: Promise<number> | undefined

  /** @param folder for a file without a name, which nobody else can open, and which ends with this process */
  constructor(content: () => Readable, folder = tmpdir()) {
    this.#content = content
    this.#folder = folder
  }

  /** From its beginning. Where the folder takes no file, it is packed again for each reader. */
  open(): Readable {
    const output = new PassThrough()
    const packed = this.#packed().then(readShared, () => this.#content().pipe(createGzip({ level })))
    // Its end destroys both; its error is the output's.
    packed.then(source => (output.destroyed ? source.destroy() : pipeline(source, output, () => {})))
    return output
  }

  #packed(): Promise<number> {
    this.#file ??= this.#pack()
    return this.#file
  }

  async #pack(): Promise<number> {
    const folder = await mkdtemp(join(this.#folder, 'skylab-'))
    try {
      const path = join(folder, 'program.gz')
      const fd = openSync(path, 'wx+', 0o600)
      await rm(folder, { recursive: true })
      await piped(this.#content(), createGzip({ level }), writeShared(fd))
      return fd
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}
