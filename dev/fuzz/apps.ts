/** The API of apps: members and strangers of a group, with apps that run on nodes of KWOK, are stopped, or cannot be. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { appsAccount } from '../../src/apps/probe.ts'
import { templateParent } from '../../src/apps/template.ts'
import { appParent, groupMark } from '../../src/apps/words.ts'
import type { KubeObject } from '../../src/base/domain.ts'
import { formatTokens } from '../../src/identity/tokens.ts'
import { startBox } from '../cluster/box-cluster.ts'
import type { Cluster } from '../cluster/types.ts'
import { bundle } from '../image/bundle.ts'
import { appsManifests } from '../kube/apps.ts'
import { waitUntil } from '../process/api-client.ts'
import { startRedis } from '../redis/redis.ts'
import { setup } from '../setup/setup.ts'
import type { ConfigInput } from '../stack/config.ts'
import { startBalancer } from '../stack/haproxy.ts'
import { Replica } from '../stack/replicas.ts'
import { rates, type SceneOptions, type SetupScene } from './scene.ts'

const namespace = 'skylab'
const group = 'physics'
const administrator = 'admin'
const keyPrefix = 'skylab-apps'
const kwok = { key: 'kwok.x-k8s.io/node', operator: 'Exists' as const }
const small = { limits: { cpu: 0.1, memory: '64Mi' }, nodeSelector: { type: 'kwok' }, tolerations: [kwok] }

const specs: Readonly<Record<string, object>> = {
  ...Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`runs-${index}`, {}])),
  stopped: { stop: true },
  broken: { instanceType: 'nowhere' },
}
/** In the namespace of the group, and not of it. */
const foreign = 'foreign'
const template = 'seed'
/** Definitions are served some seconds after they are applied. */
const servedLimitMs = 60_000

export const setupAppScene: SetupScene = async (progress, signal) => {
  await setup(['balancer'], progress, signal)
  const tools = await setup(['cluster', 'kubectl', 'redis'], progress, signal)
  return async options => {
    const { stateDir, replicas: count } = options
    const names = Array.from({ length: options.users }, (_, index) => `user-${index}`)
    const tokens = Object.fromEntries([...names, administrator].map(name => [name, `${name}-token`]))
    const box = { stateDir, tools, progress, signal, realNode: 'never', kwok: 1, audit: false } as const
    const [redis, program, cluster] = await Promise.all([
      progress.part('Redis', () => startRedis({ stateDir, keyPrefix, signal })),
      progress.part('program', () => bundle({ dir: join(stateDir, 'program') })),
      startBox(box),
    ])
    await progress.part('k8s/components/apps', () => prepare(cluster))
    const configFile = await configure(options, cluster, redis.programUrl, tokens)
    const replicas = await progress.part('replicas that serve apps', async () => {
      const started = Array.from({ length: count }, (_, index) =>
        Replica.start({ stateDir, configFile, name: `apps-${index + 1}`, program, say: progress.say }),
      )
      const all = await Promise.all(started)
      await Promise.all(all.map(replica => replica.ready(signal)))
      return all
    })
    const balancer = await startBalancer({ stateDir, program: tools.program('haproxy'), replicas })
    await makeApps(cluster, signal)
    const { [administrator]: admin, ...users } = tokens
    return {
      document: `${balancer.url}/apps/v1/openapi.json`,
      replicas,
      // Streams of apps do not end.
      timeoutSeconds: 3,
      people: { admin: admin!, users, apps: [...Object.keys(specs), foreign], templates: [template], groups: [group] },
    }
  }
}

/** Templates are in the namespace of the group. */
const binding = {
  ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding' },
  metadata: { name: 'skylab-apps-templates', namespace: group },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'skylab:apps:templates' },
  subjects: [{ kind: 'ServiceAccount', name: appsAccount, namespace }],
}

async function prepare(cluster: Cluster): Promise<void> {
  const space = (name: string) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, ...(name === group && { labels: groupMark }) },
    })
  await cluster.apply([namespace, group].map(space).join('\n---\n'))
  await cluster.apply(await appsManifests())
  await cluster.apply(JSON.stringify(binding))
}

async function configure(
  { stateDir }: SceneOptions,
  cluster: Cluster,
  url: string,
  tokens: Readonly<Record<string, string>>,
): Promise<string> {
  const config: ConfigInput = {
    ...{ run: ['apps'], api: { host: '127.0.0.1', rates }, redis: { url, keyPrefix } },
    kubernetes: { kubeconfig: await cluster.tokenKubeconfig(namespace, appsAccount), namespace },
    identity: { provider: 'static', static: { file: 'tokens.yaml' } },
    apps: { rest: { templateNamespace: group }, groups: { [group]: { namespace: group } }, instanceTypes: { small } },
  }
  const records = Object.entries(tokens).map(([username, token], index) => ({
    ...{ username, token, scopes: [username === administrator ? 'admin:jupyterlab' : 'exec:notebook'] },
    groups: index % 2 === 0 ? [{ name: group }] : [],
  }))
  const configFile = join(stateDir, 'skylab.yaml')
  await writeFile(configFile, stringify(config, { version: '1.1' }), { mode: 0o600 })
  await writeFile(join(stateDir, 'tokens.yaml'), formatTokens({ tokens: records }), { mode: 0o600 })
  return configFile
}

async function makeApps(cluster: Cluster, signal: AbortSignal): Promise<void> {
  const items = [...Object.entries(specs), [foreign, { groupName: 'others' }] as const].map(([name, spec]) =>
    JSON.stringify(appOf(name, spec)),
  )
  items.push(JSON.stringify(templateOf(template)))
  const apply = () =>
    cluster.apply(items.join('\n---\n')).then(
      () => true,
      () => false,
    )
  await waitUntil(apply, { what: 'the definition of apps', limitMs: servedLimitMs, signal })
}

const appOf = (name: string, spec: object): KubeObject => ({
  ...appParent,
  metadata: { name, namespace: group },
  spec: {
    ...{ groupName: group, httpPort: 8080, ...spec },
    ...podOf('example.org/app:1'),
  },
})

const templateOf = (name: string): KubeObject => ({
  ...{ ...templateParent, metadata: { name, namespace: group } },
  spec: {
    ...{ name, defaultEnvs: [{ name: 'A', defaultValue: 'a' }] },
    template: { spec: { ...podOf('example.org/app:1'), httpPort: 8080 } },
  },
})

const podOf = (image: string) => ({
  podTemplate: { spec: { containers: [{ name: 'main', image }] } },
  svcTemplate: { spec: { ports: [{ name: 'http', port: 8080, protocol: 'TCP', targetPort: 8080 }] } },
})
