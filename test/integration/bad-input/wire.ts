/** Sends requests as bytes, which no HTTP client would send, and reads the responses. */
import { connect } from 'node:net'

export type Bytes = string | Buffer

/** The caller, and the name in paths. */
export interface Sender {
  readonly user: string
  readonly token: string
  /** Token of an administrator who may see and delete the labs of all. */
  readonly adminToken: string
  /** An administrator who may have no lab. */
  readonly adminOnly: { readonly user: string; readonly token: string }
  readonly noScope: { readonly user: string; readonly token: string }
  /** Another user. */
  readonly other: { readonly user: string; readonly token: string }
}

/** One row of the table. */
export interface BadInput {
  readonly what: string
  readonly send: (sender: Sender) => Bytes
  /** Status of each response on the connection, in order. */
  readonly status: number | readonly number[]
  /** `type` of the first entry of the last response. */
  readonly type?: string
  /** Whether the client closes its half of the connection after sending. */
  readonly ends?: boolean
}

export const prefix = '/nublado/spawner/v1'

/** A head with the usual headers, after which the server closes the connection. */
export function head(line: string, token: string | undefined, ...headers: Bytes[]): Buffer {
  const auth = token === undefined ? [] : [`Authorization: Bearer ${token}`]
  const lines = [`${line} HTTP/1.1`, 'Host: skylab', 'Connection: close', ...auth, ...headers]
  return join(...lines.flatMap(each => [each, '\r\n']), '\r\n')
}

/** Joins parts; strings are sent as Latin-1, so that a character is a byte. */
export function join(...parts: readonly Bytes[]): Buffer {
  return Buffer.concat(parts.map(part => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)))
}

/** A create by its own user, with a body of these bytes (text is UTF-8), and its length. */
export function create(body: Bytes, ...headers: Bytes[]) {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const given = headers.length > 0 ? headers : ['Content-Type: application/json']
  return ({ user, token }: Sender) =>
    join(createHead({ user, token }, `Content-Length: ${bytes.length}`, ...given), bytes)
}

export function createHead({ user, token }: Pick<Sender, 'user' | 'token'>, ...headers: Bytes[]): Buffer {
  return head(`POST ${prefix}/labs/${user}/create`, token, ...headers)
}

/** A create with options beside those of a valid one, or instead of them. */
export function wanting(options: unknown, more: object = {}) {
  return create(JSON.stringify({ options, ...more }))
}

/** A create that is valid except for its env. */
export const withEnv = (env: unknown) => wanting({ image_type: 'recommended' }, { env })

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Sends bytes and reads until the connection ends.
 * @throws when it stays open past the limit
 */
export async function exchange(port: number, bytes: Bytes, options: { ends?: boolean } = {}): Promise<Reply[]> {
  const limitMs = 15_000
  const socket = connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  try {
    await new Promise<void>((resolve, reject) => {
      // A reset connection has sent its response before.
      socket.on('error', error =>
        (error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? reject(error) : resolve(),
      )
      socket.on('data', chunk => chunks.push(chunk))
      socket.on('close', () => resolve())
      socket.setTimeout(limitMs, () => reject(new Error(`the connection stays open: ${Buffer.concat(chunks)}`)))
      if (options.ends) socket.end(join(bytes))
      else socket.write(join(bytes))
    })
  } finally {
    socket.destroy()
  }
  return repliesIn(Buffer.concat(chunks).toString('latin1'))
}

/** The responses on a connection; bodies have a length here, or end with the connection. */
function repliesIn(text: string): Reply[] {
  const replies: Reply[] = []
  let rest = text
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    const [line = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers = Object.fromEntries(
      lines.map(each => [each.slice(0, each.indexOf(':')).toLowerCase(), each.slice(each.indexOf(':') + 1).trim()]),
    )
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(line)?.[1])
    if (end < 0 || !status) throw new Error(`no answer of HTTP: ${rest.slice(0, 200)}`)
    const start = end + 4
    const length = status === 100 ? 0 : Number(headers['content-length'] ?? rest.length - start)
    replies.push({ status, headers, body: rest.slice(start, start + length) })
    rest = rest.slice(start + length)
  }
  return replies
}
