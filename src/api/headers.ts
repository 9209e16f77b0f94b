/** The headers of answers, as the OpenAPI document tells them. */

/** A type, not an interface: the framework’s own has an index, which an interface lacks. */
export type Header = {
  readonly description: string
  readonly required: boolean
  readonly schema: { readonly type: 'string'; readonly pattern?: string; enum?: string[] }
  readonly example: string
}

export type Headers = Readonly<Record<string, Header>>

/** @param required false where the server may answer before the request has got its id */
export function requestIdHeader(required = true): Header {
  return {
    description: 'the id by which logs name the request: the one sent, or one of ours',
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

export const allowHeader: Header = {
  description: 'the methods that the route has',
  required: true,
  schema: { type: 'string', pattern: '^[A-Z]+(, [A-Z]+)*$' },
  example: 'GET, HEAD',
}

export const authenticateHeader: Header = {
  description: 'how to say who is asking',
  required: true,
  schema: { type: 'string', pattern: '^Bearer' },
  example: 'Bearer',
}

export const locationHeader: Header = {
  description: 'path of the lab; it need not be followed',
  required: true,
  schema: { type: 'string', pattern: '^\\/' },
  example: '/nublado/spawner/v1/labs/ada',
}

/** Of event streams: nobody on the way keeps them or holds them back. */
export const streamHeaders: Headers = {
  'Cache-Control': {
    description: 'nobody keeps the stream',
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

/** Headers that never differ, by name and value. */
export function fixedHeaders(headers: Readonly<Record<string, string>>): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      { description: 'always the same', required: true, schema: { type: 'string', enum: [value] }, example: value },
    ]),
  )
}
