/** The one table of all that can go wrong, as the OpenAPI document tells it: status, occasion, headers and an example. */
import type { z } from '@hono/zod-openapi'
import type { ErrorDetail } from '../errors.ts'
import {
  allowHeader,
  authenticateHeader,
  type Header,
  type Headers,
  requestIdHeader,
  retryAfterHeader,
} from './headers.ts'
import { errorBody } from './schemas.ts'

interface Problem {
  readonly status: number
  readonly when: string
  readonly example: ErrorDetail
  readonly headers?: Headers
  /** Answered before a request has got its id. */
  readonly nameless?: true
}

const username = ['path', 'username']
const body = (...path: string[]) => ['body', ...path]

const table = {
  badRequest: {
    status: 400,
    when: 'the request is no well-formed HTTP',
    example: { msg: 'not a well-formed request', type: 'malformed' },
    nameless: true,
  },
  badHead: {
    status: 400,
    when: 'the path could be read in two ways, a header that counts once stands twice, or Host is missing or is not the name or address of a host',
    example: { msg: 'the path has dot segments', type: 'malformed', loc: ['path'] },
  },
  badJson: {
    status: 400,
    when: 'the body is no well-formed JSON in UTF-8',
    example: { msg: 'the body is not well-formed JSON in UTF-8', type: 'malformed', loc: body() },
  },
  badEventId: {
    status: 400,
    when: 'Last-Event-ID is not the id of an event',
    example: {
      msg: 'Last-Event-ID is not the id of an event',
      type: 'malformed',
      loc: ['header', 'last-event-id'],
    },
  },
  unauthorized: {
    status: 401,
    when: 'there is no token, or none that is known',
    example: { msg: 'a valid token is required', type: 'unauthorized', loc: ['header', 'authorization'] },
    headers: { 'WWW-Authenticate': authenticateHeader },
  },
  noScope: {
    status: 403,
    when: 'the token lacks the scope of the route',
    example: { msg: 'the token lacks the scope exec:notebook', type: 'scope_missing' },
  },
  otherUser: {
    status: 403,
    when: 'the user in the path is not the caller',
    example: { msg: 'this is another user’s lab', type: 'other_user', loc: username },
  },
  refusedToken: {
    status: 403,
    when: 'the source of identities refuses the token',
    example: { msg: 'the source of identities refuses this token', type: 'forbidden' },
  },
  badClaims: {
    status: 403,
    when: 'the token is valid, but what it says of its user cannot be used',
    example: { msg: 'the claim uid cannot be used', type: 'claim_unusable' },
  },
  noLabForYou: {
    status: 403,
    when: 'the caller’s quota, UID, GID, groups or name allow no lab, or none of this size or image',
    example: {
      msg: 'The size large is more than your quota allows: 4 CPUs of 2',
      type: 'forbidden',
      loc: body('options', 'size'),
    },
  },
  strongToken: {
    status: 403,
    when: 'labs get their user’s token, and that of the caller has the scope of administrators',
    example: {
      msg: 'Your token has the scope admin:jupyterlab, and this site puts tokens into labs',
      type: 'token_too_strong',
      loc: ['header', 'authorization'],
    },
  },
  ofPage: {
    status: 403,
    when: 'behind Gafaelfawr, a page in a browser asks for a change',
    example: { msg: 'the request comes from a page in a browser', type: 'forbidden', loc: ['header', 'origin'] },
  },
  noRoute: { status: 404, when: 'there is no such route', example: { msg: 'no such route', type: 'not_found' } },
  noLab: {
    status: 404,
    when: 'the user has no lab; for events, none whose events are kept',
    example: { msg: 'this user has no lab', type: 'unknown_user', loc: username },
  },
  wrongMethod: {
    status: 405,
    when: 'the route has other methods',
    example: { msg: 'method not allowed', type: 'method_not_allowed' },
    headers: { Allow: allowHeader },
  },
  slowRequest: {
    status: 408,
    when: 'the request took too long to arrive',
    example: { msg: 'the request took too long to arrive', type: 'malformed' },
    nameless: true,
  },
  cutBody: {
    status: 408,
    when: 'the body did not arrive',
    example: { msg: 'the body did not arrive', type: 'malformed', loc: body() },
  },
  labExists: {
    status: 409,
    when: 'the user has a lab that has not failed',
    example: { msg: 'A lab for ada exists', type: 'lab_exists' },
  },
  largeBody: {
    status: 413,
    when: 'the body is larger than `api.limits.maxBodyBytes`',
    example: { msg: 'the body is too large', type: 'too_large', loc: body() },
  },
  longTarget: {
    status: 414,
    when: 'path and query are longer than `api.limits.maxTargetBytes`',
    example: { msg: 'the path is too long', type: 'malformed', loc: ['path'] },
  },
  notJson: {
    status: 415,
    when: 'the body is not said to be JSON in UTF-8, or it is compressed',
    example: { msg: 'the body must be application/json', type: 'not_json', loc: ['header', 'content-type'] },
  },
  badExpectation: {
    status: 417,
    when: 'Expect is anything but 100-continue',
    example: { msg: 'only 100-continue can be expected', type: 'malformed', loc: ['header', 'expect'] },
    nameless: true,
  },
  badName: {
    status: 422,
    when: 'the name in the path, or the caller’s own where there is none, is none that a lab can have',
    example: { msg: 'The user name contains ":" or "/"', type: 'invalid', loc: username },
  },
  badField: {
    status: 422,
    when: 'a value is none that is taken, or means nothing here: a size, an image, an Idempotency-Key of another body',
    example: {
      msg: 'There is no such size, only small, medium, large',
      type: 'invalid',
      loc: body('options', 'size'),
    },
  },
  missingField: {
    status: 422,
    when: 'something is missing',
    example: { msg: 'is required', type: 'missing', loc: body('options') },
  },
  unknownField: {
    status: 422,
    when: 'there is a key that has no meaning',
    example: { msg: 'unknown key', type: 'unknown_key', loc: body('options', 'colour') },
  },
  longField: {
    status: 422,
    when: 'something is longer, or there is more of it, than `api.limits` permit',
    example: { msg: 'has more than 512 variables', type: 'too_long', loc: body('env') },
  },
  repeatedField: {
    status: 422,
    when: 'a key stands twice',
    example: { msg: 'the key stands twice', type: 'duplicate_key', loc: body('options', 'size') },
  },
  muchBody: {
    status: 422,
    when: 'the body has more properties and elements than `api.limits.maxJsonItems`',
    example: { msg: 'the body has more than 1024 properties and elements', type: 'too_large', loc: body() },
  },
  deepBody: {
    status: 422,
    when: 'the body is deeper than `api.limits.maxJsonDepth`',
    example: { msg: 'the body has more than 8 objects and lists within each other', type: 'too_deep', loc: body() },
  },
  tooManyUnanswered: {
    status: 429,
    when: 'the connection has too many requests that are not answered yet',
    example: { msg: 'too many requests at once on one connection', type: 'too_many' },
    headers: { 'Retry-After': retryAfterHeader },
    nameless: true,
  },
  tooMany: {
    status: 429,
    when: 'the user has as many requests, bodies or event streams at once as is permitted',
    example: { msg: 'too many requests at once', type: 'too_many' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  tooOften: {
    status: 429,
    when: 'the user has asked more often than `api.rates` permit; after `Retry-After` there is room for one request again',
    example: { msg: 'too many creates in a short time', type: 'too_often' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  largeHead: {
    status: 431,
    when: 'the headers are too large',
    example: { msg: 'the headers are too large', type: 'malformed' },
    nameless: true,
  },
  manyHeaders: {
    status: 431,
    when: 'there are too many headers',
    example: { msg: 'there are too many headers', type: 'malformed', loc: ['header'] },
  },
  internal: {
    status: 500,
    when: 'a fault of ours; the log has it under the request’s id',
    example: { msg: 'internal error', type: 'internal' },
  },
  misconfigured: {
    status: 500,
    when: 'a Secret or ConfigMap that the configuration gives to every lab is missing, incomplete or too large: nothing was accepted, and an administrator has to put it right',
    example: { msg: 'The Secret lab-secrets in the namespace skylab has no key db-password', type: 'misconfigured' },
  },
  busy: {
    status: 503,
    when: 'the replica has as many connections as it takes',
    example: { msg: 'this replica has too many connections', type: 'unavailable' },
    headers: { 'Retry-After': retryAfterHeader },
    nameless: true,
  },
  crowded: {
    status: 503,
    when: 'the replica has as many requests, event streams or bytes of bodies at once as it takes',
    example: { msg: 'this replica has too many requests at once', type: 'unavailable' },
    headers: { 'Retry-After': retryAfterHeader },
  },
  unavailable: {
    status: 503,
    when: 'Redis, Kubernetes or the source of identities does not answer, records are being compared with the cluster, or the registry was not read yet',
    example: { msg: 'the records are being compared with the cluster', type: 'unavailable' },
    headers: { 'Retry-After': retryAfterHeader },
  },
} as const satisfies Record<string, Problem>

export type ProblemName = keyof typeof table

const problems: Readonly<Record<ProblemName, Problem>> = table

/** What any route can answer, for want of a request or by a fault. */
export const anywhere = [
  'badRequest',
  'badHead',
  'slowRequest',
  'longTarget',
  'badExpectation',
  'tooManyUnanswered',
  'largeHead',
  'manyHeaders',
  'internal',
  'busy',
] as const satisfies ProblemName[]

/** What routes under the prefix answer beside it. */
export const underPrefix = [...anywhere, 'crowded'] as const satisfies ProblemName[]

const admitted = [
  'unauthorized',
  'refusedToken',
  'badClaims',
  'noScope',
  'badName',
  'tooMany',
  'tooOften',
  'unavailable',
] as const satisfies ProblemName[]

/** What those routes answer that ask who is there (`admit.ts`). */
export const forAdmins = [...underPrefix, ...admitted] as const
export const forUsers = [...forAdmins, 'otherUser'] as const

/** A response of the document: as the framework wants it. */
export interface Refusal {
  readonly description: string
  readonly headers: Record<string, Header>
  readonly content: { 'application/json': { schema: z.ZodType; examples: Record<string, object> } }
}

/** One response for each status that some of these problems have. */
export function refusals<Name extends ProblemName>(
  names: readonly Name[],
): { [Status in (typeof table)[Name]['status']]: Refusal } {
  const statuses = [...new Set(names.map(name => problems[name].status))].sort()
  const responses = statuses.map(status => {
    const those = names.filter(name => problems[name].status === status)
    return [status, refusal(Object.fromEntries(those.map(name => [name, problems[name]])))]
  })
  return Object.fromEntries(responses)
}

function refusal(those: Readonly<Record<string, Problem>>): Refusal {
  const list = Object.values(those)
  const common = { 'X-Request-ID': requestIdHeader(!list.some(({ nameless }) => nameless)) }
  const examples = Object.entries(those).map(([name, { when, example }]) => [
    name,
    { summary: when, value: { detail: [example] } },
  ])
  return {
    description: list.map(({ when }) => when).join('; or '),
    headers: Object.assign(common, ...list.map(({ headers }) => headers)),
    content: { 'application/json': { schema: errorBody, examples: Object.fromEntries(examples) } },
  }
}
