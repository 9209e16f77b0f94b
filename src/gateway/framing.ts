/** Rules of one connection only: how heads frame bodies, and which headers end at the gateway. Pure. */
import { lowerOf, remembered } from '../base/remembered.ts'
import type { HeaderList } from '../base/request-head.ts'

/** The part of a request that framing reads. */
export interface RequestHead {
  readonly method?: string | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** The pump writes its own. `content-length` is missing: an answer keeps it. */
const ofOneConnection = new Set([
  ...['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'te', 'upgrade', 'http2-settings'],
])
const framing = new Set([...ofOneConnection, 'content-length', 'expect'])
/** By a name as it came: one search in place of two for each header. */
const framesRequest = remembered(name => framing.has(name.toLowerCase()))
/** Node sends no framing for these where there is no body; for others it would send chunks. */
const bodiless = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'])

/**
 * @returns the list without headers of one connection, and with the framing of the request's body; undefined for a
 * coding that the pump would not undo
 */
export function requestHeaders(list: HeaderList, { method = '', headers }: RequestHead): string[] | undefined {
  const kept = withoutFraming(list)
  const coding = headers['transfer-encoding']
  const length = headers['content-length']
  if (coding !== undefined) {
    if (!isChunked(coding)) return undefined
    kept.push('Transfer-Encoding', 'chunked')
  } else if (length !== undefined) kept.push('Content-Length', String(length))
  else if (!bodiless.has(method)) kept.push('Content-Length', '0')
  if (headers.expect !== undefined) kept.push('Expect', '100-continue')
  return kept
}

/** @returns the list for a request that asks for another protocol, which has no body */
export const upgradeHeaders = (list: HeaderList, protocol: string, method = 'GET'): string[] => [
  ...withoutFraming(list),
  ...(bodiless.has(method) ? [] : ['Content-Length', '0']),
  ...['Connection', 'Upgrade', 'Upgrade', protocol],
]

/** @returns whether a body follows the head */
export const hasBody = ({ headers }: RequestHead): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

/**
 * @returns the headers of an answer without those of one connection; undefined where its body has a coding that the
 * client did not ask for
 */
export function answerHeaders(status: number, list: HeaderList): string[] | undefined {
  let named: Set<string> | undefined
  for (let i = 0; i < list.length; i += 2) {
    const name = lowerOf(list[i]!)
    if (name === 'transfer-encoding' && !isChunked(list[i + 1]!)) return undefined
    if (name !== 'connection') continue
    named ??= new Set()
    for (const option of list[i + 1]!.split(',')) named.add(lowerOf(option.trim()))
  }
  const hasLength = status >= 200 && status !== 204
  const kept: string[] = []
  for (let i = 0; i < list.length; i += 2) {
    const name = lowerOf(list[i]!)
    // An app cannot hide where its body ends.
    const isKept = name === 'content-length' ? hasLength : !ofOneConnection.has(name) && !named?.has(name)
    if (isKept) kept.push(list[i]!, list[i + 1]!)
  }
  return kept
}

/** @returns a head as bytes of latin1, as it came */
export function headText(line: string, list: HeaderList): string {
  let text = `${line}\r\n`
  for (let i = 0; i < list.length; i += 2) text += `${list[i]}: ${list[i + 1]}\r\n`
  return `${text}\r\n`
}

const isChunked = (coding: string | string[]) => String(coding).trim().toLowerCase() === 'chunked'

function withoutFraming(list: HeaderList): string[] {
  const kept: string[] = []
  for (let i = 0; i < list.length; i += 2) if (!framesRequest(list[i]!)) kept.push(list[i]!, list[i + 1]!)
  return kept
}
