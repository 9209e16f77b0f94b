/** Bodies: how large, how many at once, and what they must be before anybody reads them. */
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

/** JSON has one character set; other parameters of the media type are no reason to refuse. */
const jsonType = /^application\/json[\t ]*(;|$)/i
const otherCharset = /;[\t ]*charset[\t ]*=[\t ]*(?!"?utf-8"?[\t ]*(;|$))/i

/**
 * Reads a body of JSON for the validators that come after it: 413, 415, 400 and 422 as `checkedJson`, 429 where the user
 * has another one on its way, 503 where the bodies of all requests would take too much memory.
 */
export function readJson(
  limits: BodyLimits,
  { requestsRefused }: Pick<Metrics, 'requestsRefused'>,
): MiddlewareHandler<ApiEnv> {
  const inFlight = new TotalLimit(limits.maxBodyBytesInFlight, 'bytes of bodies')
  const ofUser = new PerUserLimit(limits.maxBodiesPerUser, 'bodies', () => requestsRefused.inc({ kind: 'body' }))
  return createMiddleware<ApiEnv>(async function readJson(c, next) {
    requireJson(c)
    const declared = declaredBytes(c)
    if (declared !== undefined && declared > limits.maxBodyBytes) tooLarge()
    const leave = inFlight.enter(declared ?? limits.maxBodyBytes)
    try {
      const text = await alone(ofUser, c.get('caller').username, async () =>
        checkedJson(await bytesOf(c, declared, limits.maxBodyBytes), limits),
      )
      // Where the framework keeps what it has read itself; its types leave out that it waits for it.
      c.req.bodyCache.text = Promise.resolve(text) as never
      await next()
    } finally {
      leave()
    }
  })
}

/** Reads while no other body of this user is read. */
async function alone<T>(limit: PerUserLimit, username: string, read: () => Promise<T>): Promise<T> {
  const leave = limit.enter(username)
  try {
    return await read()
  } finally {
    leave()
  }
}

/** A body must say that it is JSON, also when it is empty. */
function requireJson(c: Context): void {
  const type = c.req.header('content-type') ?? ''
  const encoding = c.req.header('content-encoding')
  if (!jsonType.test(type) || otherCharset.test(type)) throw notJson()
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    const loc = ['header', 'content-encoding']
    throw new ApiError(415, { msg: 'the body must not be compressed', type: 'not_json', loc })
  }
}

/** The server holds a sender to the length that it declares, so that one is believed. */
/** Of a body, as its head says; undefined where it does not. */
export function declaredBytes(c: Context): number | undefined {
  const declared = c.req.header('content-length')
  return declared === undefined || c.req.header('transfer-encoding') !== undefined ? undefined : Number(declared)
}

async function bytesOf(c: Context, declared: number | undefined, maxBytes: number): Promise<ArrayBuffer | Uint8Array> {
  try {
    // To count a body while it is read a stream is made of it: 1 ms of each create.
    return declared === undefined ? await counted(c.req.raw.body, maxBytes) : await c.req.raw.arrayBuffer()
  } catch (error) {
    if (error instanceof ApiError) throw error
    // Cut by the server's own time-out, or by the sender: nobody is left to read this but the log.
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
    // Left unread, not cancelled: that would cut the connection before the answer is sent.
    if (bytes > maxBytes) tooLarge()
    chunks.push(next.value)
  }
}
