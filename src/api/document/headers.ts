/** Headers of answers for the OpenAPI document. */

/** A type, not an interface: the framework’s own has an index signature, which an interface lacks. */
export type Header = {
  readonly description: string
  readonly required: boolean
  readonly schema: { readonly type: 'string'; readonly pattern?: string; enum?: string[] }
  readonly example: string
}

export type Headers = Readonly<Record<string, Header>>

/** @param required false if the server may answer before the request has an id */
export function requestIdHeader(required = true): Header {
  return {
    description: 'the id by which logs name the request: the one that was sent, or a new one',
    required,
    schema: { type: 'string', pattern: '^[A-Za-z0-9_.:=+\\/\\-]{1,128}$' },
    example: '0b0f6f0e-3a52-4f0c-8f2b-8f7d1b8f6f55',
  }
}

export const retryAfterHeader: Header = {
  description: 'seconds after which to ask again',
  required: true,
  schema: { type: 'string', pattern: '^[0-9]+$' },
  example: '1',
}

export const etagHeader: Header = {
  description: 'the version of what is wished of the app, for `If-Match`; a new status does not change it',
  required: true,
  schema: { type: 'string', pattern: '^"[0-9A-Za-z.\\-]+"$' },
  example: '"0b0f6f0e-3a52-4f0c-8f2b-8f7d1b8f6f55.3"',
}

export const allowHeader: Header = {
  description: 'the methods that the route has',
  required: true,
  schema: { type: 'string', pattern: '^[A-Z]+(, [A-Z]+)*$' },
  example: 'GET, HEAD',
}

export const upgradeHeader: Header = {
  description: 'the protocol to ask for',
  required: true,
  schema: { type: 'string', enum: ['ssh'] },
  example: 'ssh',
}

export const authenticateHeader: Header = {
  description: 'which kind of token is expected',
  required: true,
  schema: { type: 'string', pattern: '^Bearer' },
  example: 'Bearer',
}

export function locationHeader(example: string): Header {
  return {
    description: 'path of the lab; a client need not follow it, and should not',
    required: true,
    schema: { type: 'string', pattern: '^\\/' },
    example,
  }
}

/** RFC 7240 */
export const appliedHeader: Header = {
  description: 'the preference that was applied',
  required: true,
  schema: { type: 'string', enum: ['return=minimal'] },
  example: 'return=minimal',
}

/** Headers of event streams: no proxy may cache or buffer them. */
export const streamHeaders: Headers = {
  'Cache-Control': {
    description: 'caches do not keep the stream',
    required: true,
    schema: { type: 'string', enum: ['no-cache'] },
    example: 'no-cache',
  },
  'X-Accel-Buffering': {
    description: 'asks balancers not to hold events back',
    required: true,
    schema: { type: 'string', enum: ['no'] },
    example: 'no',
  },
}

/** Headers with a constant value, by name and value. */
export function fixedHeaders(headers: Readonly<Record<string, string>>): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      { description: 'always the same', required: true, schema: { type: 'string', enum: [value] }, example: value },
    ]),
  )
}
