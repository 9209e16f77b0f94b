/** REST of tenants as people call it: with a token, at one of several replicas. */
import type { Identity } from '../../../src/base/domain.ts'

export interface RestAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly body: any
  readonly headers: Headers
}

/** Entries of a file of tokens: the token of `ann` is `ann-token`. */
export const tokensOf = (people: Readonly<Record<string, readonly string[]>>) => ({
  tokens: Object.entries(people).map(([username, groups]) => ({
    ...{ username, token: `${username}-token`, scopes: ['exec:notebook'] },
    groups: groups.map(name => ({ name })),
  })),
})

/** Calls a route under /tenants/v1. */
export async function callRest(
  url: string,
  method: string,
  path: string,
  who: Identity['username'] | undefined,
  { body, headers = {} }: { readonly body?: object; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<RestAnswer> {
  const response = await fetch(`${url}/tenants/v1${path}`, {
    method,
    headers: {
      ...(who !== undefined && { authorization: `Bearer ${who}-token` }),
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  const { status } = response
  // A stream may never end.
  if (response.headers.get('content-type') === 'text/event-stream') {
    await response.body?.cancel()
    return { status, body: undefined, headers: response.headers }
  }
  const text = await response.text()
  return { status, body: text === '' ? undefined : JSON.parse(text), headers: response.headers }
}

export interface StreamedEvent {
  readonly id: string | undefined
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly data: any
}

/** Reads the events of a tenant until one of them is as wished. */
export async function follow(
  url: string,
  name: string,
  who: string,
  isLast: (event: StreamedEvent) => boolean,
  lastEventId?: string,
): Promise<StreamedEvent[]> {
  const response = await fetch(`${url}/tenants/v1/${name}/events`, {
    headers: { authorization: `Bearer ${who}-token`, ...(lastEventId && { 'last-event-id': lastEventId }) },
    signal: AbortSignal.timeout(20_000),
  })
  if (response.status !== 200) throw new Error(`events of ${name}: ${response.status} ${await response.text()}`)
  const events: StreamedEvent[] = []
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop()!
    for (const block of blocks) {
      const field = (of: string) => new RegExp(`^${of}: (.*)$`, 'm').exec(block)?.[1]
      const [event, data] = [field('event'), field('data')]
      if (event === undefined || data === undefined) continue
      events.push({ id: field('id'), event, data: JSON.parse(data) })
      // To leave the loop cancels the stream.
      if (isLast(events.at(-1)!)) return events
    }
  }
  return events
}
