/** REST as people call it: with a token, at one of several replicas. */

export interface RestAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly body: any
  readonly headers: Headers
}

export interface RestRequest {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Entries of a file of tokens, by name and groups: the token of `ann` is `ann-token`. `root` is an administrator. */
export const tokensOf = (people: Readonly<Record<string, readonly string[]>>) => ({
  tokens: Object.entries(people).map(([username, groups]) => ({
    ...{ username, token: `${username}-token` },
    scopes: [username === 'root' ? 'admin:jupyterlab' : 'exec:notebook'],
    groups: groups.map(name => ({ name })),
  })),
})

/** @param url of the route */
export async function callRest(
  url: string,
  method: string,
  who: string | undefined,
  { body, headers = {} }: RestRequest = {},
): Promise<RestAnswer> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(who !== undefined && { authorization: `Bearer ${who}-token` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
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
  readonly data: string
}

/** Reads a stream of events until one of them is as wished, or the stream ends. */
export async function followRest(
  url: string,
  who: string,
  isLast: (event: StreamedEvent) => boolean,
  lastEventId?: string,
): Promise<StreamedEvent[]> {
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${who}-token`, ...(lastEventId && { 'last-event-id': lastEventId }) },
    signal: AbortSignal.timeout(20_000),
  })
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`)
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
      events.push({ id: field('id'), event, data })
      // To leave the loop cancels the stream.
      if (isLast(events.at(-1)!)) return events
    }
  }
  return events
}
