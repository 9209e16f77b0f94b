/** People with a kubectl, the plugins in their path, and a kubeconfig of their own. */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { signCertificate } from '../../../dev/kube/credentials.ts'
import { run } from '../../../dev/process/command.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { OwnCluster } from './own-cluster.ts'

const plugins = fileURLToPath(new URL('../../../plugins', import.meta.url))
const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests'

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Somebody at a terminal. */
export class KubectlUser {
  readonly kubeconfig: string
  readonly #env: Readonly<Record<string, string>>

  /** @param user credentials, as in a kubeconfig */
  constructor(own: OwnCluster, name: string, user: object) {
    const folder = join(own.stateDir, 'people')
    mkdirSync(folder, { recursive: true })
    this.kubeconfig = join(folder, `${name}.kubeconfig`)
    const context = { context: { cluster: 'box', user: 'me' }, name: 'box' }
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'box', contexts: [context] },
      clusters: [{ name: 'box', cluster: own.connection }],
      users: [{ name: 'me', user }],
    }
    writeFileSync(this.kubeconfig, JSON.stringify(config), { mode: 0o600 })
    this.#env = {
      PATH: [plugins, own.kubectlFolder, process.env.PATH].join(':'),
      HOME: folder,
      KUBECONFIG: this.kubeconfig,
      KUBECACHEDIR: join(folder, 'cache'),
    }
  }

  /** With a client certificate of the cluster's authority. */
  static async certified(own: OwnCluster, file: string, name: string, groups: readonly string[] = []) {
    const subject = [...groups.map(group => `/O=${group}`), `/CN=${name}`].join('')
    const pki = join(own.stateDir, 'pki')
    await signCertificate({ pki, openssl: own.program('openssl') }, file, subject, ['extendedKeyUsage=clientAuth'])
    return new KubectlUser(own, file, credentials(join(pki, `${file}.crt`), join(pki, `${file}.key`)))
  }

  /** With a certificate that the cluster signs on request, as an administrator approves. */
  static async requested(own: OwnCluster, name: string): Promise<KubectlUser> {
    const [key, csr, crt] = ['key', 'csr', 'crt'].map(end => join(own.stateDir, 'pki', `${name}-own.${end}`)) as [
      ...[string, string, string],
    ]
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    await run(own.program('openssl'), ['req', ...curve, '-subj', `/CN=${name}`, '-keyout', key, '-out', csr])
    const made = await own.must('POST', requests, {
      ...{ apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest', metadata: { name } },
      spec: {
        request: readFileSync(csr).toString('base64'),
        ...{ signerName: 'kubernetes.io/kube-apiserver-client', usages: ['client auth'] },
      },
    })
    const approval = { type: 'Approved', status: 'True', reason: 'Test', message: 'a test' }
    await own.must('PUT', `${requests}/${name}/approval`, { ...made, status: { conditions: [approval] } })
    const certificate = await eventually('a signed certificate', async () => {
      const { body } = await own.kube.request('GET', `${requests}/${name}`)
      return body.status?.certificate as string | undefined
    })
    writeFileSync(crt, Buffer.from(certificate, 'base64'))
    return new KubectlUser(own, name, credentials(crt, key))
  }

  /** With the token of a ServiceAccount. */
  static async account(own: OwnCluster, namespace: string, name: string): Promise<KubectlUser> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
    const { status } = (await own.must('POST', path, {
      ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 7200 } },
    })) as unknown as { readonly status: { readonly token: string } }
    return new KubectlUser(own, `${namespace}-${name}`, { token: status.token })
  }

  kubectl(args: readonly string[], input = '', env: Readonly<Record<string, string>> = {}): Promise<Outcome> {
    return this.run('kubectl', args, input, env)
  }

  /** Runs any program in the person's environment. */
  run(program: string, args: readonly string[], input = '', env: Readonly<Record<string, string>> = {}) {
    const all = { ...this.#env, ...env }
    return new Promise<Outcome>((resolve, reject) => {
      const child = spawn(program, args, { env: all, stdio: 'pipe' })
      const [out, err]: [Buffer[], Buffer[]] = [[], []]
      child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
      child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
      child.once('error', reject)
      child.once('close', code => {
        resolve({ code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() })
      })
      child.stdin.on('error', () => {})
      child.stdin.end(input)
    })
  }
}

const credentials = (certificate: string, key: string) => ({ 'client-certificate': certificate, 'client-key': key })
