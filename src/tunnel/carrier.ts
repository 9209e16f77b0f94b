/** Carries what was admitted to its container, by the pump of the gateway of apps. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import type { ApiError } from '../base/errors.ts'
import type { HeaderList } from '../base/request-head.ts'
import type { Pump } from '../gateway/pump.ts'
import type { Destination, Ending, Tunnel } from '../gateway/terms.ts'
import { OpenSocket } from '../gateway/websocket/socket.ts'
import { fromContainer, toContainer, trailersFromContainer, trailersToContainer } from './headers.ts'
import { silent, unframed, unreached } from './problems.ts'
import type { Passage } from './tunnels.ts'
import type { EndReason } from './visits.ts'

export interface CarrierParts {
  readonly pump: Pump
  readonly clock: Pick<Clock, 'after'>
  /** A client that takes nothing of what waits for it is cut after this time. */
  readonly stallMs: number
}

/** One request for a port of a container. */
export interface Load {
  readonly incoming: IncomingMessage
  readonly passage: Passage
  readonly port: number
  /** In the container, with its query. */
  readonly path: string
  /** Of the container's paths, as the client writes them. */
  readonly prefix: string
}

/** For people, where their program shows them. */
const words: Readonly<Record<EndReason, string>> = {
  left: 'it is over',
  refused: 'it is over',
  revoked: 'you may not stay',
  ended: 'the container has ended',
  drained: 'this replica ends: another one has tunnels',
}
/** For the rest of a frame. */
const lastFrameMs = 500
const ofShell = {
  ...({ port: 22, path: '/', headers: ['Host', 'container'] } as const),
  // A machine may lie: it speaks for nobody either.
  answer: (_: number, headers: HeaderList) => fromContainer(headers, 22, ''),
  trailers: (_: string, list: HeaderList) => trailersFromContainer(list),
}

export class Carrier {
  readonly #parts: CarrierParts

  constructor(parts: CarrierParts) {
    this.#parts = parts
  }

  /** Resolves once the container has answered: the rest of the answer follows. @throws {ApiError} where it has not */
  async request(load: Load, outgoing: ServerResponse): Promise<void> {
    const { incoming, passage } = load
    const { socket } = incoming
    if (isGone(socket)) return passage.leave()
    const answered = Promise.withResolvers<void>()
    let isAnswered = false
    const onAnswer = () => {
      isAnswered = true
      answered.resolve()
    }
    // A request on its way may end in peace.
    passage.onCut(reason => reason !== 'drained' && socket.destroy())
    // The pump looks whether anything moves.
    socket.setTimeout(0)
    const plain = destinationOf(load)
    const answer: typeof plain.answer = (status, headers) => {
      if (status >= 200) onAnswer()
      return plain.answer(status, headers)
    }
    const over = this.#parts.pump
      .request(incoming, outgoing, { ...plain, answer })
      .then(ending => problemOf(ending, passage))
      .finally(() => {
        if (!socket.destroyed) socket.setTimeout(this.#parts.stallMs)
        passage.leave()
      })
    void over.then(problem => {
      // A head that could not be written is nobody's to answer any more.
      if (problem && isAnswered) outgoing.destroy()
      else if (problem) answered.reject(problem)
      else answered.resolve()
    }, answered.reject)
    return answered.promise
  }

  /** Resolves once the container has answered. @throws {ApiError} where it has not */
  upgrade(load: Load, socket: Socket, head: Buffer): Promise<void> {
    const { stallMs, clock } = this.#parts
    const opened = (tunnel: Tunnel) => {
      const open = new OpenSocket({ tunnel, clock, stallMs, onInput: () => {} })
      const code = (reason: EndReason) => (reason === 'drained' ? 1012 : 1008)
      load.passage.onCut(reason => open.close(code(reason), words[reason], lastFrameMs))
    }
    return this.#switch(load, { socket, head }, { ...destinationOf(load), opened })
  }

  /** The same for a shell. */
  shell(load: Pick<Load, 'incoming' | 'passage'>, socket: Socket, head: Buffer): Promise<void> {
    const { passage } = load
    const opened = ({ client, app }: Tunnel) => {
      client.setTimeout(this.#parts.stallMs, () => client.writableLength > 0 && client.destroy())
      passage.onCut(() => {
        client.destroySoon()
        app.destroy()
      })
    }
    const to = { ...ofShell, host: passage.host, connect: () => passage.connect(), opened }
    return this.#switch(load, { socket, head }, to)
  }

  async #switch(
    { incoming, passage }: Pick<Load, 'incoming' | 'passage'>,
    { socket, head }: { readonly socket: Socket; readonly head: Buffer },
    to: Destination & Required<Pick<Destination, 'opened' | 'answer'>>,
  ): Promise<void> {
    if (isGone(socket)) return passage.leave()
    const opened = Promise.withResolvers<void>()
    let isAnswered = false
    const onAnswer = () => {
      isAnswered = true
      opened.resolve()
    }
    passage.onCut(() => socket.destroy())
    const over = this.#parts.pump
      .upgrade(incoming, socket, head, {
        ...to,
        // One that changes nothing may go on for ever: it is nobody's turn any more.
        answer: (status, headers) => {
          if (status >= 200) onAnswer()
          return to.answer(status, headers)
        },
        opened: tunnel => {
          to.opened(tunnel)
          opened.resolve()
        },
      })
      .then(ending => problemOf(ending, passage))
      .finally(() => passage.leave())
    void over.then(problem => {
      if (problem && isAnswered) socket.destroy()
      else if (problem) opened.reject(problem)
      else opened.resolve()
    }, opened.reject)
    return opened.promise
  }
}

/** Its client left while it was admitted: nothing will tell that any more. */
const isGone = (socket: Socket): boolean => socket.destroyed

function destinationOf({
  incoming,
  passage,
  port,
  path,
  prefix,
}: Load): Destination & Required<Pick<Destination, 'answer'>> {
  return {
    ...{ host: passage.host, port, path, connect: () => passage.connect() },
    headers: toContainer(incoming.rawHeaders, port, prefix),
    answer: (_, headers) => fromContainer(headers, port, prefix),
    trailers: (of, list) => (of === 'request' ? trailersToContainer(list) : trailersFromContainer(list)),
  }
}

function problemOf(ending: Ending, { failure }: Passage): ApiError | undefined {
  if (ending === 'refused') return unreached(failure)
  if (ending === 'silent') return silent()
  return ending === 'unframed' ? unframed() : undefined
}
