/** Bytes of frames, as `websockets` from PyPI writes them in a process of its own. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { SidePlan } from './plan.ts'

const program = fileURLToPath(new URL('by_websockets.py', import.meta.url))

export class FramesByWebsockets {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  /** Those who wait, in the order of their lines. */
  readonly #waiting: PromiseWithResolvers<Buffer>[] = []
  #chunks: Buffer[] = []
  #bytes = 0

  /** @param python of an environment with `websockets` */
  constructor(python: string) {
    this.#child = spawn(python, [program], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#child.stdout.on('data', chunk => this.#read(chunk))
    this.#child.stdin.on('error', () => {})
    this.#child.once('close', code => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error(`by_websockets.py ended with ${code}`))
    })
  }

  frames(side: SidePlan, isClient: boolean): Promise<Buffer> {
    const waiting = Promise.withResolvers<Buffer>()
    this.#waiting.push(waiting)
    this.#child.stdin.write(`${JSON.stringify({ ...side, isClient })}\n`)
    return waiting.promise
  }

  stop(): void {
    this.#child.kill()
  }

  #read(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    for (;;) {
      const [first] = this.#chunks
      if (this.#bytes < 4 || first === undefined) return
      const head = first.length >= 4 ? first : Buffer.concat(this.#chunks)
      const size = 4 + head.readUInt32BE(0)
      if (this.#bytes < size) return
      const all = Buffer.concat(this.#chunks)
      this.#chunks = all.length > size ? [all.subarray(size)] : []
      this.#bytes -= size
      this.#waiting.shift()!.resolve(Buffer.from(all.subarray(4, size)))
    }
  }
}
