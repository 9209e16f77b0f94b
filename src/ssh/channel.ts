/** A command on a machine, as a stream. */
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import type { ClientChannel } from 'ssh2'
import { cleanLastLines } from '../base/text.ts'
import type { ChannelExit, MachineChannel } from './machine.ts'

/** The end of stderr that is kept. */
const keptCharacters = 8192
/** ssh2 looks at the window of a channel alone, and a server may open that as far as it likes. */
const mostUnsentBytes = 1024 * 1024

type Done = (error?: Error | null) => void

export class CommandChannel extends Duplex implements MachineChannel {
  readonly exit: Promise<ChannelExit>
  readonly #raw: ClientChannel
  readonly #socket: Socket
  readonly #ended: AbortSignal
  readonly #hidden: (text: string) => string
  readonly #exit = Promise.withResolvers<ChannelExit>()
  #stderr = ''
  #exitCode: number | undefined
  /** A write that waits for room. ssh2 forgets it when its channel closes. */
  #written: Done | undefined
  #isClosed = false
  readonly #onDrain = () => this.#writeDone()
  readonly #onEnded = () => this.#endWith(this.#ended.reason)

  /** @param hidden leaves out of a text what nobody may read */
  constructor(raw: ClientChannel, socket: Socket, ended: AbortSignal, hidden: (text: string) => string) {
    // Both directions may have ended before the exit is known.
    super({ allowHalfOpen: true, autoDestroy: false })
    this.exit = this.#exit.promise
    this.#raw = raw
    this.#socket = socket
    this.#ended = ended
    this.#hidden = hidden
    ended.addEventListener('abort', this.#onEnded, { once: true })
    // A reader, or a caller that waits for the exit, learns it; nobody need listen for it.
    this.on('error', () => {})
    raw.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) raw.pause()
    })
    raw.on('end', () => this.push(null))
    raw.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-keptCharacters)
    })
    raw.on('exit', (code: number | null) => {
      this.#exitCode = code ?? undefined
    })
    raw.on('error', (error: Error) => this.destroy(error))
    raw.on('close', () => this.#onClose())
  }

  override _read(): void {
    this.#raw.resume()
  }

  /** Input that a command does not read any more is dropped: its exit says why. */
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#written = done
    if (this.#isClosed) this.#writeDone()
    else this.#send(chunk)
  }

  #send(chunk: Buffer): void {
    this.#raw.write(chunk, () => {
      if (this.#socket.writableLength <= mostUnsentBytes) this.#writeDone()
      else this.#socket.once('drain', this.#onDrain)
    })
  }

  override _final(done: Done): void {
    if (!this.#isClosed) this.#raw.end()
    done()
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#release()
    if (!this.#isClosed) this.#raw.close()
    this.#settle(error?.message ?? '')
    done(error)
  }

  #endWith(reason: Error): void {
    this.#settle(reason.message)
    this.destroy(reason)
  }

  #onClose(): void {
    this.#isClosed = true
    if (this.#ended.aborted) this.#endWith(this.#ended.reason)
    else this.#finish()
  }

  /** It takes input until all output is read: its writer may be late, and an error would hide the exit. */
  #finish(): void {
    this.#settle(cleanLastLines(this.#hidden(this.#stderr)))
    this.#release()
    if (!this.readableEnded) this.push(null)
    this.#writeDone()
    if (this.readableEnded) this.destroy()
    else this.once('end', () => this.destroy())
  }

  #settle(words: string): void {
    this.#exit.resolve({ exitCode: this.#exitCode, words })
  }

  #writeDone(): void {
    const done = this.#written
    this.#written = undefined
    done?.()
  }

  #release(): void {
    this.#ended.removeEventListener('abort', this.#onEnded)
    this.#socket.removeListener('drain', this.#onDrain)
  }
}
