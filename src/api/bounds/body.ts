/** Checks of request bodies before they are parsed: size, concurrency, type. */
import type { Context, MiddlewareHandler } from 'hono'
import { createMiddleware } from 'hono/factory'
import { ApiError } from '../../base/errors.ts'
import type { Limits } from '../../config/limits.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { ApiEnv } from '../request/env.ts'
import { notJson, tooLarge } from '../request/errors.ts'
import { PerUserLimit, TotalLimit } from './held.ts'
import { checkedJson } from './json.ts'

type BodyLimits = Pick<
  Limits,
  'maxBodyBytes' | 'maxBodyBytesInFlight' | 'maxBodiesPerUser' | 'maxJsonDepth' | 'maxJsonItems'
>

/** JSON has only one character set; other parameters of the media type are accepted. */
const jsonType = /^application\/json[\t ]*(;|$)/i
const otherCharset = /;[\t ]*charset[\t ]*=[\t ]*(?!"?utf-8"?[\t ]*(;|$))/i

/**
 * Reads a JSON body for the validators after it: 413, 415, 400 and 422 as `checkedJson`, 429 if the user is sending
 * another one, 503 if the bodies of all requests would take too much memory.
 */
export function readJson(limits: BodyLimits, metrics: Pick<Metrics, 'requestsRefused'>): MiddlewareHandler<ApiEnv> {
  return jsonReaders(limits, metrics)(limits.maxJsonDepth)
}

/** The same for routes of several depths, which share all other limits. */
export function jsonReaders(
  limits: BodyLimits,
  { requestsRefused }: Pick<Metrics, 'requestsRefused'>,
): (maxJsonDepth: number) => MiddlewareHandler<ApiEnv> {
  const inFlight = new TotalLimit(limits.maxBodyBytesInFlight, 'bytes of bodies')
  const perUser = new PerUserLimit(limits.maxBodiesPerUser, 'bodies', () => requestsRefused.inc({ kind: 'body' }))
  return maxJsonDepth =>
    createMiddleware<ApiEnv>(async function readJson(c, next) {
      requireJson(c)
      const declared = declaredBytes(c)
      if (declared !== undefined && declared > limits.maxBodyBytes) tooLarge()
      const leave = inFlight.enter(declared ?? limits.maxBodyBytes)
      try {
        const text = await alone(perUser, c.get('caller').username, async () =>
          checkedJson(await bytesOf(c, declared, limits.maxBodyBytes), { ...limits, maxJsonDepth }),
        )
        // The framework caches what it has read here. It awaits the value, which its types do not show.
        c.req.bodyCache.text = Promise.resolve(text) as never
        await next()
      } finally {
        leave()
      }
    })
}

/** Reads while no other body of this user is being read. */
async function alone<T>(limit: PerUserLimit, username: string, read: () => Promise<T>): Promise<T> {
  const leave = limit.enter(username)
  try {
    return await read()
  } finally {
    leave()
  }
}

/** A body must be declared as JSON, also if it is empty. */
function requireJson(c: Context): void {
  const type = c.req.header('content-type') ?? ''
  const encoding = c.req.header('content-encoding')
  if (!jsonType.test(type) || otherCharset.test(type)) throw notJson()
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    const loc = ['header', 'content-encoding']
    throw new ApiError(415, { msg: 'the body must not be compressed', type: 'not_json', loc })
  }
}

/** The length of a body in its head, which the server enforces; undefined without one. */
export function declaredBytes(c: Context): number | undefined {
  const declared = c.req.header('content-length')
  return declared === undefined || c.req.header('transfer-encoding') !== undefined ? undefined : Number(declared)
}

async function bytesOf(c: Context, declared: number | undefined, maxBytes: number): Promise<ArrayBuffer | Uint8Array> {
  try {
    // Counting a body while it is read needs a stream, which costs 1 ms per create.
    return declared === undefined ? await counted(c.req.raw.body, maxBytes) : await c.req.raw.arrayBuffer()
  } catch (error) {
    if (error instanceof ApiError) throw error
    // The server's time-out or the sender has cut the connection: only the log sees this error.
    throw new ApiError(408, { msg: 'the body did not arrive', type: 'malformed', loc: ['body'] })
  }
}

async function counted(body: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<Uint8Array> {
  const reader = body?.getReader()
  const chunks: Uint8Array[] = []
  let bytes = 0
  for (;;) {
    const next = await reader?.read()
    if (!next || next.done) return Buffer.concat(chunks)
    bytes += next.value.length
    // Not cancelled, which would cut the connection before the answer is sent.
    if (bytes > maxBytes) tooLarge()
    chunks.push(next.value)
  }
}
