/** One open WebSocket: what its client sends is counted, and it can be closed between two frames. */
import type { Clock } from '../../base/clock.ts'
import type { Tunnel } from '../terms.ts'
import { closeFrame, FrameReader } from './frames.ts'

export interface OpenSocketOptions {
  readonly tunnel: Tunnel
  readonly clock: Pick<Clock, 'after'>
  /** A client that takes nothing of what waits for it is cut after this time. */
  readonly stallMs: number
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
    const { client, fromClient, fromApp } = options.tunnel
    client.setTimeout(options.stallMs, () => {
      if (client.writableLength > 0) client.destroy()
    })
    fromClient.tap = chunk => {
      this.#heard(chunk)
      return chunk
    }
    fromApp.tap = chunk => {
      this.#fromApp.read(chunk)
      return chunk
    }
  }

  /**
   * Sends nothing more of the client to the app, and closes between two frames of the app.
   * @param withinMs for the rest of a frame, and for the client to answer; then it is cut
   */
  close(code: 1008 | 1012, reason: string, withinMs: number): void {
    if (this.#isClosing) return
    this.#isClosing = true
    const { client, app, fromClient, fromApp } = this.#options.tunnel
    fromClient.stop()
    const cancel = this.#options.clock.after(withinMs, () => {
      client.destroy()
      app.destroy()
    })
    client.once('close', cancel)
    const last = closeFrame(code, reason)
    if (this.#fromApp.isBetween) this.#end(last)
    else fromApp.tap = chunk => this.#finishFrame(chunk, last)
  }

  #end(last: Buffer): void {
    const { client, fromApp } = this.#options.tunnel
    fromApp.stop()
    client.end(last)
    // Until the client answers the close: a connection with unread bytes would be reset, and the close lost.
    client.resume()
  }

  #finishFrame(chunk: Buffer, last: Buffer): Buffer | undefined {
    const end = this.#fromApp.readToEnd(chunk)
    if (end === undefined) return chunk
    this.#options.tunnel.client.write(chunk.subarray(0, end))
    this.#end(last)
    return undefined
  }

  #heard(chunk: Buffer): void {
    const before = this.#fromClient.dataFrames
    this.#fromClient.read(chunk)
    if (this.#fromClient.dataFrames > before) this.#options.onInput()
  }
}
