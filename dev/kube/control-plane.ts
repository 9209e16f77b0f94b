import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ApiClient, waitUntil } from '../process/api-client.ts'
import { together } from '../process/command.ts'
import { freePort } from '../process/ports.ts'
import { type ProcessSpec, startProcess } from '../process/process.ts'
import { assertRunning, startServer } from '../process/server.ts'
import type { Tools } from '../setup/setup.ts'
import { type Credentials, makeCredentials } from './credentials.ts'

export const serviceCidr = '10.96.0.0/16'

export interface ControlPlaneOptions {
  stateDir: string
  tools: Tools
  /** Address of the API server: loopback, or the real node's address, which pods can reach too. */
  address: string
  /** Whether the API server lists itself as an endpoint for pods. Loopback would be refused as one. */
  reachableByPods: boolean
  audit: boolean
  /** Tokens of people, by their names. */
  people?: Readonly<Record<string, string>> | undefined
  signal?: AbortSignal | undefined
}

export interface ControlPlane {
  credentials: Credentials
  client: ApiClient
  auditLog: string | null
}

export async function startEtcd(options: Pick<ControlPlaneOptions, 'stateDir' | 'tools' | 'signal'>): Promise<string> {
  const { stateDir, tools, signal } = options
  const [url, peerUrl] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`]
  const flags = {
    name: 'box',
    'data-dir': join(stateDir, 'etcd'),
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'initial-cluster': `box=${peerUrl}`,
    'log-level': 'warn',
    // Nothing here outlives the run, so losses by a power cut do not matter.
    'unsafe-no-fsync': 'true',
  }
  const spec = { name: 'etcd', command: tools.program('etcd'), args: toFlags(flags), env: goEnv(), stateDir }
  const answers = async () => (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(1000) })).ok
  await startServer(spec, { answers, limitMs: 30_000, signal })
  return url
}

/** Tests set `GOGC`, so that Go's collector runs more rarely. Benches leave it as real clusters have it. */
const goEnv = () => ({ GOGC: process.env.GOGC })

const toFlags = (flags: Record<string, string>) => Object.entries(flags).map(([name, value]) => `--${name}=${value}`)

function apiServerSpec(
  options: ControlPlaneOptions,
  port: number,
  etcdUrl: string,
  auditLog: string | null,
): ProcessSpec {
  const { stateDir, tools, address } = options
  const pki = (file: string) => join(stateDir, 'pki', file)
  const flags: Record<string, string> = {
    'etcd-servers': etcdUrl,
    'bind-address': address,
    'secure-port': String(port),
    'service-cluster-ip-range': serviceCidr,
    'client-ca-file': pki('ca.crt'),
    'tls-cert-file': pki('api.crt'),
    'tls-private-key-file': pki('api.key'),
    'kubelet-client-certificate': pki('kubelet-client.crt'),
    'kubelet-client-key': pki('kubelet-client.key'),
    'kubelet-preferred-address-types': 'InternalIP',
    'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
    'service-account-key-file': pki('accounts.key'),
    'service-account-signing-key-file': pki('accounts.key'),
    'token-auth-file': pki('tokens.csv'),
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    'allow-privileged': 'true',
    profiling: 'false',
  }
  if (!options.reachableByPods) flags['endpoint-reconciler-type'] = 'none'
  if (auditLog) {
    const policyFile = join(stateDir, 'etc', 'audit.json')
    writeFileSync(policyFile, auditPolicy)
    Object.assign(flags, auditFlags(policyFile, auditLog))
  }
  const command = tools.program('kube-apiserver')
  return { name: 'kube-apiserver', command, args: toFlags(flags), env: goEnv(), stateDir }
}

/** Blocking: a request's line is in the file before its response. In batches the line could be 30 s late. */
export const auditFlags = (policyFile: string, auditLog: string): Record<string, string> => ({
  'audit-policy-file': policyFile,
  'audit-log-path': auditLog,
  'audit-log-mode': 'blocking',
  // By default the file is rotated at 100 MB, which a long run passes, and a reader at an offset would miss the rest.
  'audit-log-maxsize': '65536',
})

export const auditPolicy = JSON.stringify({
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    // Reads of the cluster's own controllers are half of all requests: to empty a namespace they list all its kinds.
    { level: 'None', userGroups: ['system:serviceaccounts:kube-system'], verbs: ['get', 'list', 'watch'] },
    { level: 'Metadata' },
  ],
})

/** Lets controllers and scheduler keep up with tests that make many labs at once. */
export const controllerRates = { 'kube-api-qps': '500', 'kube-api-burst': '1000' }
/** By default deleted namespaces are emptied ten at a time, and each takes 5 s of waiting. */
export const namespaceFlags = { 'concurrent-namespace-syncs': '20' }

async function startControllers(options: ControlPlaneOptions, credentials: Credentials): Promise<void> {
  const { stateDir, tools } = options
  const common = {
    ...controllerRates,
    'leader-elect': 'false',
    'bind-address': '127.0.0.1',
    profiling: 'false',
  }
  const start = async (name: string, flags: Record<string, string>) => {
    const args = toFlags({ ...common, 'secure-port': String(await freePort()), ...flags })
    await startProcess({ name, command: tools.program(name), args, env: goEnv(), stateDir })
  }
  await start('kube-controller-manager', {
    kubeconfig: credentials.kubeconfig('controller-manager'),
    'use-service-account-credentials': 'true',
    'service-account-private-key-file': join(stateDir, 'pki', 'accounts.key'),
    'root-ca-file': join(stateDir, 'pki', 'ca.crt'),
    // Signs requests for certificates of people, once an administrator approves them.
    'cluster-signing-cert-file': join(stateDir, 'pki', 'ca.crt'),
    'cluster-signing-key-file': join(stateDir, 'pki', 'ca.key'),
    ...namespaceFlags,
  })
  await start('kube-scheduler', { kubeconfig: credentials.kubeconfig('scheduler') })
}

/** Starts etcd, API server, controller manager and scheduler; resolves when pods can be created. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { stateDir, tools, address, signal } = options
  const port = await freePort()
  const url = `https://${address}:${port}`
  const [etcdUrl, credentials] = await together(
    startEtcd(options),
    makeCredentials(stateDir, tools, { address, url }, { people: options.people, signal }),
  )
  const client = new ApiClient(url, credentials.adminToken, credentials.ca)
  const auditLog = options.audit ? join(stateDir, 'log', 'audit.json') : null
  const answers = async () => (await client.request('GET', '/readyz')).status === 200
  await startServer(apiServerSpec(options, port, etcdUrl, auditLog), { answers, limitMs: 90_000, signal })
  await startControllers(options, credentials)
  // A namespace admits pods once it has its service account; then the controller manager is running.
  const account = '/api/v1/namespaces/default/serviceaccounts/default'
  await waitUntil(async () => (await client.request('GET', account)).status === 200, {
    what: 'kube-controller-manager',
    limitMs: 60_000,
    signal,
    check: () => assertRunning(stateDir, 'kube-controller-manager'),
  })
  return { credentials, client, auditLog }
}
