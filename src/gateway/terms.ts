/** The pump's parameters for a request, and its results. Pure. */
import type { Socket } from 'node:net'
import type { HeaderList } from '../base/request-head.ts'
import type { Gate, Relay } from './relay.ts'

/** Where a request goes, as it was decided. */
export interface Destination {
  readonly host: string
  readonly port: number
  /** As sent: the pump changes no byte of it. */
  readonly path: string
  /** With `Host`. The pump adds what frames the body. */
  readonly headers: HeaderList
  /** The headers of an answer for the client, informational ones too; default: all but those of one connection. */
  answer?(status: number, headers: HeaderList): HeaderList
  /** The trailers that go along, of the request to the app or of the answer to the client; default: all. */
  trailers?(of: 'request' | 'answer', trailers: HeaderList): HeaderList
  /** Asked before each byte to the app, and before each one to the client after the head. Default: all pass. */
  readonly gate?: Gate | undefined
  /** Makes the connection in place of one to `host` and `port`, by which connections are kept. */
  connect?(): Promise<Socket>
  /** Called when both connections left HTTP, before a byte after the heads is carried. */
  opened?(tunnel: Tunnel): void
}

/** Bytes go both ways between them. When one is closed, the other is too. */
export interface Tunnel {
  readonly client: Socket
  readonly app: Socket
  readonly fromClient: Relay
  readonly fromApp: Relay
}

/**
 * How it ended. Nothing was written where the client still needs an answer, which is then the caller's:
 * - `done`: the client has the whole answer, or both sides left the other protocol
 * - `refused`: no connection, or no answer that is HTTP (502)
 * - `silent`: no head in time (504)
 * - `unframed`: a body that the pump cannot carry (501)
 * - `cut`: the app failed after its head; the client's connection is cut
 * - `gone`: the client left; the app's connection is cut
 */
export type Ending = 'done' | 'refused' | 'silent' | 'unframed' | 'cut' | 'gone'

export interface PumpLimits {
  /** From the end of the request to the head of the answer. */
  readonly headMs: number
  /** Without a byte either way, after the head. */
  readonly idleMs: number
  /** How long a free connection is kept: shorter than any app keeps its own. */
  readonly freeMs: number
  /** How long the rest of an upload is read after its answer. */
  readonly lingerMs: number
  /** Connections to one app for requests that may be repeated, and as many for others. */
  readonly connections: number
}
