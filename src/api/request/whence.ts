/** The origin of a request of the API. */
import type { Context } from 'hono'
import { type IsTrusted, type Source, sourceOf } from '../../base/source.ts'
import type { ApiEnv } from './env.ts'

/** The origin of a request, as `sourceOf` judges it. */
export const whence = (c: Context<ApiEnv>, isTrusted: IsTrusted): Source =>
  sourceOf(c.env?.incoming?.socket.remoteAddress, c.req.header('x-forwarded-for'), isTrusted)
