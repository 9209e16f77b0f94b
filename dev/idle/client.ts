/** A small client of the routes of activity. */
import { EventSourceParserStream } from 'eventsource-parser/stream'
import type { WorkloadView } from '../../src/idle/rest/service.ts'

/** An event of anybody's lab. */
export interface ActivityNews {
  readonly event: string
  readonly data: Readonly<Record<string, string>>
}

export interface ActivityClientOptions {
  readonly url: string
  readonly token: string
  readonly signal?: AbortSignal | undefined
}

export class ActivityClient {
  readonly #options: ActivityClientOptions

  constructor(options: ActivityClientOptions) {
    this.#options = options
  }

  /** Keeps one's own lab. */
  async keepAlive(username: string, seconds: number): Promise<void> {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ seconds })
    const response = await this.#ask(`v1/lab/${username}/keep-alive`, { method: 'POST', headers, body })
    await response.body?.cancel()
  }

  /** What is known of anybody's lab; an administrator's token is needed. */
  async find(username: string): Promise<WorkloadView> {
    return (await this.#ask(`admin/v1/lab/${username}`)).json() as Promise<WorkloadView>
  }

  /** Events of everybody from now on, until the signal is aborted; an administrator's token is needed. */
  async *events(): AsyncGenerator<ActivityNews> {
    const response = await this.#ask('admin/v1/events')
    const parsed = response.body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
    for await (const { event = '', data } of parsed) yield { event, data: JSON.parse(data) }
  }

  async #ask(path: string, init: RequestInit = {}): Promise<Response> {
    const { url, token, signal = null } = this.#options
    const headers = { ...init.headers, authorization: `Bearer ${token}` }
    const response = await fetch(`${url}/activity/${path}`, { ...init, headers, signal })
    if (!response.ok) throw new Error(`${init.method ?? 'GET'} ${path}: ${response.status} ${await response.text()}`)
    return response
  }
}
