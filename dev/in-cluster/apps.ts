/** The configurations of the controller of apps and of gateways, for an installation in the cluster. */
import { controllerServiceIps } from '../kube/credentials.ts'
import type { ConfigInput } from '../stack/config.ts'

/** Where the gateways' Service answers, by its address: this machine does not know the cluster's names. */
export const gatewayUrl = `https://${controllerServiceIps['skylab-gateway']}:8080`

/** The group that has an app: ada's own. All others are strangers to it. */
export const appGroup = { name: 'ada', namespace: 'group-ada' } as const

export const appsConfig = (): ConfigInput => ({
  run: ['apps'],
  apps: { publicUrl: gatewayUrl, groups: { [appGroup.name]: { namespace: appGroup.namespace } } },
})

const tokensFile = '/etc/skylab/secrets/tokens.yaml'

export const gatewayConfig = (): ConfigInput => ({
  run: ['gateway'],
  identity: { provider: 'static', static: { file: tokensFile } },
  gateway: { publicUrl: gatewayUrl },
})

const secret = (name: string, key: string, path: string) => ({ secret: { name, items: [{ key, path }] } })

/** A patch: the pods of gateways get the tokens too, as the overlay `demo` gives them to the controller. Sources are one value. */
export const gatewayTokens = {
  patch: JSON.stringify({
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'skylab-gateway', namespace: 'skylab' } },
    spec: { template: { spec: { volumes: [{ name: 'secrets', projected: { sources: sources() } }] } } },
  }),
} as const

function sources(): readonly object[] {
  return [
    secret('skylab-redis', 'gateway-password', 'redis.password'),
    secret('skylab-tokens', 'tokens.yaml', 'tokens.yaml'),
  ]
}
