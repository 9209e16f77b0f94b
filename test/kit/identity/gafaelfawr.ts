/** A server with the two routes of Gafaelfawr that are used, with faults as a test sets them. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A fault of an answer; it may also never come. */
export type Fault = (response: ServerResponse) => void

const json = { 'Content-Type': 'application/json' }

export const faults = {
  never: () => {},
  'bad gateway': response => void response.writeHead(502).end('upstream is away'),
  error: response => void response.writeHead(500, json).end('{"detail": [{"msg": "no", "type": "internal"}]}'),
  busy: response => void response.writeHead(429, { 'Retry-After': '7' }).end(),
  'put off for a year': response => void response.writeHead(503, { 'Retry-After': '99999' }).end(),
  'not found': response => void response.writeHead(404, json).end('{}'),
  elsewhere: response => void response.writeHead(302, { Location: '/auth/api/v1/user-info?again' }).end(),
  empty: response => void response.writeHead(200, json).end(),
  'no JSON': response => void response.writeHead(200, json).end('<html>secret-of-ada</html>'),
  'a list': response => void response.writeHead(200, json).end('[]'),
  null: response => void response.writeHead(200, json).end('null'),
  huge: response => {
    response.writeHead(200, json)
    // As fast as it is read, until nobody reads.
    const more = () => response.write(' '.repeat(65_536), error => void (error ?? more()))
    more()
  },
  'cut off': response => {
    response.writeHead(200, { ...json, 'Content-Length': '1000' })
    response.write('{"username": "ada", ', () => response.destroy())
  },
  'hung up': response => void response.destroy(),
  'half an answer': response => {
    response.writeHead(200, json)
    response.write('{"username": "ada", ')
  },
} as const satisfies Record<string, Fault>

/** The answer about a user. */
export type UserAnswer = Readonly<Record<string, unknown>>

export class FakeGafaelfawr {
  readonly #server: Server
  /** Users by their tokens. */
  readonly users = new Map<string, UserAnswer>()
  /** Scopes by tokens, if they are not `exec:notebook` alone. */
  readonly scopes = new Map<string, readonly string[]>()
  /** A fault that replaces all answers. */
  fault: Fault | undefined
  /** A fault that replaces answers about scopes only. */
  tokenFault: Fault | undefined
  /** Tokens of questions, in order. */
  readonly asked: string[] = []
  /** Largest number of concurrent questions. */
  mostAtOnce = 0
  #open = 0
  #onAsked: (() => void)[] = []

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response))
  }

  static async start(port = 0): Promise<FakeGafaelfawr> {
    const fake = new FakeGafaelfawr()
    fake.#server.listen(port, '127.0.0.1')
    await once(fake.#server, 'listening')
    return fake
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Resolves after this many questions in all. */
  async whenAsked(count: number): Promise<void> {
    while (this.asked.length < count) await new Promise<void>(resolve => this.#onAsked.push(resolve))
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    this.asked.push(token)
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#open)
    response.once('close', () => this.#open--)
    for (const wake of this.#onAsked.splice(0)) wake()
    const right = request.method === 'GET' && request.url === '/auth/api/v1/user-info'
    if (this.fault) this.fault(response)
    else if (right) this.#respond(response, this.users.get(token))
    else if (this.tokenFault) this.tokenFault(response)
    else if (request.url === '/auth/api/v1/token-info') this.#respond(response, this.#tokenInfo(token))
    else response.writeHead(404).end()
  }

  #tokenInfo(token: string): UserAnswer | undefined {
    const user = this.users.get(token)
    const scopes = this.scopes.get(token) ?? ['exec:notebook']
    return user && { token: token.slice(0, 8), username: user.username, token_type: 'notebook', scopes }
  }

  #respond(response: ServerResponse, user: UserAnswer | undefined): void {
    if (user !== undefined) {
      response.writeHead(200, json).end(JSON.stringify(user))
      return
    }
    response.writeHead(401, { ...json, 'WWW-Authenticate': 'Bearer realm="test"' })
    response.end('{"detail": [{"msg": "Token is not valid", "type": "invalid_token"}]}')
  }
}
