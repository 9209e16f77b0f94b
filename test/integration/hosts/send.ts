/** Many requests as bytes, over few connections. */
import { connect, type Socket } from 'node:net'

const connections = 8

/** How often each status was answered. */
export type Statuses = Record<number, number>

/** A head by its lines; each character is a byte. */
export const headOf = (line: string, headers: Readonly<Record<string, string>>): Buffer =>
  Buffer.from(
    [`${line} HTTP/1.1`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '\r\n'].join('\r\n'),
    'latin1',
  )

/**
 * Sends requests without bodies, over some connections at once.
 * @param depth how many wait for their answers on one connection
 */
export async function sendAll(port: number, heads: readonly Buffer[], depth: number): Promise<Statuses> {
  const waiting = [...heads]
  const statuses: Statuses = {}
  const work = async () => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, depth)
      const answered = await exchange(port, batch, waiting, depth)
      for (const status of answered) statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: connections }, work))
  return statuses
}

/** Sends batch after batch on one connection, until it ends or nothing waits. What got no answer waits again. */
async function exchange(port: number, first: Buffer[], waiting: Buffer[], depth: number): Promise<number[]> {
  const socket = connect(port, '127.0.0.1')
  const statuses: number[] = []
  const answers = answersOn(socket)
  let batch = first
  try {
    while (batch.length > 0) {
      socket.write(Buffer.concat(batch))
      while (batch.length > 0) {
        const { value } = await answers.next()
        if (value === undefined) {
          // An answer at least, or the server would be asked for ever.
          if (statuses.length === 0) throw new Error('the connection was closed without an answer')
          waiting.push(...batch)
          return statuses
        }
        statuses.push(value)
        batch.shift()
      }
      batch = waiting.splice(0, depth)
    }
    return statuses
  } finally {
    socket.destroy()
  }
}

/** The status of each answer, in turn. */
async function* answersOn(socket: Socket): AsyncGenerator<number, undefined> {
  let text = ''
  try {
    for await (const chunk of socket) {
      text += (chunk as Buffer).toString('latin1')
      for (let end = endOf(text); end > 0; end = endOf(text)) {
        yield Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1])
        text = text.slice(end)
      }
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error
  }
  return undefined
}

/** Where the first answer in a text ends; 0 while it has not. */
function endOf(text: string): number {
  const start = text.indexOf('\r\n\r\n') + 4
  if (start < 4) return 0
  const head = text.slice(0, start)
  if (/^transfer-encoding: *chunked/im.test(head)) {
    const last = text.indexOf('0\r\n\r\n', start - 2)
    return last < 0 ? 0 : last + 5
  }
  const end = start + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
  return end <= text.length ? end : 0
}
