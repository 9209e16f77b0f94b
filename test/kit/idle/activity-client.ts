/** A person who calls the routes of activity: raw answers, and streams of events. */
import { EventSourceParserStream } from 'eventsource-parser/stream'
import type { WorkloadView } from '../../../src/idle/rest/service.ts'
import type { Conformance } from '../api/conformance.ts'
import type { Answer, ErrorBody } from '../fleet/client.ts'

export interface ActivityRequest {
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; text is sent as it is. */
  readonly body?: unknown
}

/** An event of activity. */
export interface ActivityEvent {
  readonly id: string | undefined
  readonly event: string
  readonly data: Readonly<Record<string, string>>
}

export interface ActivityStream {
  /** Resolves with the first event from here on that is the one, and all before it. */
  until(isLast: (event: ActivityEvent) => boolean): Promise<readonly ActivityEvent[]>
  close(): Promise<void>
}

const limitMs = 60_000

export class ActivityClient {
  readonly #url: () => string
  readonly #token: string | undefined
  readonly #conformance: Conformance | undefined

  /** @param url of the next request @param conformance checks every answer */
  constructor(url: () => string, token: string | undefined, conformance?: Conformance) {
    this.#url = url
    this.#token = token
    this.#conformance = conformance
  }

  /** @param path below `/activity`, such as `/v1/lab/ada` */
  async ask<Body = ErrorBody>(method: string, path: string, request: ActivityRequest = {}): Promise<Answer<Body>> {
    const response = await this.#fetch(method, path, request)
    const { status, headers } = response
    const isStream = headers.get('content-type') === 'text/event-stream'
    if (isStream) await response.body?.cancel()
    const text = isStream ? undefined : await response.text()
    this.#conformance?.check({ method, path: `/activity${path}`, status, headers, text })
    return { status, headers, body: (text ? JSON.parse(text) : undefined) as Body }
  }

  /** @returns what is known of a workload; undefined if it neither runs nor was stopped */
  async find(path: string): Promise<WorkloadView | undefined> {
    const { status, body } = await this.ask<WorkloadView>('GET', path)
    if (status !== 200 && status !== 404) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`)
    return status === 200 ? body : undefined
  }

  /** Opens a stream: from now on, or after an event. */
  async events(path: string, lastEventId?: string): Promise<ActivityStream> {
    const end = new AbortController()
    const headers: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    const signal = AbortSignal.any([end.signal, AbortSignal.timeout(limitMs)])
    const response = await this.#fetch('GET', path, { headers }, signal)
    if (response.status !== 200) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`)
    const reader = response
      .body!.pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())
      .getReader()
    return {
      async until(isLast) {
        const events: ActivityEvent[] = []
        while (true) {
          const { value } = await reader.read()
          if (!value) throw new Error(`${path} ended after ${JSON.stringify(events)}`)
          const { id, event = '', data } = value
          events.push({ id, event, data: JSON.parse(data) })
          if (isLast(events.at(-1)!)) return events
        }
      },
      async close() {
        end.abort()
        await reader.cancel().catch(() => {})
      },
    }
  }

  #fetch(method: string, path: string, { headers, body }: ActivityRequest, signal?: AbortSignal): Promise<Response> {
    return fetch(`${this.#url()}/activity${path}`, {
      method,
      redirect: 'manual',
      signal: signal ?? AbortSignal.timeout(limitMs),
      headers: {
        ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  }
}
