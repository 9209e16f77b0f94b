/** The process for containers in an installation in the cluster: its configuration, its secrets, and its tokens of users. */
import { randomBytes } from 'node:crypto'
import { newKey } from '../../src/ssh/new-key.ts'
import { type ConfigInput, makeSealingKey } from '../stack/config.ts'
import type { PodCloud } from './cloud.ts'

const folder = '/etc/skylab/secrets'

export const dispatchConfig = ({
  parameters,
  initCommand,
}: Pick<PodCloud, 'parameters' | 'initCommand'>): ConfigInput => ({
  run: ['dispatch'],
  sealing: { keyFiles: [`${folder}/sealing.key`] },
  identity: { provider: 'static', static: { file: `${folder}/tokens.yaml` } },
  dispatch: {
    ...{ clusterId: 'zzzzz', tokenFile: `${folder}/dispatch.token`, managementTokenFile: `${folder}/management.token` },
    InstanceTypes: { small: { ProviderType: 'm5.large', VCPUs: 1, RAM: '4GiB', Price: 0.1 } },
    CloudVMs: {
      ...{ Driver: 'ec2', DriverParameters: parameters, ImageID: 'ami-12345678', TagSecret: 'hmac', MaxInstances: 2 },
      // Machines of the test cloud have no systemd.
      ...{ BootProbeCommand: 'test -e /run/boot.complete', InstanceInitCommand: initCommand },
      ...{ PollInterval: '1s', ProbeInterval: '1s', SyncInterval: '2s', TimeoutIdle: '3s', TimeoutShutdown: '2s' },
    },
    Containers: { DispatchPrivateKey: `${folder}/ssh.key`, RuntimeEngine: 'process' },
  },
})

/** Contents of the Secret skylab-dispatch, by the names of its files. */
export const dispatchSecrets = (): Readonly<Record<string, string>> => ({
  'sealing.key': makeSealingKey(),
  'dispatch.token': randomBytes(24).toString('hex'),
  'management.token': randomBytes(24).toString('hex'),
  'ssh.key': newKey().private,
})

const secret = (name: string, from?: string, to?: string) => ({
  secret: { name, ...(from && { items: [{ key: from, path: to }] }) },
})

/** A patch: its pods get the tokens of users, as the overlay `demo` gives them to the controller. Sources are one value. */
export const dispatchTokens = {
  patch: JSON.stringify({
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'skylab-dispatch', namespace: 'skylab' } },
    spec: { template: { spec: { volumes: [{ name: 'secrets', projected: { sources: sources() } }] } } },
  }),
} as const

function sources(): readonly object[] {
  return [
    secret('skylab-dispatch'),
    secret('skylab-redis', 'dispatch-password', 'redis.password'),
    secret('skylab-tokens', 'tokens.yaml', 'tokens.yaml'),
  ]
}
