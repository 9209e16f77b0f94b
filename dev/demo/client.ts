/** A small client of the controller's API, such as a portal or a Hub would have. */
import { randomUUID } from 'node:crypto'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { LabEvent } from '../../src/base/domain.ts'

/** Limit for repeats of a request that no replica can take, for example during a compare of Redis with the cluster. */
const patienceMs = 30_000
const pauseMs = 1000

export interface ClientOptions {
  /** Address of the balancer or of one replica. */
  readonly url: string
  readonly token: string
  readonly signal?: AbortSignal | undefined
  readonly clock?: Clock | undefined
}

/** The part of a lab's status that the demo reads (SQR-066, "GET …/labs/<username>"). */
export interface LabStatusAnswer {
  readonly status: string
  readonly internal_url?: string
}

const terminal = new Set(['complete', 'failed'])

export class LabClient {
  readonly #options: ClientOptions
  readonly #clock: Clock
  readonly #base: string

  constructor(options: ClientOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#base = `${options.url}/nublado/spawner/v1`
  }

  /** Asks for a lab. The idempotency key makes a repeat after a lost answer the same creation. */
  async create(username: string, options: Readonly<Record<string, string>>): Promise<void> {
    const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() }
    const body = JSON.stringify({ options, env: {} })
    await this.#ask(`labs/${username}/create`, { method: 'POST', headers, body }, [303])
  }

  /** Deletes a lab; false when there is none. */
  async delete(username: string): Promise<boolean> {
    const response = await this.#ask(`labs/${username}`, { method: 'DELETE' }, [202, 404])
    return response.status === 202
  }

  /** The status of a lab; null without a lab. */
  async status(username: string): Promise<LabStatusAnswer | null> {
    const response = await this.#ask(`labs/${username}`, {}, [200, 404])
    return response.status === 404 ? null : JSON.parse(response.text)
  }

  /**
   * The events of the operation in progress, up to and including its last. A broken stream is continued after its last
   * event, by any replica that answers.
   */
  async *events(username: string): AsyncGenerator<LabEvent, void, undefined> {
    let lastEventId: string | undefined
    let retryMs = pauseMs
    for (;;) {
      const response = await this.#openStream(username, lastEventId)
      if (response?.status === 204) return
      const setRetry = (ms: number) => {
        retryMs = ms
      }
      for await (const event of response ? messages(response, setRetry) : []) {
        yield event
        if (terminal.has(event.event)) return
        lastEventId = event.id ?? lastEventId
      }
      await this.#clock.sleep(retryMs, this.#options.signal)
    }
  }

  /** Null when no replica can be asked right now. */
  async #openStream(username: string, lastEventId: string | undefined): Promise<Response | null> {
    const headers: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    const response = await this.#send(`labs/${username}/events`, { headers })
    if (response === null || response.status === 200 || response.status === 204) return response
    const text = await response.text()
    if (response.status >= 500) return null
    throw new Error(`GET events of ${username}: ${response.status} ${text}`)
  }

  async #ask(
    path: string,
    request: RequestInit,
    expected: readonly number[],
  ): Promise<{ status: number; text: string }> {
    const limitMs = this.#clock.monotonicMs() + patienceMs
    for (;;) {
      const response = await this.#send(path, request)
      const text = (await response?.text()) ?? 'no answer'
      if (response && expected.includes(response.status)) return { status: response.status, text }
      const mayPass = response === null || response.status >= 502
      if (!mayPass || this.#clock.monotonicMs() > limitMs) {
        throw new Error(`${request.method ?? 'GET'} ${path}: ${response?.status ?? ''} ${text}`)
      }
      await this.#clock.sleep(pauseMs, this.#options.signal)
    }
  }

  /** Null when the connection was refused or broke. */
  async #send(path: string, request: RequestInit): Promise<Response | null> {
    const { token, signal } = this.#options
    const headers = { ...request.headers, authorization: `Bearer ${token}` }
    try {
      return await fetch(`${this.#base}/${path}`, { ...request, headers, redirect: 'manual', signal: signal ?? null })
    } catch {
      signal?.throwIfAborted()
      return null
    }
  }
}

/** The events of one response; a broken response ends like a closed one. */
async function* messages(response: Response, onRetry: (ms: number) => void): AsyncGenerator<LabEvent> {
  if (!response.body) return
  const parser = new EventSourceParserStream({ onRetry })
  const reader = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(parser).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }) as const)
      if (done) return
      const event = value.event as LabEvent['event']
      yield { event, data: value.data, ...(value.id !== undefined && { id: value.id }) }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
