/** Describes authorization in the OpenAPI document, by the identity provider (docs/identity.md). */
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Scope } from '../../base/domain.ts'
import type { Config } from '../../config/schema.ts'
import type { ApiEnv } from '../request/env.ts'

type IdentityConfig = Config['identity']

/** Any one of these ways to authenticate; each needs all of its schemes. */
type Ways = Record<string, string[]>[]

const header = (name: string, description: string) => ({ type: 'apiKey', in: 'header', name, description }) as const

const scopes = 'Routes of users need the scope exec:notebook, those of administrators admin:jupyterlab.'

const schemes = {
  static: { bearer: { type: 'http', scheme: 'bearer', description: `A token from the operator. ${scopes}` } },
  oidc: {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: `A JSON Web Token of the configured issuer. ${scopes}`,
    },
  },
  gafaelfawr: {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: `A token of Gafaelfawr, shown to the ingress: it checks the scope, and adds the headers. ${scopes}`,
    },
    ingressUser: header('X-Auth-Request-User', 'From the ingress: the user.'),
    ingressToken: header('X-Auth-Request-Token', 'From the ingress: the user’s notebook token, on routes of users.'),
    ingressSecret: header(
      'X-Skylab-Ingress-Secret',
      'From the ingress: the secret that it shares with Skylab, different for users and administrators.',
    ),
  },
} as const

/** The demands of a route with this scope. */
export function requires({ provider, gafaelfawr }: IdentityConfig, scope: Scope): Ways {
  const byBearer = { bearer: [scope] }
  if (provider !== 'gafaelfawr') return [byBearer]
  const byIngress: Record<string, string[]> = {
    ingressUser: [],
    ...(scope === 'exec:notebook' && { ingressToken: [] }),
    ...(!gafaelfawr?.trustWithoutSecret && { ingressSecret: [] }),
  }
  return [byBearer, byIngress]
}

/** The demands of the routes that a lab itself uses. */
export function requiresLabToken({ provider, gafaelfawr }: IdentityConfig): Ways {
  const hasSecret = provider === 'gafaelfawr' && !gafaelfawr?.trustWithoutSecret
  return [{ labToken: [], ...(hasSecret && { ingressSecret: [] }) }]
}

/** Added with the first of those routes. */
export const labTokenScheme = {
  type: 'http',
  scheme: 'bearer',
  description: 'The content of the file `activity-token` in a lab. It is good for that lab alone, until the lab ends.',
} as const

export function addSecuritySchemes(app: OpenAPIHono<ApiEnv>, { provider }: IdentityConfig): void {
  for (const [name, scheme] of Object.entries(schemes[provider])) {
    app.openAPIRegistry.registerComponent('securitySchemes', name, scheme)
  }
}
