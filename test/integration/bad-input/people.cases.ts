/** Callers without the right to ask, and methods that routes do not have. */
import { type BadInput, create, createHead, head, join, prefix, type Sender } from './wire.ts'

const body = '{"options": {"image_type": "recommended"}}'
const own = `GET ${prefix}/user-status`
const length = `Content-Length: ${body.length}`
const json = 'Content-Type: application/json'

const auth = (what: string, status: number, ...headers: ((sender: Sender) => string)[]): BadInput => ({
  what,
  send: sender => head(own, undefined, ...headers.map(header => header(sender))),
  status,
})

export const tokens: BadInput[] = [
  auth('no token', 401),
  auth('an empty header', 401, () => 'Authorization:'),
  auth('a scheme without a token', 401, () => 'Authorization: Bearer'),
  auth('a token without a scheme', 401, ({ token }) => `Authorization: ${token}`),
  auth('another scheme', 401, ({ user, token }) => `Authorization: Basic ${btoa(`${user}:${token}`)}`),
  auth('a token that nobody has', 401, () => 'Authorization: Bearer nobody'),
  auth('a token with something behind it', 401, ({ token }) => `Authorization: Bearer ${token} x`),
  auth('a token that begins well', 401, ({ token }) => `Authorization: Bearer ${token.slice(0, -1)}`),
  auth(
    'two tokens in one header',
    401,
    ({ token, adminToken }) => `Authorization: Bearer ${token}, Bearer ${adminToken}`,
  ),
  auth(
    'two tokens in two headers',
    400,
    ({ token }) => `Authorization: Bearer ${token}`,
    ({ adminToken }) => `authorization: Bearer ${adminToken}`,
  ),
  auth('a token that is not ASCII', 401, () => 'Authorization: Bearer t\u00f6ken'),
  auth('a token named like a method', 401, () => 'Authorization: Bearer constructor'),
  auth('a token as a cookie', 401, ({ token }) => `Cookie: Authorization=${token}; token=${token}`),
  auth('a token for a proxy', 401, ({ token }) => `Proxy-Authorization: Bearer ${token}`),
  auth(
    'headers that an ingress sets',
    401,
    ({ user, token }) => `X-Auth-Request-User: ${user}\r\nX-Auth-Request-Token: ${token}`,
  ),
  auth('headers that an ingress sets, twice', 400, () => 'X-Auth-Request-User: ada\r\nX-Auth-Request-User: admin'),
  {
    what: 'a token in the query',
    send: ({ token }) => head(`${own}?access_token=${token}&token=${token}`, undefined),
    status: 401,
  },
  // Schemes are case-insensitive: the only error is that this user has no lab.
  auth('a scheme in small letters', 404, ({ token }) => `authorization: bearer ${token}`),
]

const asked = (what: string, status: number, by: (sender: Sender) => { token: string; line: string }): BadInput => ({
  what,
  send: sender => {
    const { token, line } = by(sender)
    return head(line, token)
  },
  status,
})
const posted = (what: string, status: number, by: (sender: Sender) => { token: string; user: string }): BadInput => ({
  what,
  send: sender => join(createHead(by(sender), json, length), body),
  status,
})

export const scopes: BadInput[] = [
  posted('another’s lab, to be created', 403, ({ token, other }) => ({ token, user: other.user })),
  posted('another’s lab, to be created by an administrator', 403, ({ adminToken, other }) => ({
    token: adminToken,
    user: other.user,
  })),
  posted('one’s own lab without the scope', 403, ({ noScope }) => noScope),
  posted('one’s own lab as an administrator only', 403, ({ adminOnly }) => adminOnly),
  posted('one’s own lab with another’s token', 403, ({ user, other }) => ({ token: other.token, user })),
  asked('another’s events', 403, ({ token, other }) => ({ token, line: `GET ${prefix}/labs/${other.user}/events` })),
  asked('one’s status as an administrator only', 403, ({ adminOnly }) => ({ token: adminOnly.token, line: own })),
  asked('one’s status without the scope', 403, ({ noScope }) => ({ token: noScope.token, line: own })),
  asked('all labs as a user', 403, ({ token }) => ({ token, line: `GET ${prefix}/labs` })),
  asked('one’s own lab by the route of administrators', 403, ({ token, user }) => ({
    token,
    line: `GET ${prefix}/labs/${user}`,
  })),
  asked('another’s lab to be deleted', 403, ({ token, other }) => ({
    token,
    line: `DELETE ${prefix}/labs/${other.user}`,
  })),
  asked('a lab to be deleted, that nobody has', 404, ({ adminToken }) => ({
    token: adminToken,
    line: `DELETE ${prefix}/labs/nobody`,
  })),
]

const method = (status: number, line: string, what = line.replace(prefix, '…')): BadInput => ({
  what,
  send: ({ adminToken }) => head(line, adminToken),
  status,
})

export const methods: BadInput[] = [
  method(405, `POST ${prefix}/labs`),
  method(405, `DELETE ${prefix}/labs`),
  method(405, `PUT ${prefix}/labs/nobody`),
  method(405, `PATCH ${prefix}/labs/nobody`),
  method(405, `GET ${prefix}/labs/admin/create`),
  method(405, `PUT ${prefix}/labs/admin/create`),
  method(405, `POST ${prefix}/labs/admin/events`),
  method(405, `POST ${prefix}/user-status`),
  method(405, `OPTIONS ${prefix}/user-status`),
  method(405, `TRACE ${prefix}/user-status`),
  method(405, `QUERY ${prefix}/user-status`),
  method(405, `PROPFIND ${prefix}/labs/nobody`),
  method(404, 'DELETE /metrics'),
  method(405, 'CONNECT skylab:443'),
  method(400, `BREW ${prefix}/user-status`, 'a method that does not exist'),
  method(400, `get ${prefix}/user-status`, 'a method in small letters'),
  method(400, 'OPTIONS *'),
  {
    what: 'another method by a header',
    send: ({ adminToken }) => head(`GET ${prefix}/labs/nobody`, adminToken, 'X-HTTP-Method-Override: DELETE'),
    status: 404,
  },
  { what: 'a GET with a body', send: ({ token }) => join(head(own, token, 'Content-Length: 5'), 'hello'), status: 404 },
  { what: 'a create that is a good one, but with no content type', send: create(body, 'X-Nothing: x'), status: 415 },
]
