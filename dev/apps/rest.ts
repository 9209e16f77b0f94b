/** REST as people call it, with tokens of the OpenID provider. */
import { waitUntil } from '../process/api-client.ts'
import type { Name } from './people.ts'
import type { AppsSite } from './site.ts'

const limitMs = 20_000

export type RestSite = Pick<AppsSite, 'rest' | 'people'>

export interface RestAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: the demo reads what the document of the API has
  readonly body: any
}

/** Repeats what is answered 503: a controller that has just started does not know the cluster yet. */
export async function callRest(
  { rest, people }: RestSite,
  name: Name,
  [method, path]: readonly [string, string],
  body?: object,
): Promise<RestAnswer> {
  const headers = { Authorization: `Bearer ${people[name].token}`, ...(body && { 'Content-Type': 'application/json' }) }
  let answer: RestAnswer = { status: 503, body: undefined }
  const ask = async () => {
    const response = await fetch(`${rest}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    answer = { status: response.status, body: await response.json() }
    return answer.status !== 503
  }
  await waitUntil(ask, { what: `${method} ${path}`, limitMs }).catch(error => {
    throw new Error(`${error.message}: ${JSON.stringify(answer.body)}`)
  })
  return answer
}

/** Reads a text that goes on, until it has these words; then it ends the request. */
export async function readUntil(
  { rest, people }: RestSite,
  name: Name,
  path: string,
  { words, onOpen, signal }: { words: string; onOpen: () => Promise<unknown>; signal: AbortSignal },
): Promise<string> {
  const response = await fetch(`${rest}${path}`, { headers: { Authorization: `Bearer ${people[name].token}` }, signal })
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  const opened = onOpen()
  let text = ''
  const decoder = new TextDecoder()
  // To leave the loop ends the request.
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk, { stream: true })
    if (text.includes(words)) break
  }
  await opened
  if (!text.includes(words)) throw new Error(`${path}: ended without ${words}`)
  return text
}
