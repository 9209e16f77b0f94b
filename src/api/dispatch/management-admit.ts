/** Admits callers with the token of the configuration to the routes of operators, as in Arvados. */
import { createMiddleware } from 'hono/factory'
import type { Identity } from '../../base/domain.ts'
import { ApiError } from '../../base/errors.ts'
import { isSame } from '../../dispatch/tags.ts'
import { bearerToken } from '../../identity/provider.ts'
import type { Admission } from '../bounds/admit.ts'
import { declaredBytes } from '../bounds/body.ts'
import type { ApiEnv } from '../request/env.ts'
import { tooLarge } from '../request/errors.ts'
import { queryValues } from '../request/query.ts'
import { dispatchDraft } from './audit.ts'

/** All operators together; no name of a user has a colon. */
const operators: Identity = { username: ':operators', token: '', scopes: ['admin:jupyterlab'], groups: [] }

/** Middleware: 401 without a token, 403 with another one or where the site has none, 429. */
export function admitOperator(token: string | undefined, { rates }: Pick<Admission, 'rates'>) {
  return createMiddleware<ApiEnv>(async function admitOperator(c, next) {
    const shown = bearerToken(c.req.raw.headers)
    // A site without a token has no operators, whatever is shown: that is the first answer, as in Arvados.
    if (token === undefined) throw forbidden('the management API is off: dispatch.managementTokenFile is not set')
    if (shown === undefined) throw missing()
    if (!isSame(shown, token)) throw forbidden('this is not the management token')
    dispatchDraft(c)?.isOperator()
    rates.take(c.req.method === 'POST' ? 'change' : 'read', operators)
    c.set('caller', operators)
    await next()
  })
}

/** Texts of a parameter, and a reason. */
const longestForm = 4096
const formType = /^application\/x-www-form-urlencoded[\t ]*(;|$)/i

/** Middleware after `withQuery`: Arvados takes parameters from a form too, as `curl -d` sends it. Any other body is ignored. */
export const withForm = createMiddleware<ApiEnv>(async function withForm(c, next) {
  if (!formType.test(c.req.header('content-type') ?? '')) return next()
  const bytes = declaredBytes(c)
  if (bytes === undefined || bytes > longestForm) tooLarge()
  const form = queryValues(await c.req.raw.text())
  const values: Record<string, string[]> = { ...c.req.queries() }
  for (const [name, those] of Object.entries(form)) values[name] = [...(values[name] ?? []), ...those]
  c.req.queries = (() => values) as typeof c.req.queries
  return next()
})

const loc = ['header', 'authorization']

const missing = () =>
  new ApiError(
    401,
    { msg: 'the management token is required', type: 'unauthorized', loc },
    { 'WWW-Authenticate': 'Bearer' },
  )

const forbidden = (msg: string) => new ApiError(403, { msg, type: 'forbidden', loc })

/** The value of a parameter that a request must have: 400, as in Arvados. */
export function required(name: string, value: string | undefined): string {
  if (value) return value
  throw new ApiError(400, { msg: `${name} parameter not provided`, type: 'missing', loc: ['query', name] })
}
