/** Makes the identity provider that the configuration names. */
import type { Clock } from '../base/clock.ts'
import { createGafaelfawrIdentity } from '../identity/gafaelfawr.ts'
import { createOidcIdentity } from '../identity/oidc.ts'
import type { IdentityProvider } from '../identity/provider.ts'
import type { SourceOptions } from '../identity/source.ts'
import { createStaticIdentity } from '../identity/static.ts'
import type { Settings } from '../settings/load.ts'
import type { Logger } from '../telemetry/log.ts'

export interface IdentityParts {
  readonly clock: Clock
  readonly log: Logger
  readonly onRequest: SourceOptions['onRequest']
}

/** Makes the provider from checked settings. It does not contact its source before the first request. */
export function createIdentity(
  { config, tokens, ingressSecrets }: Pick<Settings, 'config' | 'tokens' | 'ingressSecrets'>,
  parts: IdentityParts,
): IdentityProvider {
  const { provider, gafaelfawr, oidc } = config.identity
  // The check of the configuration ensures that the block of the chosen provider exists.
  if (provider === 'gafaelfawr') return createGafaelfawrIdentity(gafaelfawr!, ingressSecrets, parts)
  if (provider === 'oidc') return createOidcIdentity(oidc!, parts)
  return createStaticIdentity(tokens, parts.log)
}
