/** The block `identity`: the source of callers' identities. A part of the schema in `schema.ts`. */
import { z } from 'zod'
import { address, hostName } from './values.ts'

const timeoutSeconds = z
  .number()
  .positive()
  .max(30)
  .default(5)
  .describe('time for one request to the source, including the wait before it')

/** An origin in the form that browsers send. */
const origin = z
  .string()
  .refine(text => URL.parse(text)?.origin === text, { error: 'not an origin, such as https://admin.example.org' })

const gafaelfawr = z.strictObject({
  baseUrl: address.describe('base address of /auth/api/v1/user-info; https:// unless it is this machine'),
  userSecretFiles: z
    .array(z.string())
    .default([])
    .describe(
      'files with one secret each, which the ingress of users sends as X-Skylab-Ingress-Secret; such a request opens no route of administrators. Each of them is valid, so that you can change the secret',
    ),
  adminSecretFiles: z
    .array(z.string())
    .default([])
    .describe('the same for the ingress of administrators, with other secrets; its requests open no route of users'),
  labSecretFiles: z
    .array(z.string())
    .default([])
    .describe(
      'the same for the ingress of /activity/lab/v1, which asks for no token; needed only where labs report their activity. Its requests open no other route',
    ),
  userCertificateNames: z
    .array(hostName)
    .default([])
    .describe(
      'instead of secrets: names in the client certificate of the ingress of users, signed by an authority of api.tls.clientCaFile. Its requests open no route of administrators',
    ),
  adminCertificateNames: z
    .array(hostName)
    .default([])
    .describe('the same for the ingress of administrators, with other names; its requests open no route of users'),
  labCertificateNames: z
    .array(hostName)
    .default([])
    .describe('the same for the ingress of /activity/lab/v1, with other names; its requests open no other route'),
  trustWithoutSecret: z
    .boolean()
    .default(false)
    .describe('trust the headers of every client that reaches the port; only with an enforced NetworkPolicy'),
  pageOrigins: z
    .array(origin)
    .default([])
    .describe(
      'origins, such as https://admin.example.org, whose pages may create and delete labs; never the origin of labs',
    ),
  cacheSeconds: z.number().min(0).max(60).default(5).describe('how long an answer about a token is cached'),
  maxCached: z.number().int().positive().default(2000).describe('answers cached at once; the oldest is dropped first'),
  timeoutSeconds,
  maxInFlight: z.number().int().positive().default(32).describe('requests of this replica at once; others wait'),
  maxWaiting: z
    .number()
    .int()
    .positive()
    .default(1024)
    .describe('requests that may wait; beyond them 503 at once, so that other requests are not blocked'),
  maxWaitingPerUser: z
    .number()
    .int()
    .positive()
    .default(32)
    .describe('requests of one user that may wait for an answer or share one; beyond them 429'),
})

/** The largest number that Kubernetes accepts for a user or group. */
const maxId = 2 ** 31 - 1

const pattern = z.string().refine(isPattern, { error: 'not a regular expression' })

function isPattern(text: string): boolean {
  try {
    new RegExp(text, 'u')
    return true
  } catch {
    return false
  }
}

/** Asymmetric signatures: the public key alone cannot make a token. */
const rsa = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const
const curves = ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const
const algorithm = z.enum([...rsa, ...curves])

const claim = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)], {
  error: 'neither the name of a claim nor a list of names, from the outermost inwards',
})

const claims = z.strictObject({
  username: claim.default('sub').describe('a string; must be unique, and must never pass to another person'),
  uid: claim.default('uid').describe('a number'),
  gid: claim.default('gid').describe('a number: the primary group'),
  groups: claim.default('groups').describe('a list of names, or of objects with name and, if there is one, id'),
  quota: claim.default('quota').describe('an object with cpu, memory in GiB, and spawn; all of them optional'),
  scopes: claim.default('scope').describe('a string with spaces, or a list'),
})

const oidc = z.strictObject({
  issuer: address.describe('the exact value of iss; https:// unless it is this machine'),
  audience: z.string().min(1).describe('the required value in aud'),
  algorithms: z.array(algorithm).min(1).default(['RS256']).describe('the accepted signature algorithms'),
  tokenType: z.string().min(1).optional().describe('the required value of typ, such as at+jwt; default: any'),
  authorizedParties: z
    .array(z.string().min(1))
    .default([])
    .describe('clients whose tokens are accepted: azp and client_id, if present, must be in this list; default: any'),
  clockSkewSeconds: z.number().min(0).max(300).default(30).describe('tolerance for exp and nbf'),
  keysCacheSeconds: z
    .number()
    .positive()
    .max(86_400)
    .default(600)
    .describe('how long keys are cached; after half of it they are fetched again in the background'),
  keysCooldownSeconds: z
    .number()
    .min(1)
    .max(300)
    .default(5)
    .describe('minimum time between fetches of the keys for tokens with unknown keys'),
  maxWaiting: z
    .number()
    .int()
    .positive()
    .default(32)
    .describe('requests with tokens of unknown keys that may wait for newer ones; beyond them 503 at once'),
  timeoutSeconds,
  claims: claims.prefault({}).describe('names of the claims'),
  groupScopes: z
    .record(z.string(), z.array(z.enum(['exec:notebook', 'admin:jupyterlab'])))
    .default({})
    .describe('scopes of the members of a group, in addition to those in the token'),
})

export const identity = z.strictObject({
  provider: z
    .enum(['static', 'gafaelfawr', 'oidc'])
    .default('static')
    .describe('the source of identities; the block of that name is required'),
  minUid: z
    .number()
    .int()
    .min(1)
    .max(maxId)
    .default(1000)
    .describe('the lowest UID of a user with a lab; lower ones belong to the system'),
  minGid: z
    .number()
    .int()
    .min(0)
    .max(maxId)
    .default(1000)
    .describe('the lowest GID, primary or not, that a user with a lab may have'),
  usernamePattern: pattern
    .optional()
    .describe(
      'regular expression for the whole name of a user with a lab; default: any name, or with `lab.provisioning.runAsRoot` ' +
        'ASCII letters, digits and `._@+-`, not beginning with one of `.@+-`',
    ),
  static: z
    .strictObject({ file: z.string().describe('YAML: tokens with user, scopes, UID, GID, groups and quota') })
    .optional()
    .describe('tokens in a file, for demos and tests'),
  gafaelfawr: gafaelfawr.optional().describe('headers of an ingress that Gafaelfawr protects'),
  oidc: oidc.optional().describe('JSON Web Tokens of an OpenID provider'),
})

export type GafaelfawrConfig = z.infer<typeof gafaelfawr>
export type OidcConfig = z.infer<typeof oidc>
/** Name of a claim, or the path of names to it. */
export type ClaimPath = z.infer<typeof claim>
