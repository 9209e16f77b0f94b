/** Rules for the heads of requests beyond Node's parser, so that every reader reads a head in the same way. Pure. */
import type { IncomingMessage } from 'node:http'
import { ApiError } from './errors.ts'
import { lowerOf } from './remembered.ts'

/** Names and values in turn, as Node's `rawHeaders`. */
export type HeaderList = readonly string[]

/** What these rules read of a request. */
export type RequestHead = Pick<IncomingMessage, 'rawHeaders' | 'httpVersion' | 'headers' | 'url'>

export interface HeadLimits {
  readonly maxHeaders: number
  readonly maxTargetBytes: number
}

/** A name, an IPv4 address, or an IPv6 address in brackets; then an optional port. */
const authority = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/
const dotSegment = /\/(\.|%2e){1,2}(?=\/|$)/i

/**
 * @param single names in lower case of headers that must not repeat
 * @throws {ApiError} 400, 414, 431
 */
export function checkHead(head: RequestHead, limits: HeadLimits, single: ReadonlySet<string>): void {
  const { rawHeaders, url = '', httpVersion, headers } = head
  if (rawHeaders.length > 2 * limits.maxHeaders) throw malformed(431, 'there are too many headers', 'header')
  if (url.length > limits.maxTargetBytes) throw malformed(414, 'the path is too long', 'path')
  // The parser reads a line without a version as HTTP/0.9, which has no headers.
  if (!httpVersion.startsWith('1.')) throw malformed(400, 'only HTTP/1.1 and 1.0 are spoken')
  const repeated = repeatedOf(rawHeaders, single)
  if (repeated !== undefined) throw malformed(400, 'the header is repeated', 'header', repeated)
  if (headers.host !== undefined) checkAuthority(headers.host, 'header', 'host')
  else if (httpVersion !== '1.0') throw malformed(400, 'the header is missing', 'header', 'host')
}

/** @throws {ApiError} 400 unless the text is the name or address of a host, which every reader reads alike */
export function checkAuthority(text: string, ...loc: string[]): void {
  if (!authority.test(text)) throw malformed(400, 'not the name or address of a host', ...loc)
}

/** Whether a path changes when its dots are resolved. */
export const hasDotSegment = (path: string): boolean => dotSegment.test(path)

export function malformed(status: number, msg: string, ...loc: string[]): ApiError {
  return new ApiError(status, { msg, type: 'malformed', ...(loc.length > 0 && { loc }) })
}

function repeatedOf(rawHeaders: HeaderList, single: ReadonlySet<string>): string | undefined {
  // At most as many as there are such names.
  const seen: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = lowerOf(rawHeaders[i]!)
    if (!single.has(name)) continue
    if (seen.includes(name)) return name
    seen.push(name)
  }
  return undefined
}
