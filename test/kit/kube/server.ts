/** An API server for tests: a real HTTP(S) server with scripted answers, and a kubeconfig for it. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** One request as it arrived. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export type Answer = (request: Received, response: ServerResponse) => void

/** A CA and a server certificate of it. */
export interface Certificate {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

export class ScriptedServer {
  readonly received: Received[] = []
  /** Answers in the order of requests. After them, `fallback` answers. */
  readonly script: Answer[] = []
  fallback: Answer = status(500, 'InternalError', 'the script has no answer')
  connections = 0
  readonly folder = mkdtempSync(join(tmpdir(), 'skylab-kube-'))
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #waiting = new Set<() => void>()
  readonly #tls: Certificate | undefined

  constructor(tls?: Certificate) {
    this.#tls = tls
    const listener = (request: IncomingMessage, response: ServerResponse) => void this.#take(request, response)
    this.#server = tls ? (createTlsServer(tls, listener) as unknown as Server) : createServer(listener)
    this.#server.on('connection', socket => {
      this.connections += 1
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket)).on('error', () => {})
    })
  }

  async listen(port = 0): Promise<this> {
    await new Promise<void>(resolve => this.#server.listen(port, '127.0.0.1', resolve))
    return this
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `${this.#tls ? 'https' : 'http'}://127.0.0.1:${this.port}`
  }

  /** Path of a kubeconfig with one context; `user` has extra fields of its user. */
  kubeconfig(user: object = { token: 'first' }, cluster: object = {}): string {
    const trust = this.#tls
      ? { 'certificate-authority-data': Buffer.from(this.#tls.ca).toString('base64') }
      : { 'insecure-skip-tls-verify': true }
    const path = join(this.folder, 'kubeconfig')
    const document = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: this.url, ...trust, ...cluster } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }
    writeFileSync(path, JSON.stringify(document))
    return path
  }

  /** Resolves after this many requests. */
  async until(count: number): Promise<void> {
    while (this.received.length < count) await new Promise<void>(resolve => this.#waiting.add(resolve))
  }

  /** Closes all connections, and refuses new ones. */
  async cut(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  /** `cut`, and removes the folder. */
  async close(): Promise<void> {
    await this.cut()
    rmSync(this.folder, { recursive: true, force: true })
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const url = new URL(request.url ?? '/', 'http://server')
    const received: Received = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    }
    this.received.push(received)
    const answer = this.script.shift() ?? this.fallback
    answer(received, response)
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}

/** Answers with JSON. */
export function json(body: unknown, code = 200, headers: Record<string, string> = {}): Answer {
  return (_request, response) => {
    response.writeHead(code, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body))
  }
}

/** A refusal in the form of an API server. */
export function status(code: number, reason: string, message = reason, headers: Record<string, string> = {}): Answer {
  return json({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, code }, code, headers)
}

/** Never answers. */
export const hang: Answer = () => {}

/** Closes the connection instead of answering. */
export const reset: Answer = (_request, response) => {
  ;(response.socket as Socket).resetAndDestroy()
}

/** Answers a watch: `play` writes to the open stream. */
export function stream(play: (response: ServerResponse, request: Received) => void): Answer {
  return (request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.flushHeaders()
    play(response, request)
  }
}

/** A certificate for an address by a new CA. */
export function makeCertificate(folder: string, name: string, address = '127.0.0.1'): Certificate {
  const file = (suffix: string) => join(folder, `${name}.${suffix}`)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const ca = ['-x509', '-days', '2', '-subj', `/CN=${name}-ca`, '-keyout', file('ca.key'), '-out', file('ca.crt')]
  openssl('req', ...curve, ...ca)
  const alternatives = ['-addext', `subjectAltName=IP:${address}`, '-days', '2']
  const signed = ['-x509', '-CA', file('ca.crt'), '-CAkey', file('ca.key'), '-subj', `/CN=${name}`]
  openssl('req', ...curve, ...signed, ...alternatives, '-keyout', file('key'), '-out', file('crt'))
  const read = (suffix: string) => readFileSync(file(suffix), 'utf8')
  return { ca: read('ca.crt'), cert: read('crt'), key: read('key') }
}
