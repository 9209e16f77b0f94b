/** How the OpenAPI document says who may ask; what that is depends on where identities come from (docs/identity.md). */
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Scope } from '../../base/domain.ts'
import type { Config } from '../../config/schema.ts'
import type { ApiEnv } from '../request/env.ts'

type IdentityConfig = Config['identity']

/** Any one of these ways to say who is asking; all that one names must be there. */
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
    ingressUser: header('X-Auth-Request-User', 'Of the ingress: the user.'),
    ingressToken: header('X-Auth-Request-Token', 'Of the ingress: the user’s notebook token, on routes of users.'),
    ingressSecret: header(
      'X-Skylab-Ingress-Secret',
      'Of the ingress: the secret that it shares with Skylab, another one for users and for administrators.',
    ),
  },
} as const

/** What a route with this scope asks for. */
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

export function addSecuritySchemes(app: OpenAPIHono<ApiEnv>, { provider }: IdentityConfig): void {
  for (const [name, scheme] of Object.entries(schemes[provider])) {
    app.openAPIRegistry.registerComponent('securitySchemes', name, scheme)
  }
}
