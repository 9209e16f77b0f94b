/** The block `gateway`: the way from browsers to apps. */
import { z } from 'zod'
import { cidr, seconds } from './values.ts'

const count = (value: number) => z.number().int().positive().default(value)

export const gateway = z.strictObject({
  publicUrl: z
    .url({ protocol: /^https?$/, error: 'not an http:// or https:// address' })
    .optional()
    .describe('the public address of the platform, without a path; a process that runs the gateway needs it'),
  login: z
    .enum(['static'])
    .default('static')
    .describe('how people log in; `static`: a form for a token of `identity.static`, for demos and tests'),
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
