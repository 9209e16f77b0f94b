/** The few things that the front reads in EC2's answers. They come from moto, without white space between the elements. */

/** The text of the first element of this name; undefined without one. */
export function textOf(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
}

export interface Items {
  /** What is before and after the items. */
  readonly before: string
  readonly after: string
  /** Each `<item>…</item>`. */
  readonly items: readonly string[]
}

/** The items of the first list of this name, apart; null without one. */
export function itemsOf(xml: string, list: string): Items | null {
  const open = `<${list}>`
  const start = xml.indexOf(open)
  if (start < 0) return null
  const begin = start + open.length
  const items: string[] = []
  const tags = /<(\/?)item>/g
  tags.lastIndex = begin
  let depth = 0
  let itemStart = begin
  let end = begin
  for (let match = tags.exec(xml); match; match = tags.exec(xml)) {
    if (depth === 0 && match.index !== end) break
    if (depth === 0) itemStart = match.index
    depth += match[1] ? -1 : 1
    if (depth > 0) continue
    end = tags.lastIndex
    items.push(xml.slice(itemStart, end))
  }
  return { before: xml.slice(0, begin), after: xml.slice(end), items }
}

const namespace = 'http://ec2.amazonaws.com/doc/2016-11-15'
const head = '<?xml version="1.0" encoding="utf-8"?>\n'

export interface Reply {
  readonly status: number
  readonly body: string
}

export const errorReply = (code: string, message: string, status = 400): Reply => ({
  status,
  body: `${head}<Response><Errors><Error><Code>${code}</Code><Message>${message}</Message></Error></Errors><RequestID>front</RequestID></Response>`,
})

/** A yes to TerminateInstances. */
export const terminatedReply = (ids: readonly string[]): Reply => ({
  status: 200,
  body: `${head}<TerminateInstancesResponse xmlns="${namespace}"><requestId>front</requestId><instancesSet>${ids
    .map(
      id =>
        `<item><instanceId>${id}</instanceId>${state('currentState', 32, 'shutting-down')}${state('previousState', 16, 'running')}</item>`,
    )
    .join('')}</instancesSet></TerminateInstancesResponse>`,
})

const state = (element: string, code: number, name: string) =>
  `<${element}><code>${code}</code><name>${name}</name></${element}>`

/** The same machine, in another state. */
export const inState = (item: string, code: number, name: string): string =>
  item.replace(/<instanceState>.*?<\/instanceState>/, state('instanceState', code, name))

/** The code of an error, or `ok`. */
export const outcomeOf = ({ status, body }: Reply): string =>
  status < 400 ? 'ok' : (textOf(body, 'Code') ?? String(status))
