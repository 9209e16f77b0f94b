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
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text), headers: response.headers }
}
