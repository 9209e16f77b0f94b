/** Authorizes callers (docs/identity.md). */
import type { Context, Next } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { Identity, Scope } from '../../base/domain.ts'
import { ApiError } from '../../base/errors.ts'
import { SlotsByKey } from '../../base/slots.ts'
import { checkUsername } from '../../base/usernames.ts'
import { bearerToken, type IdentityProvider, unauthorized } from '../../identity/provider.ts'
import { within } from '../../telemetry/tracing.ts'
import { clientCertificateOf } from '../../tls/server.ts'
import type { ApiEnv, CommonParts } from '../request/env.ts'
import { jsonReaders } from './body.ts'
import { PerUserLimit } from './held.ts'
import { boundRequests, onceSent } from './in-flight.ts'
import { Rates, type UserRate } from './rates.ts'

/** Routes of users are open only to the user in the path; those of administrators accept any user. */
type Audience = 'user' | 'admin'

const scopes: Record<Audience, Scope> = { user: 'exec:notebook', admin: 'admin:jupyterlab' }

export interface AdmitParts {
  readonly identity: IdentityProvider
  readonly requests: PerUserLimit
  readonly rates: Rates
  /** Requests of one user take turns: while somebody sends many at once, those of everybody else come in between. */
  readonly turns: SlotsByKey
  /** `api.limits.maxUsernameBytes` */
  readonly maxUsernameBytes: number
}

type AdmissionParts = Pick<CommonParts, 'config' | 'identity' | 'clock' | 'metrics'>

/** Whether a token is that of the present lab of a user. @throws {RetryLater} when Redis does not answer */
export type VerifyLab = (username: string, token: string) => Promise<boolean>

/** The deepest field of a template is a reference in a variable of its container: 11 in REST, 12 in the variables of GraphQL. */
const templateDepth = 16

/** The middleware of all routes: limits count a user's requests, streams and bodies of all of them together. */
export type Admission = ReturnType<typeof admission>

export function admission({ config, identity, clock, metrics }: AdmissionParts) {
  const { limits } = config.api
  const { maxRequestsPerUser, maxTurnsPerUser, maxUsernameBytes } = limits
  const rates = new Rates({ rates: config.api.rates, clock, metrics })
  const requests = new PerUserLimit(maxRequestsPerUser, 'requests')
  const bodyOf = jsonReaders(limits, metrics)
  const parts = { identity, rates, requests, turns: new SlotsByKey(maxTurnsPerUser), maxUsernameBytes }
  return {
    asUser: admit('user', parts),
    asAdmin: admit('admin', parts),
    /** The admitted caller's identity by now, for answers that go on for long. */
    again: (c: Context<ApiEnv>, audience: Audience) => again(c, audience, identity),
    /** For routes that a lab itself uses. */
    asLab: (verify: VerifyLab) => admitLab(verify, parts),
    /** Charges a POST that is a change, after its admission, which counts it as a read. */
    asChange: createMiddleware<ApiEnv>(function asChange(c, next) {
      rates.take('change', c.get('caller'))
      return next()
    }),
    /** The same for one that makes something. */
    asCreate: createMiddleware<ApiEnv>(function asCreate(c, next) {
      rates.take('create', c.get('caller'))
      return next()
    }),
    /** Comes before all others. */
    bounded: boundRequests(limits.maxRequests),
    body: bodyOf(limits.maxJsonDepth),
    /** For bodies with the template of a pod in them. */
    deepBody: bodyOf(Math.max(limits.maxJsonDepth, templateDepth)),
    rates,
  }
}

/** Middleware for the routes of an audience: 401, 403, 422 for a bad user name, 429; then sets `caller`. */
export function admit(audience: Audience, parts: AdmitParts) {
  const { identity, rates, maxUsernameBytes } = parts
  return createMiddleware<ApiEnv>(async function admit(c, next) {
    const ask = () => identity.identify(c.req.raw.headers, scopes[audience], () => certificateOf(c))
    const caller = await within(c.get('origin').span, 'identify', {}, ask)
    noteCaller(c, caller)
    // Before any refusal, since refused requests cost as much.
    rates.take(kindOf(c.req.method), caller)
    if (!isRead(c.req.method)) identity.requireIntent?.(c.req.raw.headers)
    requireScope(caller, scopes[audience])
    const username = c.req.param('username')
    if (audience === 'user' && username !== undefined) requireSelf(caller, username)
    checkName(username, caller, maxUsernameBytes)
    await inTurn(c, next, caller, parts)
  })
}

