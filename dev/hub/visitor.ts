/** Uses a Hub without a browser: by the form as a bot, by an API token as a script, or once as the demo. */
import { Readable } from 'node:stream'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { request } from 'undici'
import { systemClock } from '../../src/base/clock.ts'
import { CookieJar } from './cookies.ts'

/** A server as the Hub's REST API describes it (JupyterHub's "Server"). */
export interface ServerModel {
  readonly ready: boolean
  readonly stopped: boolean
  readonly pending: 'spawn' | 'stop' | null
  readonly user_options: Readonly<Record<string, unknown>>
}

/** An event of the progress page. */
export interface ProgressEvent {
  readonly progress: number
  readonly message?: string
  readonly ready?: boolean
  readonly failed?: boolean
}

/** An unexpected answer; its message is the text of the page. */
export class HubRefusal extends Error {
  readonly status: number

  constructor(what: string, status: number, words: string) {
    super(`${what}: ${status} ${words}`)
    this.name = 'HubRefusal'
    this.status = status
  }
}

export interface VisitorOptions {
  /** Address of the Hub, through its proxy. */
  readonly url: string
  readonly username: string
  readonly signal?: AbortSignal | undefined
}

const maxRedirects = 10
const pollMs = 200

export class HubVisitor {
  readonly username: string
  readonly #url: string
  readonly #signal: AbortSignal | undefined
  readonly #cookies = new CookieJar()
  #token: string | undefined

  constructor({ url, username, signal }: VisitorOptions) {
    this.#url = url
    this.username = username
    this.#signal = signal
  }

  /** @throws {HubRefusal} when the password is wrong */
  async login(password: string): Promise<void> {
    await this.#page('/hub/login')
    await this.#post('/hub/login', { username: this.username, password })
  }

  /** The page with the lab form. */
  async form(): Promise<string> {
    return (await this.#page('/hub/spawn')).text
  }

  /** Posts the form, as a browser or a bot does. Resolves once the Hub has begun. @throws {HubRefusal} */
  async spawn(options: Readonly<Record<string, string>>): Promise<void> {
    await this.form()
    await this.#post(`/hub/spawn/${encodeURIComponent(this.username)}`, options)
  }

  /** Asks for a server by the REST API, with a token. Resolves once the Hub has begun. @throws {HubRefusal} */
  async spawnByApi(options: Readonly<Record<string, string>>, serverName?: string): Promise<void> {
    const path = serverName === undefined ? 'server' : `servers/${serverName}`
    await this.#api('POST', path, options, [201, 202])
  }

  /** Stops the server, or the start of one; does not wait for its end. */
  async stop(): Promise<void> {
    await this.#api('DELETE', 'server', undefined, [202, 204])
  }

  /** The default server as the Hub sees it; null without one. */
  async server(): Promise<ServerModel | null> {
    const { text } = await this.#api('GET', '', undefined, [200])
    const { servers } = JSON.parse(text) as { servers?: Record<string, ServerModel> }
    return servers?.[''] ?? null
  }

  /** Waits until the Hub says that the server is ready, or that there is none. @throws the failure on the progress page */
  async settled(limitMs: number): Promise<ServerModel | null> {
    const limit = AbortSignal.timeout(limitMs)
    for (;;) {
      const server = await this.server()
      if (server?.pending == null) return server
      limit.throwIfAborted()
      await systemClock.sleep(pollMs, this.#signal)
    }
  }

  /** The events of the progress page, up to the end. */
  async *progress(): AsyncGenerator<ProgressEvent, void, undefined> {
    const response = await this.#send(
      'GET',
      `${this.#userPath}/server/progress`,
      undefined,
      await this.#authorization(),
    )
    if (response.status !== 200) throw new HubRefusal('progress', response.status, await response.body.text())
    const stream = Readable.toWeb(response.body) as ReadableStream<Uint8Array<ArrayBuffer>>
    const events = stream.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
    for await (const { data } of events) yield JSON.parse(data) as ProgressEvent
  }

  /** Opens a page of the server itself, including the login that it asks for; returns status and text. */
  page(path: string): Promise<{ status: number; text: string; url: string }> {
    return this.#page(`/user/${encodeURIComponent(this.username)}${path}`)
  }

  /** The user's token for Hub and server, requested with the cookies of the login and with the Hub's XSRF header. */
  async token(): Promise<string> {
    if (this.#token === undefined) {
      const headers = { 'x-xsrftoken': this.#xsrf(), 'content-type': 'application/json' }
      const response = await this.#send('POST', `${this.#userPath}/tokens`, '{"note": "a visitor"}', headers)
      const text = await response.body.text()
      if (response.status !== 201) throw new HubRefusal('a token', response.status, wordsOf(text))
      this.#token = (JSON.parse(text) as { token: string }).token
    }
    return this.#token
  }

  get #userPath(): string {
    return `/hub/api/users/${encodeURIComponent(this.username)}`
  }

  async #api(method: string, path: string, body: object | undefined, expected: readonly number[]) {
    const headers = { ...(await this.#authorization()), 'content-type': 'application/json' }
    const response = await this.#send(method, join(this.#userPath, path), body && JSON.stringify(body), headers)
    const text = await response.body.text()
    if (expected.includes(response.status)) return { status: response.status, text }
    throw new HubRefusal(`${method} ${path}`, response.status, wordsOf(text))
  }

  async #authorization(): Promise<{ authorization: string }> {
    return { authorization: `token ${await this.token()}` }
  }

  #xsrf(): string {
    return this.#cookies.value(new URL('/hub/', this.#url), '_xsrf') ?? ''
  }

  async #page(path: string): Promise<{ status: number; text: string; url: string }> {
    let url = new URL(path, this.#url)
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      const response = await this.#send('GET', url, undefined, {})
      const text = await response.body.text()
      const { location } = response
      if (location === undefined) return { status: response.status, text, url: url.href }
      url = new URL(location, url)
    }
    throw new Error(`${path} redirects for ever`)
  }

  /** The Hub answers an accepted form with a redirect, and a refused one with the same page and a message. */
  async #post(path: string, fields: Readonly<Record<string, string>>): Promise<void> {
    const body = new URLSearchParams({ ...fields, _xsrf: this.#xsrf() })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const response = await this.#send('POST', path, body.toString(), headers)
    const text = await response.body.text()
    if (response.status !== 302) throw new HubRefusal(`POST ${path}`, response.status, wordsOf(text))
  }

  /** Not by `fetch`, which sets `Sec-Fetch-Mode` as a page's script does: those requests get no cookies. */
  async #send(method: string, path: string | URL, body: string | undefined, headers: Record<string, string>) {
    const url = new URL(path, this.#url)
    const withCookies = { ...headers, cookie: this.#cookies.header(url) }
    const options = { method, headers: withCookies, signal: this.#signal ?? null, ...(body !== undefined && { body }) }
    const response = await request(url, options)
    this.#cookies.take(url, [response.headers['set-cookie'] ?? []].flat())
    return { status: response.statusCode, location: [response.headers.location].flat()[0], body: response.body }
  }
}

const join = (base: string, path: string) => (path === '' ? base : `${base}/${path}`)

/** The readable part of an answer: JSON's message, or a page's text without head and scripts. */
export function wordsOf(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: string }).message)
  } catch {
    return text
      .replace(/<(head|script|style|nav)\b[\s\S]*?<\/\1>/g, ' ')
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim()
      .slice(0, 2000)
  }
}
