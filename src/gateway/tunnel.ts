/** Two connections that left HTTP: bytes go both ways as they come, until both sides have ended. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { answerHeaders, headText } from './framing.ts'
import { Relay } from './relay.ts'
import type { Destination, Ending, PumpLimits } from './terms.ts'

/** One end of a connection that left HTTP. */
interface Side {
  readonly socket: Socket
  /** Bytes that came in one packet with the head. */
  readonly head: Buffer
}

export interface TunnelParts {
  readonly client: Side
  readonly app: Side
  /** The app's 101. */
  readonly answer: IncomingMessage
  readonly to: Destination
  readonly limits: PumpLimits
}

/** Passes the 101 on and joins the connections. Resolves when both are closed. Meanwhile nothing of the answer is kept. */
export const join = (parts: TunnelParts): Promise<Ending> => Promise.try(joined, parts)

/** No `async` function: it would keep its parameters. */
function joined({ client, app, answer, to, limits }: TunnelParts): Promise<Ending> {
  const headers = answerHeaders(101, answer.rawHeaders) ?? []
  const list = [...(to.answer?.(101, headers) ?? headers), 'Connection', 'Upgrade', 'Upgrade', answer.headers.upgrade!]
  client.socket.write(headText('HTTP/1.1 101 Switching Protocols', list), 'latin1')
  // It sees the bytes of both ways.
  app.socket.setTimeout(limits.idleMs, () => app.socket.destroy())
  // The end of one way is passed on, and the other way goes on.
  const { gate } = to
  const fromClient = new Relay({ from: client.socket, to: app.socket, gate, onEnd: () => app.socket.end() })
  const fromApp = new Relay({ from: app.socket, to: client.socket, gate, onEnd: () => client.socket.end() })
  const ended = Promise.all([
    closing(client.socket, app.socket, fromClient, fromApp),
    closing(app.socket, client.socket, fromApp, fromClient),
  ])
  to.opened?.({ client: client.socket, app: app.socket, fromClient, fromApp })
  fromClient.start(client.head)
  fromApp.start(app.head)
  return ended.then(endingOf)
}

function endingOf([clientFailed, appFailed]: readonly boolean[]): Ending {
  if (clientFailed) return 'gone'
  return appFailed ? 'cut' : 'done'
}

/** Resolves when it is closed, with whether it failed. Then the other one gets what came from it, and is closed too. */
function closing(socket: Socket, other: Socket, relay: Relay, back: Relay): Promise<boolean> {
  return new Promise(resolve => {
    let failed = false
    socket.on('error', () => {
      failed = true
    })
    socket.once('close', () => {
      back.stop()
      // The last bytes may wait for their gate: both ends had ended already.
      void relay.settled().then(() => other.destroySoon())
      resolve(failed)
    })
  })
}