/** As the source of identities knows him now, or as before while it does not say; undefined if it admits him no more. */
async function again(
  c: Context<ApiEnv>,
  audience: Audience,
  identity: IdentityProvider,
): Promise<Identity | undefined> {
  const before = c.get('caller')
  try {
    const now = await identity.identify(c.req.raw.headers, scopes[audience], () => certificateOf(c))
    return now.username === before.username && now.scopes.includes(scopes[audience]) ? now : undefined
  } catch (error) {
    return error instanceof ApiError && (error.status === 401 || error.status === 403) ? undefined : before
  }
}

/**
 * Middleware for routes with the user of a lab in their path, whose token is that of the lab: 401, 403 behind another ingress, 422
 * for a bad user name, 429; then sets `caller`, who has no scope. No cookie counts here, so a page in a browser can do nothing.
 */
function admitLab(verify: VerifyLab, parts: AdmitParts) {
  const { identity, rates, maxUsernameBytes } = parts
  return createMiddleware<ApiEnv>(async function admitLab(c, next) {
    identity.requireLab?.(c.req.raw.headers, () => certificateOf(c))
    const token = bearerToken(c.req.raw.headers)
    if (token === undefined) throw unauthorized()
    const username = c.req.param('username') ?? ''
    checkUsername(username, maxUsernameBytes)
    if (!(await verify(username, token))) throw unauthorized()
    const caller: Identity = { username, token: '', scopes: [], groups: [] }
    noteCaller(c, caller)
    rates.take(kindOf(c.req.method), caller)
    await inTurn(c, next, caller, parts)
  })
}

const certificateOf = (c: Context<ApiEnv>) => clientCertificateOf(c.env?.incoming?.socket)

/** The operation and the line of the audit log that the request begins name the caller. */
function noteCaller(c: Context<ApiEnv>, caller: Identity): void {
  const origin = c.get('audit')?.identified(caller)
  if (origin) c.set('origin', origin)
}

async function inTurn(c: Context<ApiEnv>, next: Next, caller: Identity, parts: AdmitParts): Promise<void> {
  const { requests, rates, turns } = parts
  const leave = requests.enter(caller.username)
  try {
    c.set('caller', caller)
    if (rates.isPrivileged(caller)) return await next()
    await turns.run(caller.username, endTurn => {
      c.set('endTurn', endTurn)
      return next()
    })
  } finally {
    onceSent(c, leave)
  }
}

const isRead = (method: string) => method === 'GET' || method === 'HEAD'

/** A create counts as a read here. Its route counts it as a create, after a look at its Idempotency-Key. */
function kindOf(method: string): UserRate {
  return isRead(method) || method === 'POST' ? 'read' : 'change'
}

function requireScope(caller: Identity, scope: Scope): void {
  if (!caller.scopes.includes(scope)) {
    throw new ApiError(403, { msg: `the token lacks the scope ${scope}`, type: 'scope_missing' })
  }
}

/** A name that is not in the path is the token's, so the error has no `loc`. */
function checkName(inPath: string | undefined, caller: Identity, maxBytes: number): void {
  try {
    checkUsername(inPath ?? caller.username, maxBytes)
  } catch (error) {
    if (inPath !== undefined || !(error instanceof ApiError)) throw error
    throw new ApiError(
      error.status,
      error.detail.map(({ msg, type }) => ({ msg, type })),
    )
  }
}

function requireSelf(caller: Identity, username: string): void {
  if (caller.username !== username) {
    throw new ApiError(403, { msg: 'this is another user’s lab', type: 'other_user', loc: ['path', 'username'] })
  }
}
