import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../process/command.ts'
import type { Tools } from '../setup/setup.ts'

/** The address by which pods reach the API server: the first of the service addresses. */
export const firstServiceIp = '10.96.0.1'
/** The address of DNS for pods, when a server answers there. */
export const dnsServiceIp = '10.96.0.10'
/** Addresses of the controller's Services in the cluster, fixed so that certificates can contain them. */
export const controllerServiceIps = {
  ...{ skylab: '10.96.0.20', 'skylab-redis': '10.96.0.21', 'skylab-gateway': '10.96.0.22' },
  'skylab-dispatch': '10.96.0.23',
} as const
export const nodeName = 'node-1'

/** Clients with a token for the API server, and the groups that give them their rights. */
const users = {
  admin: { user: 'admin', group: 'system:masters' },
  kwok: { user: 'kwok', group: 'system:masters' },
  'controller-manager': { user: 'system:kube-controller-manager', group: '' },
  scheduler: { user: 'system:kube-scheduler', group: '' },
  node: { user: `system:node:${nodeName}`, group: 'system:nodes' },
  'kube-proxy': { user: 'system:kube-proxy', group: '' },
}

export type UserName = keyof typeof users

export interface Credentials {
  /** The certificate of the cluster's authority, PEM. */
  ca: string
  adminToken: string
  kubeconfig(user: UserName): string
}

export interface KubeconfigParts {
  /** Connection to the API server in the form of a kubeconfig: `server`, `certificate-authority-data` and the like. */
  cluster: object
  token: string
  namespace?: string
}

/** A kubeconfig with one cluster and one user with a token. */
export function renderKubeconfig({ cluster, token, namespace }: KubeconfigParts): string {
  const context = namespace === undefined ? { cluster: 'box', user: 'box' } : { cluster: 'box', user: 'box', namespace }
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'box',
    clusters: [{ name: 'box', cluster }],
    users: [{ name: 'box', user: { token } }],
    contexts: [{ name: 'box', context }],
  }
  return `${JSON.stringify(config, null, 2)}\n`
}

const keyOptions = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30']

export interface Authority {
  /** The folder with `ca.crt` and `ca.key`. */
  pki: string
  openssl: string
  signal?: AbortSignal | undefined
}

const requestCertificate = ({ pki, openssl, signal }: Authority, args: string[]) =>
  run(openssl, ['req', '-x509', ...keyOptions, ...args], { cwd: pki, signal })

/** Makes `name.key` and `name.crt`, signed by the cluster's authority. */
export async function signCertificate(
  authority: Authority,
  name: string,
  subject: string,
  extensions: string[],
): Promise<void> {
  const options = extensions.flatMap(extension => ['-addext', extension])
  const files = ['-keyout', `${name}.key`, '-out', `${name}.crt`, '-CA', 'ca.crt', '-CAkey', 'ca.key']
  const leaf = ['-addext', 'basicConstraints=critical,CA:FALSE']
  await requestCertificate(authority, ['-subj', subject, ...files, ...leaf, ...options])
}

async function makeCertificates(pki: string, openssl: string, apiAddress: string, signal?: AbortSignal): Promise<void> {
  const authority = { pki, openssl, signal }
  const signed = (name: string, subject: string, extensions: string[]) =>
    signCertificate(authority, name, subject, extensions)
  await requestCertificate(authority, ['-subj', '/CN=skylab-box', '-keyout', 'ca.key', '-out', 'ca.crt'])
  const hosts = ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'].map(name => `DNS:${name}`)
  const addresses = [...new Set(['127.0.0.1', apiAddress, firstServiceIp])].map(address => `IP:${address}`)
  await Promise.all([
    signed('api', '/CN=kube-apiserver', [
      'extendedKeyUsage=serverAuth',
      `subjectAltName=${[...hosts, ...addresses].join(',')}`,
    ]),
    // The API server as a client of the kubelet, for logs, exec and port-forward.
    signed('kubelet-client', '/O=system:masters/CN=kube-apiserver-kubelet-client', ['extendedKeyUsage=clientAuth']),
    run(openssl, ['ecparam', '-genkey', '-name', 'prime256v1', '-noout', '-out', 'accounts.key'], { cwd: pki, signal }),
  ])
}

export interface CredentialOptions {
  /** Tokens of people without a group, by their names. */
  people?: Readonly<Record<string, string>> | undefined
  signal?: AbortSignal | undefined
}

/** Makes the authority, certificates, tokens and kubeconfigs of a cluster, under `pki` and `etc` of its folder. */
export async function makeCredentials(
  stateDir: string,
  tools: Tools,
  api: { address: string; url: string },
  { people = {}, signal }: CredentialOptions = {},
): Promise<Credentials> {
  const pki = join(stateDir, 'pki')
  mkdirSync(pki, { mode: 0o700 })
  await makeCertificates(pki, tools.program('openssl'), api.address, signal)
  const ca = readFileSync(join(pki, 'ca.crt'), 'utf8')
  const tokens = Object.entries(users).map(([name, account]) => ({
    name,
    ...account,
    token: randomBytes(16).toString('hex'),
  }))
  const rows = tokens.map(({ token, user, group }) => `${token},${user},${user},"${group}"\n`)
  for (const [name, token] of Object.entries(people)) rows.push(`${token},${name},${name}\n`)
  writeFileSync(join(pki, 'tokens.csv'), rows.join(''), { mode: 0o600 })
  const cluster = { server: api.url, 'certificate-authority-data': Buffer.from(ca).toString('base64') }
  const kubeconfig = (name: UserName) => join(stateDir, 'etc', `${name}.kubeconfig`)
  for (const { name, token } of tokens) {
    const text = renderKubeconfig({ cluster, token })
    writeFileSync(kubeconfig(name as UserName), text, { mode: 0o600 })
  }
  return { ca, adminToken: tokens.find(({ name }) => name === 'admin')!.token, kubeconfig }
}
