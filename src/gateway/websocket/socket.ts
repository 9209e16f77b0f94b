/** One open WebSocket: what its client sends is counted, and it can be closed between two frames. */
import type { Clock } from '../../base/clock.ts'
import type { Tunnel } from '../terms.ts'
import { closeFrame, FrameReader } from './frames.ts'

export interface OpenSocketOptions {
  readonly tunnel: Tunnel
  readonly clock: Pick<Clock, 'after'>
  /** Called where the client has sent frames of data. */
  readonly onInput: () => void
}

export class OpenSocket {
  readonly #options: OpenSocketOptions
  readonly #fromApp = new FrameReader()
  readonly #fromClient = new FrameReader()
  #isClosing = false

  constructor(options: OpenSocketOptions) {
    this.#options = options
    const { client, app } = options.tunnel
    this.#fromApp.read(app.head)
    this.#heard(client.head)
    app.socket.on('data', this.#onApp)
    client.socket.on('data', this.#heard)
  }

  /**
   * Sends nothing more of the client to the app, and closes between two frames of the app.
   * @param withinMs then it is cut, whatever is on its way
   */
  close(code: 1008 | 1012, reason: string, withinMs: number): void {
    if (this.#isClosing) return
    this.#isClosing = true
    const { client, app } = this.#options.tunnel
    client.socket.off('data', this.#heard)
    client.socket.unpipe(app.socket)
    app.socket.off('data', this.#onApp)
    app.socket.unpipe(client.socket)
    const cancel = this.#options.clock.after(withinMs, () => {
      client.socket.destroy()
      app.socket.destroy()
    })
    client.socket.once('close', cancel)
    const last = closeFrame(code, reason)
    if (this.#fromApp.isBetween) this.#end(last)
    else app.socket.on('data', chunk => this.#finishFrame(chunk, last)).resume()
  }

  /** What was written before this call goes to the client too. Ends the app's way, so that a silent app is left at once. */
  #end(last: Buffer): void {
    const { client, app } = this.#options.tunnel
    app.socket.removeAllListeners('data').pause()
    client.socket.end(last)
    // Until the client answers the close: a connection with unread bytes would be reset, and the close lost.
    client.socket.resume()
  }

  #finishFrame(chunk: Buffer, last: Buffer): void {
    const { client, app } = this.#options.tunnel
    const end = this.#fromApp.readToEnd(chunk)
    const isTaken = client.socket.write(chunk.subarray(0, end))
    if (end !== undefined) this.#end(last)
    else if (!isTaken) {
      app.socket.pause()
      client.socket.once('drain', () => app.socket.resume())
    }
  }

  readonly #onApp = (chunk: Buffer) => this.#fromApp.read(chunk)

  readonly #heard = (chunk: Buffer) => {
    const before = this.#fromClient.dataFrames
    this.#fromClient.read(chunk)
    if (this.#fromClient.dataFrames > before) this.#options.onInput()
  }
}
