/** The app of the bench, a process of its own: raw connections, so that it costs as little as can be. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { otherAddress } from '../../test/kit/gateway/other-apps.ts'
import { answerQuestions } from '../measure/worker.ts'

const endOfHead = '\r\n\r\n'
const block = Buffer.alloc(262_144, 'x')

const headOf = (length: number) => `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${length}\r\n\r\n`
const answerOf = (length: number) => Buffer.concat([Buffer.from(headOf(length)), Buffer.alloc(length, 'x')])
/** By what the path names. */
const answers = new Map([1024, 102_400].map(length => [`/size/${length}`, answerOf(length)]))
const switched =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n'

/** Serves requests one after another on one connection. */
function serve(socket: Socket): void {
  let pending: Buffer = Buffer.alloc(0)
  /** Of an upload. */
  let missing = 0
  socket.on('error', () => {})
  const read = (bytes: Buffer): void => {
    pending = pending.length > 0 ? Buffer.concat([pending, bytes]) : bytes
    while (pending.length > 0) {
      if (missing > 0) {
        const taken = Math.min(missing, pending.length)
        missing -= taken
        pending = pending.subarray(taken)
        if (missing === 0) socket.write(answers.get('/size/1024')!)
        continue
      }
      const at = pending.indexOf(endOfHead)
      if (at < 0) return
      const head = pending.toString('latin1', 0, at)
      pending = pending.subarray(at + endOfHead.length)
      const path = head.slice(0, head.indexOf(' HTTP/'))
      if (path.endsWith('/echo')) {
        socket.off('data', read)
        echo(socket)
        return
      }
      if (path.endsWith('/upload')) missing = Number(/^content-length: *(\d+)/im.exec(head)![1])
      else answer(socket, path)
    }
  }
  socket.on('data', read)
}

function answer(socket: Socket, path: string): void {
  const known = answers.get(path.slice(path.lastIndexOf('/size/')))
  if (known) socket.write(known)
  else void pour(socket, Number(path.slice(path.lastIndexOf('/') + 1)))
}

/** Writes a long answer at the pace of its reader. */
async function pour(socket: Socket, length: number): Promise<void> {
  socket.write(headOf(length))
  for (let left = length; left > 0 && !socket.destroyed; left -= block.length) {
    if (!socket.write(left < block.length ? block.subarray(0, left) : block))
      await once(socket, 'drain').catch(() => {})
  }
}

function echo(socket: Socket): void {
  socket.on('data', bytes => socket.write(bytes))
  socket.write(switched)
}

/** @returns the port */
async function listen(host: string, port = 0): Promise<number> {
  const server = createServer({ noDelay: true }, serve)
  server.listen({ port, host, backlog: 65_535 })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Further apps are at the same port of addresses of their own: each has its own connections. */
answerQuestions(async ({ others }: { others: number }) => {
  const port = await listen('127.0.0.1')
  for (let number = 1; number <= others; number++) await listen(otherAddress(number), port)
  return port
})
