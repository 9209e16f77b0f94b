/**
 * The door of a replica for toys: a plain route, at which the replica itself accepts their operations by its own parts, as the
 * API does for labs. It tells its address to the world of toys.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { namedBy } from '../../../src/base/subject.ts'
import type { KindParts } from '../../../src/run/kind.ts'
import type { Part } from '../../../src/run/part.ts'
import type { Sealer } from '../../../src/store/sealing.ts'
import type { Logger } from '../../../src/telemetry/log.ts'
import { acceptRemoval, acceptToy } from './accept.ts'
import { type ToyShape, toy } from './context.ts'

export interface DoorOptions {
  readonly parts: KindParts<ToyShape>
  readonly sealer: Sealer
  readonly log: Logger
  /** The address of the world. */
  readonly world: string
  readonly replica: string
}

/** `POST /NAME?nonce=…` with a plan makes a toy, `DELETE /NAME?nonce=…` removes it. */
export function doorOf(options: DoorOptions): Part {
  const { world, replica } = options
  const server = createServer((request, response) => void answer(options, request, response))
  return {
    start: () => {
      server.listen(0, '127.0.0.1', () => {
        const body = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        fetch(`${world}/doors/${replica}`, { method: 'PUT', body }).catch(() => {})
      })
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function answer(
  { parts, sealer, log }: DoorOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { acceptance, operations, engine } = parts
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://door')
  const [name, nonce] = [pathname.slice(1), searchParams.get('nonce') ?? '']
  const isCreation = request.method === 'POST'
  acceptance.announce()
  try {
    const plan = isCreation ? JSON.parse(await text(request)) : undefined
    const accepted = await acceptance.during(async () => {
      const accepting = { operations, sealer }
      const answered = isCreation
        ? await acceptToy(accepting, name, plan, nonce)
        : await acceptRemoval(accepting, name, nonce)
      engine.wake()
      return answered
    })
    if (accepted?.answer === 'accepted') {
      const kind = isCreation ? 'create' : 'delete'
      log.info({ ...namedBy({ kind: toy, name }), op: accepted.op, kind }, 'operation accepted')
    }
    response.end(JSON.stringify(accepted))
  } catch (error) {
    response.writeHead(503).end(String(error))
  }
}
