/** The part of `ws` that writes frames; the package has no types of its own. */
declare module 'ws' {
  import type { EventEmitter } from 'node:events'

  /** What a sender needs of its socket. */
  export interface SenderSocket {
    cork(): void
    uncork(): void
    write(bytes: Uint8Array | string, done?: () => void): void
  }

  interface SendOptions {
    readonly binary: boolean
    readonly mask: boolean
    readonly fin: boolean
    readonly compress: boolean
  }

  export class WebSocket extends EventEmitter {
    constructor(url: string, options?: { readonly headers?: Readonly<Record<string, string>> })
    send(data: string | Uint8Array): void
    close(code?: number): void
    pause(): void
    resume(): void
  }

  export class PerMessageDeflate {
    static readonly extensionName: string
    constructor(options: { readonly isServer: boolean })
    accept(configurations: readonly object[]): object
    cleanup(): void
  }

  export class Sender {
    constructor(
      socket: SenderSocket,
      extensions: Readonly<Record<string, PerMessageDeflate>>,
      generateMask: (mask: Uint8Array) => void,
    )
    send(data: Uint8Array, options: SendOptions, done: () => void): void
    ping(data: Uint8Array, mask: boolean, done: () => void): void
    pong(data: Uint8Array, mask: boolean, done: () => void): void
    close(code: number, data: string, mask: boolean, done: () => void): void
  }
}
