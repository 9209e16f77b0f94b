/** Bad input to the routes of activity, and the answers. For the test that sends it, and for docs/idle.md. Pure. */

export interface BadInput {
  /** For readers. */
  readonly sent: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below `/activity`. */
  readonly path: string
  /** A caller's name, or `lab` for the token of a lab; undefined: no token. */
  readonly who?: string
  readonly body?: string
  /** Default: that of JSON. */
  readonly bodyType?: string
  readonly status: number
  readonly type: string
  readonly loc?: readonly string[]
}

const keepText = (body: string) => ({ method: 'POST', path: '/v1/lab/rra/keep-alive', who: 'rra', body }) as const
const keep = (body: object) => keepText(JSON.stringify(body))
const seconds = { status: 422, type: 'invalid', loc: ['body', 'seconds'] } as const

export const badInput: readonly BadInput[] = [
  { sent: 'a keep-alive of 0 s', ...keep({ seconds: 0 }), ...seconds },
  { sent: 'one of less', ...keep({ seconds: -1 }), ...seconds },
  { sent: 'one of half a second', ...keep({ seconds: 0.5 }), ...seconds },
  { sent: 'one of more than a year', ...keep({ seconds: 31_536_001 }), ...seconds },
  { sent: 'one of `1e999`', ...keepText('{"seconds": 1e999}'), ...seconds },
  { sent: 'one as text', ...keep({ seconds: '60' }), ...seconds },
  { sent: 'one without a time', ...keep({}), ...seconds, type: 'missing' },
  {
    ...{ sent: 'one with an end of its own', ...keep({ seconds: 60, until: '2099-01-01T00:00:00Z' }), status: 422 },
    ...{ type: 'unknown_key', loc: ['body', 'until'] },
  },
  {
    ...{ sent: 'one with `seconds` twice', ...keepText('{"seconds": 1, "seconds": 86400}'), status: 422 },
    ...{ type: 'duplicate_key', loc: ['body', 'seconds'] },
  },
  { sent: 'a body that is no JSON', ...keepText('{'), status: 400, type: 'malformed', loc: ['body'] },
  {
    ...{ sent: 'a body of another type', ...keepText('seconds=60'), bodyType: 'text/plain' },
    ...{ status: 415, type: 'not_json', loc: ['header', 'content-type'] },
  },
  {
    ...{ sent: 'the path of another user’s lab', method: 'POST', path: '/v1/lab/hub/activity', who: 'rra' },
    ...{ status: 403, type: 'other_user', loc: ['path', 'username'] },
  },
  {
    ...{ sent: 'the path of another user’s notebook', method: 'POST', path: '/v1/notebook/blue/sky/activity' },
    ...{ who: 'rra', status: 404, type: 'unknown_workload' },
  },
  {
    ...{ sent: 'a path of administrators by a user', method: 'GET', path: '/admin/v1/lab', who: 'rra' },
    ...{ status: 403, type: 'scope_missing' },
  },
  {
    ...{ sent: 'a user name with a slash, encoded', method: 'GET', path: '/admin/v1/lab/a%2Fb', who: 'hub' },
    ...{ status: 422, type: 'invalid', loc: ['path', 'username'] },
  },
  {
    ...{ sent: 'a notebook whose name has a slash, encoded', method: 'GET', path: '/admin/v1/notebook/blue/a%2Fb' },
    ...{ who: 'hub', status: 422, type: 'invalid', loc: ['path', 'name'] },
  },
  {
    ...{ sent: 'a kind that does not exist', method: 'GET', path: '/admin/v1/pod/a', who: 'hub' },
    ...{ status: 404, type: 'not_found' },
  },
  {
    ...{ sent: 'the token of a lab on the path of another user', method: 'POST', path: '/lab/v1/hub/activity' },
    ...{ who: 'lab', status: 401, type: 'unauthorized', loc: ['header', 'authorization'] },
  },
  {
    ...{ sent: 'the token of a lab on a path of users', method: 'POST', path: '/v1/lab/rra/activity', who: 'lab' },
    ...{ status: 401, type: 'unauthorized', loc: ['header', 'authorization'] },
  },
  {
    ...{ sent: 'a user’s own token on the path of the lab', method: 'POST', path: '/lab/v1/rra/activity', who: 'rra' },
    ...{ status: 401, type: 'unauthorized', loc: ['header', 'authorization'] },
  },
]
