/** A cluster of k3s in one container, with nodes of KWOK beside it. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { K3sContainer, type StartedK3sContainer } from '@testcontainers/k3s'
import { getContainerRuntimeClient } from 'testcontainers'
import { stringify } from 'yaml'
import { auditFlags, auditPolicy, controllerRates, namespaceFlags } from '../kube/control-plane.ts'
import { createKubectl, type Kubectl } from '../kube/kubectl.ts'
import { startKwok } from '../kube/kwok.ts'
import { ApiClient, waitUntil } from '../process/api-client.ts'
import { logConsumer } from '../process/containers.ts'
import { clusterFolder, takeDown } from '../run/teardown.ts'
import { clusterImage } from '../setup/versions.ts'
import { clusterBasics } from './basics.ts'
import type { Cluster, ClusterOptions } from './types.ts'

/** Paths in the container. The log's folder is shared with the run, where tests read it. */
const audit = { policy: '/etc/skylab/audit-policy.json', folder: '/var/log/skylab', log: '/var/log/skylab/audit.json' }

const startLimitMs = 180_000
/** The container has this mount by default, but loses it when other mounts are given. */
const cgroups = { source: '/sys/fs/cgroup', target: '/sys/fs/cgroup' }

/**
 * The command of the k3s server, with the flags that the box gives its own programs. NodeRestriction is missing here
 * because k3s switches that admission plugin on itself.
 * @param host name by which this machine reaches the container; the certificate must contain it
 */
export function k3sCommand(host: string, withAudit: boolean): string[] {
  const args = (program: string, flags: Record<string, string>) =>
    Object.entries(flags).map(([name, value]) => `--${program}-arg=${name}=${value}`)
  return [
    'server',
    // etcd: k3s' own store sends no progress notifications, and without them KWOK lists again and again.
    '--cluster-init',
    '--disable=coredns,local-storage,metrics-server,servicelb,traefik',
    // Keeps pods off k3s' own node: labs go to nodes of KWOK.
    '--node-taint=skylab=none:NoSchedule',
    `--tls-san=${host}`,
    ...args('kube-apiserver', withAudit ? auditFlags(audit.policy, audit.log) : {}),
    ...args('kube-controller-manager', { ...controllerRates, ...namespaceFlags }),
    ...args('kube-scheduler', controllerRates),
  ]
}

/** Starts it; resolves when pods can be created. The image is SKYLAB_TEST_K3S_IMAGE, or that of the box's Kubernetes. */
export async function startContainerCluster(options: ClusterOptions): Promise<Cluster> {
  const stateDir = clusterFolder(options.stateDir)
  for (const folder of ['etc', 'log', 'pids', 'audit']) mkdirSync(join(stateDir, folder), { recursive: true })
  let container: StartedK3sContainer | undefined
  let stopped: Promise<void> | undefined
  const stop = async () => {
    await container?.stop()
    await takeDown(stateDir)
  }
  const stopOnce = () => {
    stopped ??= stop()
    return stopped
  }
  try {
    return await options.progress.part('cluster in a container', async () => {
      container = await startK3s(stateDir, options.audit)
      return describe(options, stateDir, container, stopOnce)
    })
  } catch (error) {
    await stopOnce()
    throw error
  }
}

async function startK3s(stateDir: string, withAudit: boolean): Promise<StartedK3sContainer> {
  const { info } = await getContainerRuntimeClient()
  const container = new K3sContainer(process.env.SKYLAB_TEST_K3S_IMAGE || clusterImage)
    .withCommand(k3sCommand(info.containerRuntime.host, withAudit))
    .withLogConsumer(logConsumer(stateDir, 'k3s'))
    .withStartupTimeout(startLimitMs)
  if (withAudit) {
    // Created here, or only root could read the API server's log.
    writeFileSync(auditFile(stateDir), '')
    container
      .withCopyContentToContainer([{ content: auditPolicy, target: audit.policy }])
      .withBindMounts([cgroups, { source: join(stateDir, 'audit'), target: audit.folder }])
  }
  return container.start()
}

const auditFile = (stateDir: string) => join(stateDir, 'audit', 'audit.json')

async function describe(
  options: ClusterOptions,
  stateDir: string,
  container: StartedK3sContainer,
  stop: () => Promise<void>,
): Promise<Cluster> {
  const { tools, signal, kwok } = options
  const kubeconfig = join(stateDir, 'etc', 'admin.kubeconfig')
  writeFileSync(kubeconfig, container.getKubeConfig(), { mode: 0o600 })
  const kubectl = createKubectl(tools, kubeconfig, stateDir)
  const basics = clusterBasics(kubectl, stateDir)
  await untilPodsCanBeMade(kubectl, signal)
  if (kwok > 0) await addNodes(options, stateDir, basics)
  return {
    provider: 'containers',
    kubeconfig,
    realNode: false,
    kwokNodes: kwok,
    registry: null,
    auditLog: options.audit ? auditFile(stateDir) : null,
    stateDir,
    ...basics,
    stop,
  }
}

/** A namespace admits pods only once it has its service account. */
async function untilPodsCanBeMade(kubectl: Kubectl, signal?: AbortSignal): Promise<void> {
  const answers = async () =>
    (await kubectl(['get', 'serviceaccount', 'default', '-n', 'default', '-o', 'name'])) !== ''
  await waitUntil(answers, { what: 'k3s', limitMs: 60_000, signal })
}

const administrator = { namespace: 'kube-system', name: 'skylab-nodes' }

/** An administrator by token, for the program that plays the nodes: k3s knows administrators by certificate only. */
export const administratorManifest = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: administrator },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: administrator.name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', ...administrator }],
  },
]
  .map(object => stringify(object))
  .join('---\n')

/** Has KWOK play nodes of any cluster, whoever started it. */
export async function addNodes(
  { tools, kwok, signal }: Pick<ClusterOptions, 'tools' | 'kwok' | 'signal'>,
  stateDir: string,
  { apply, tokenKubeconfig }: Pick<Cluster, 'apply' | 'tokenKubeconfig'>,
): Promise<void> {
  await apply(administratorManifest)
  const kubeconfig = await tokenKubeconfig(administrator.namespace, administrator.name)
  const client = clientOf(kubeconfig)
  try {
    await startKwok({ stateDir, tools, client, kubeconfig, count: kwok, signal })
  } finally {
    client.close()
  }
}

/** A client for a kubeconfig with a token, as `tokenKubeconfig` makes it. */
function clientOf(kubeconfig: string): ApiClient {
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8'))
  const { server, 'certificate-authority-data': ca } = clusters[0].cluster
  return new ApiClient(server, users[0].user.token, Buffer.from(ca, 'base64').toString())
}
