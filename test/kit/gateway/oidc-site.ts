/** Gateways before a real OpenID provider. */
import { type ConfigInput, makeSealingKey } from '../../../dev/stack/config.ts'
import { gatewayClient, gatewaySecret, LoginIssuer } from '../identity/login-issuer.ts'
import { GatewaySite, origin } from './site.ts'

export interface OidcSite {
  readonly site: GatewaySite
  readonly issuer: LoginIssuer
  /** That seals what logins keep, in base64. */
  readonly key: string
  stop(): Promise<void>
}

export async function startOidcSite({
  gateways = 2,
  ...gateway
}: ConfigInput['gateway'] & { gateways?: number } = {}): Promise<OidcSite> {
  const issuer = await LoginIssuer.start(origin)
  issuer.people.set('ada', { groups: ['physics'] })
  issuer.people.set('grace', { groups: ['physics', 'chemistry'] })
  const keyFile = makeSealingKey()
  const site = await GatewaySite.start({
    gateways,
    files: { 'client.secret': `${gatewaySecret}\n`, 'gateway.key': keyFile },
    config: {
      identity: {
        provider: 'oidc',
        oidc: {
          ...{ issuer: issuer.url, audience: 'skylab', timeoutSeconds: 2 },
          claims: { username: 'preferred_username' },
        },
      },
      gateway: {
        ...{ login: 'oidc', keyFiles: ['gateway.key'] },
        oidc: { clientId: gatewayClient, clientSecretFile: 'client.secret', scopes: ['openid', 'exec:notebook'] },
        ...gateway,
      },
    },
  })
  const stop = async () => {
    await site.stop()
    await issuer.stop()
  }
  return { site, issuer, key: keyFile.trim(), stop }
}
