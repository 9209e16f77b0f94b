import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ControlPlane } from '../kube/control-plane.ts'
import { dnsServiceIp, nodeName } from '../kube/credentials.ts'
import { readyNodes } from '../kube/kwok.ts'
import { together } from '../process/command.ts'
import { freePort } from '../process/ports.ts'
import { startServer } from '../process/server.ts'
import type { Tools } from '../setup/setup.ts'
import { nodeIp, podCidr } from './network.ts'
import { containerdSocket } from './runtime.ts'

interface KubeletPorts {
  port: number
  healthPort: number
}

function kubeletConfig(stateDir: string, { port, healthPort }: KubeletPorts, names: boolean): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: nodeIp,
    port,
    readOnlyPort: 0,
    healthzBindAddress: '127.0.0.1',
    healthzPort: healthPort,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: join(stateDir, 'pki', 'ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    containerRuntimeEndpoint: `unix://${containerdSocket(stateDir)}`,
    podLogsDir: join(stateDir, 'log', 'pods'),
    volumePluginDir: join(stateDir, 'kubelet', 'volume-plugins'),
    resolvConf: join(stateDir, 'etc', 'resolv.conf'),
    clusterDomain: 'cluster.local',
    // Without a DNS server a lookup waits; without an address it fails at once.
    clusterDNS: names ? [dnsServiceIp] : [],
    serializeImagePulls: false,
    maxPods: 240,
    // The kubelet must start on a machine with cgroup v1, swap, no systemd or no CAP_SYS_RESOURCE.
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    failSwapOn: false,
    enforceNodeAllocatable: [],
    oomScoreAdj: 0,
    // The disk may be nearly full; and a collected pause image could not be pulled again.
    evictionHard: {
      'memory.available': '64Mi',
      'nodefs.available': '1%',
      'nodefs.inodesFree': '1%',
      'imagefs.available': '1%',
    },
    // The default is a minute: a lab could fill its folders unseen for that long.
    volumeStatsAggPeriod: '5s',
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    // Hint chains of iptables, which nothing uses and the teardown would have to remove.
    makeIPTablesUtilChains: false,
  }
}

function proxyConfig(kubeconfig: string, healthPort: number, metricsPort: number): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    hostnameOverride: nodeName,
    clientConnection: { kubeconfig },
    clusterCIDR: podCidr,
    nodePortAddresses: [`${nodeIp}/32`],
    healthzBindAddress: `127.0.0.1:${healthPort}`,
    metricsBindAddress: `127.0.0.1:${metricsPort}`,
    // With the default a new service waits for up to 1 s.
    nftables: { minSyncPeriod: '100ms', syncPeriod: '30s' },
    // Zero leaves the machine's connection tracking unchanged.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  }
}

export interface NodeOptions {
  stateDir: string
  tools: Tools
  plane: ControlPlane
  /** Whether pods get the address of the cluster's DNS, which the caller serves. */
  names?: boolean | undefined
  signal?: AbortSignal | undefined
}

/** Starts kubelet and kube-proxy on a ready runtime; resolves when the node is Ready and services are routed. */
export async function startNode(options: NodeOptions): Promise<void> {
  mkdirSync(join(options.stateDir, 'kubelet'), { recursive: true })
  // Outside names are not resolved: an empty file keeps the machine's own servers out of pods.
  writeFileSync(join(options.stateDir, 'etc', 'resolv.conf'), '')
  await together(startKubelet(options), startProxy(options))
}

async function startKubelet({ stateDir, tools, plane, names = false, signal }: NodeOptions): Promise<void> {
  const config = join(stateDir, 'etc', 'kubelet.yaml')
  const ports = { port: await freePort(), healthPort: await freePort() }
  writeFileSync(config, JSON.stringify(kubeletConfig(stateDir, ports, names)))
  const args = [
    `--config=${config}`,
    `--kubeconfig=${plane.credentials.kubeconfig('node')}`,
    `--root-dir=${join(stateDir, 'kubelet')}`,
    `--cert-dir=${join(stateDir, 'kubelet', 'pki')}`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${nodeIp}`,
  ]
  const spec = { name: 'kubelet', command: tools.program('kubelet'), args, stateDir }
  const answers = async () => (await readyNodes(plane.client, `kubernetes.io/hostname=${nodeName},type!=kwok`)) === 1
  await startServer(spec, { answers, limitMs: 90_000, signal })
}

async function startProxy({ stateDir, tools, plane, signal }: NodeOptions): Promise<void> {
  const config = join(stateDir, 'etc', 'kube-proxy.yaml')
  const healthPort = await freePort()
  const settings = proxyConfig(plane.credentials.kubeconfig('kube-proxy'), healthPort, await freePort())
  writeFileSync(config, JSON.stringify(settings))
  const args = [`--config=${config}`]
  const spec = { name: 'kube-proxy', command: tools.program('kube-proxy'), args, stateDir }
  const url = `http://127.0.0.1:${healthPort}/healthz`
  const answers = async () => (await fetch(url, { signal: AbortSignal.timeout(1000) })).ok
  await startServer(spec, { answers, limitMs: 60_000, signal })
}
