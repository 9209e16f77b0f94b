/** Readers of event streams that do read, as opposed to stuck ones. A process of its own. */
import { connect, type Socket } from 'node:net'
import { answerQuestions } from '../measure/worker.ts'

/** Streams to open for one user. */
export interface Streams {
  readonly name: string
  readonly token: string
  readonly count: number
}

export type ReadersQuestion =
  /** Resolves when each stream has received something. */
  | { readonly do: 'open'; readonly port: number; readonly streams: readonly Streams[] }
  /** Resolves with the delays of events since the last question, and the number of ended streams. */
  | { readonly do: 'report' }

export interface Seen {
  readonly delaysMs: readonly number[]
  readonly ended: number
}

/** The data of the bench's events: the time of writing, by the clock that all processes of a machine share. */
export const stamp = (): string => `at ${process.hrtime.bigint()}`

let seen = { delaysMs: [] as number[], ended: 0 }

answerQuestions(async (question: ReadersQuestion): Promise<Seen | undefined> => {
  if (question.do === 'report') {
    const before = seen
    seen = { delaysMs: [], ended: 0 }
    return before
  }
  const { port, streams } = question
  const each = streams.flatMap(stream => Array.from({ length: stream.count }, () => stream))
  await Promise.all(each.map(stream => read(port, stream)))
  return undefined
})

function dial(port: number, { name, token }: Streams): Socket {
  const socket = connect(port, '127.0.0.1')
  const head = [`GET /nublado/spawner/v1/labs/${name}/events HTTP/1.1`, 'Host: bench', `Authorization: Bearer ${token}`]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  socket.on('error', () => {})
  socket.once('close', () => {
    seen.ended += 1
  })
  return socket
}

function read(port: number, stream: Streams): Promise<void> {
  const socket = dial(port, stream)
  let rest = ''
  return new Promise(resolve => {
    socket.on('data', chunk => {
      const now = process.hrtime.bigint()
      const lines = (rest + chunk.toString('latin1')).split('\n')
      rest = lines.pop()!
      for (const line of lines) {
        const at = /^data: at (\d+)/.exec(line)?.[1]
        if (at !== undefined) seen.delaysMs.push(Number(now - BigInt(at)) / 1e6)
      }
      resolve()
    })
    socket.once('close', () => resolve())
  })
}
