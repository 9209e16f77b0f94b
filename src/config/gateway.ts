/** The block `gateway`: the way from browsers to apps. */
import { z } from 'zod'
import { appDomain, cidr, seconds } from './values.ts'

const count = (value: number) => z.number().int().positive().default(value)

/** A scope by RFC 6749. */
const scope = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, { error: 'not a scope' })

/** Of a login, by OpenID Connect and PKCE. */
const ownParameters = [
  ...['client_id', 'client_secret', 'response_type', 'response_mode', 'redirect_uri', 'scope', 'state', 'nonce'],
  ...['code_challenge', 'code_challenge_method', 'request', 'request_uri'],
]

const oidc = z.strictObject({
  clientId: z.string().min(1).describe('how the issuer of `identity.oidc` knows the gateway'),
  clientSecretFile: z
    .string()
    .optional()
    .describe('a file with only the secret of this client; default: none, as for a public client'),
  clientAuthentication: z
    .enum(['client_secret_basic', 'client_secret_post'])
    .default('client_secret_basic')
    .describe('how the secret is sent'),
  scopes: z
    .array(scope)
    .default(['openid'])
    .refine(scopes => scopes.includes('openid'), { error: 'lacks openid' })
    .describe(
      'scopes of the request at each login; many issuers give a refresh token only for `offline_access`, and groups only for a scope of theirs',
    ),
  parameters: z
    .record(z.string().regex(/^[a-z_]{1,64}$/), z.string().max(512))
    .default({})
    .refine(parameters => ownParameters.every(name => !Object.hasOwn(parameters, name)), {
      error: 'has a parameter that the gateway itself sends',
    })
    .describe('what else is sent with each login, such as `prompt: consent` for `offline_access`'),
  maxInFlight: z.number().int().positive().default(16).describe('requests of this replica to the issuer at once'),
})

const gafaelfawr = z.strictObject({
  secretFiles: z
    .array(z.string())
    .default([])
    .describe(
      'files with one secret each, which the ingress of `/console/login` sends as X-Skylab-Ingress-Secret; no other ingress has it. Each of them is valid, so that you can change the secret',
    ),
})

export const gateway = z.strictObject({
  publicUrl: z
    .url({ protocol: /^https?$/, error: 'not an http:// or https:// address' })
    .optional()
    .describe('the public address of the platform, without a path; a process that runs the gateway needs it'),
  appDomain: appDomain.describe(
    'a domain below which each app has a host of its own, `<id>.<appDomain>`, at the port of `publicUrl`, so that browsers keep the scripts of apps apart; best one that is registered for this alone. The same as `apps.appDomain`. Default: all apps share the host of `publicUrl`',
  ),
  login: z
    .enum(['static', 'oidc', 'gafaelfawr'])
    .default('static')
    .describe(
      'how people log in; `static`: a form for a token of `identity.static`, for demos and tests; `oidc`: at the issuer of `identity.oidc`; `gafaelfawr`: by an ingress before `/console/login`',
    ),
  oidc: oidc.optional().describe('the client of the issuer, for `login: oidc`'),
  gafaelfawr: gafaelfawr.optional().describe('the ingress of the login, for `login: gafaelfawr`'),
  recheckSeconds: z
    .number()
    .min(0)
    .max(300)
    .default(60)
    .describe(
      'age after which the source of identities is asked again about a login that is used: its groups, and whether it still holds; 0: never. While the source is away, its last word holds for 300 s',
    ),
  keyFiles: z
    .array(z.string())
    .default([])
    .describe('files with 32 bytes in base64 each, which seal what logins keep; not those of `sealing`'),
  loginHours: z.number().positive().max(168).default(12).describe('life of a login'),
  sessionMinutes: z.number().positive().max(1440).default(30).describe('life of an app session without a request'),
  headSeconds: seconds(60).describe('time for an app to begin its answer'),
  idleSeconds: seconds(3600).describe('time without a byte after which an exchange ends'),
  drainSeconds: seconds(60).describe(
    'time over which WebSockets are closed when the process ends, after 5 s in which it still takes connections; `terminationGracePeriodSeconds` must be at least 20 s more',
  ),
  limits: z
    .strictObject({
      requestsPerApp: count(256).describe('requests to one app at once; further ones get 503'),
      requestsPerUser: count(32).describe(
        'requests of one user at once, streams too; without a login, of one address; further ones get 503',
      ),
      socketsPerApp: count(1024).describe('WebSockets to one app'),
      socketsPerUser: count(64).describe('WebSockets of one user; without a login, of one address'),
      connectionsPerApp: count(128).describe('connections to one app'),
      connections: count(20_000).describe('connections of clients'),
    })
    .prefault({})
    .describe('bounds of each replica'),
  activity: z
    .strictObject({
      anonymous: z.boolean().default(false).describe('whether requests without a login, to public apps, count as use'),
      ignorePaths: z
        .array(z.string().regex(/^\/[!-~]*$/, { error: 'not the beginning of a path, such as /healthz' }))
        .default([])
        .describe('beginnings of paths after the id of an app, such as `/healthz`, whose requests are no use'),
    })
    .prefault({})
    .describe('what counts as use of an app, where `idle` stops apps that nobody uses'),
  trustedProxies: z
    .array(cidr)
    .default([])
    .describe('CIDRs of proxies before the gateway, whose X-Forwarded-For is believed for logs and apps'),
})

export type GatewayConfig = z.infer<typeof gateway>
/** The client of the issuer. */
export type GatewayOidcConfig = z.infer<typeof oidc>
