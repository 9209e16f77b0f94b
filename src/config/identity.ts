/** The block `identity`: where it is known who is asking. A part of the schema in `schema.ts`. */
import { z } from 'zod'
import { address, hostName } from './values.ts'

const timeoutSeconds = z
  .number()
  .positive()
  .max(30)
  .default(5)
  .describe('of one question to the source, with the wait for its turn')

/** As browsers write it. */
const origin = z
  .string()
  .refine(text => URL.parse(text)?.origin === text, { error: 'not an origin, such as https://admin.example.org' })

const gafaelfawr = z.strictObject({
  baseUrl: address.describe('under which /auth/api/v1/user-info answers; https:// unless it is this machine'),
  userSecretFiles: z
    .array(z.string())
    .default([])
    .describe(
      'files with a secret each; a request that has one as X-Skylab-Ingress-Secret came through the ingress of users, and opens no route of administrators; any of them is taken, so that it can be changed',
    ),
  adminSecretFiles: z
    .array(z.string())
    .default([])
    .describe('the same for the ingress of administrators, whose requests open no route of users; other secrets'),
  userCertificateNames: z
    .array(hostName)
    .default([])
    .describe(
      'instead of secrets: names in the client certificate of the ingress of users, for which an authority of api.tls.clientCaFile vouches. A request over such a connection opens no route of administrators',
    ),
  adminCertificateNames: z
    .array(hostName)
    .default([])
    .describe('the same for the ingress of administrators, whose requests open no route of users; other names'),
  trustWithoutSecret: z
    .boolean()
    .default(false)
    .describe('take the headers of whoever reaches the port; only where a NetworkPolicy is known to hold'),
  pageOrigins: z
    .array(origin)
    .default([])
    .describe(
      'origins, such as https://admin.example.org, whose pages may create and delete labs from a browser; never one that labs share',
    ),
  cacheSeconds: z.number().min(0).max(60).default(5).describe('how long an answer about a token is believed'),
  maxCached: z.number().int().positive().default(2000).describe('answers kept at once; the oldest goes first'),
  timeoutSeconds,
  maxInFlight: z.number().int().positive().default(32).describe('requests of this replica at once; others wait'),
  maxWaiting: z
    .number()
    .int()
    .positive()
    .default(1024)
    .describe('how many may wait so; beyond them 503 at once, so that there is room for those who need no answer'),
  maxWaitingPerUser: z
    .number()
    .int()
    .positive()
    .default(32)
    .describe('requests of one user that may wait for an answer or share one; beyond them 429'),
})

/** The largest number that Kubernetes takes for a user or group. */
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

/** Signatures by which nobody who has only the public key can make a token. */
const rsa = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const
const curves = ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const
const algorithm = z.enum([...rsa, ...curves])

const claim = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)], {
  error: 'neither the name of a claim nor a list of names, from the outermost inwards',
})

const claims = z.strictObject({
  username: claim.default('sub').describe('a string; must be unique, and never be given to another person'),
  uid: claim.default('uid').describe('a number'),
  gid: claim.default('gid').describe('a number: the primary group'),
  groups: claim.default('groups').describe('a list of names, or of objects with name and, if there is one, id'),
  quota: claim.default('quota').describe('an object with cpu, memory in GiB, and spawn; all of them optional'),
  scopes: claim.default('scope').describe('a string with spaces, or a list'),
})

const oidc = z.strictObject({
  issuer: address.describe('as it stands in iss, to the letter; https:// unless it is this machine'),
  audience: z.string().min(1).describe('what must stand in aud'),
  algorithms: z.array(algorithm).min(1).default(['RS256']).describe('signatures that are taken, no other ones'),
  tokenType: z.string().min(1).optional().describe('what must stand in typ, such as at+jwt; default: anything'),
  authorizedParties: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'clients whose tokens are taken: azp and client_id, as far as they are there, must be among these; default: any',
    ),
  clockSkewSeconds: z.number().min(0).max(300).default(30).describe('by which exp and nbf may be missed'),
  keysCacheSeconds: z
    .number()
    .positive()
    .max(86_400)
    .default(600)
    .describe('how long keys are believed; from half of it on they are asked for again beside the requests'),
  keysCooldownSeconds: z
    .number()
    .min(1)
    .max(300)
    .default(5)
    .describe('a token of an unknown key has the keys asked for again, but not more often than this'),
  maxWaiting: z
    .number()
    .int()
    .positive()
    .default(32)
    .describe('requests with tokens of unknown keys that may wait for newer ones; beyond them 503 at once'),
  timeoutSeconds,
  claims: claims.prefault({}).describe('which claims say what'),
  groupScopes: z
    .record(z.string(), z.array(z.enum(['exec:notebook', 'admin:jupyterlab'])))
    .default({})
    .describe('scopes of the members of a group, beside those in the token'),
})

export const identity = z.strictObject({
  provider: z
    .enum(['static', 'gafaelfawr', 'oidc'])
    .default('static')
    .describe('where identities come from; the block of that name is required'),
  minUid: z
    .number()
    .int()
    .min(1)
    .max(maxId)
    .default(1000)
    .describe('the least UID with which somebody may have a lab; below are those of the system'),
  minGid: z
    .number()
    .int()
    .min(0)
    .max(maxId)
    .default(1000)
    .describe('the least GID of a group, primary or not, with which somebody may have a lab'),
  usernamePattern: pattern
    .optional()
    .describe(
      'regular expression that the whole name of a user must match to have a lab; default: with `lab.provisioning.runAsRoot` ' +
        'letters and digits of ASCII and `._@+-`, the first no mark but `_`; else any name',
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
/** Name of a claim, or the names that lead to it. */
export type ClaimPath = z.infer<typeof claim>
