/** Processes that stop idle notebooks, with a Redis and an account of their own, and a namespace where notebooks are. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { notebooksAccount as account, notebooksObjects } from '../../../dev/kube/notebooks.ts'
import type { Redis } from '../../../dev/redis/redis.ts'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import { Replica } from '../../../dev/stack/replicas.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { formatTokens } from '../../../src/identity/tokens.ts'
import { folderVariable } from '../failpoints/arms.ts'
import { FailpointArms } from '../failpoints/failpoint-arms.ts'
import { makeUser } from '../fleet/users.ts'
import { programWithout } from '../program/controlled.ts'
import { controlVariable } from '../program/controls.ts'
import { startTestRedis } from '../store/redis.ts'
import { testBed } from '../testbed.ts'
import { Kubeflow } from './kubeflow.ts'

const group = 'rbac.authorization.k8s.io'
const admission = '/apis/admissionregistration.k8s.io/v1'
const policyPaths: Readonly<Record<string, string>> = {
  ValidatingAdmissionPolicy: `${admission}/validatingadmissionpolicies`,
  ValidatingAdmissionPolicyBinding: `${admission}/validatingadmissionpolicybindings`,
}

export interface NotebookFleetOptions {
  readonly replicas?: number
  readonly idle: NonNullable<ConfigInput['idle']>
  readonly network?: ConfigInput['network']
  readonly env?: Readonly<Record<string, string>>
  /** Whether its namespace is that of a tenant. */
  readonly isTenant?: boolean
  /** Rules of the account beside those of k8s/components/notebooks. */
  readonly rights?: readonly object[]
  /** A cluster of its own, by the kubeconfig of its administrator. Default: the shared one. */
  readonly kubeconfig?: string
}

/** In a rule, `nbs-*` means the namespace of this fleet: processes of others see it too, and would ask its notebooks. */
const ownRules = <T>(idle: T, name: string): T => JSON.parse(JSON.stringify(idle).replaceAll('nbs-*', name))

const people = {
  admin: makeUser('admin', 1, { scopes: ['exec:notebook', 'admin:jupyterlab'] }),
  ada: makeUser('ada', 2),
}

export class NotebookFleet {
  readonly name: string
  readonly stateDir: string
  readonly kubeflow: Kubeflow
  readonly failpoints: FailpointArms
  readonly replicas: Replica[] = []
  readonly #redis: Redis

  private constructor(name: string, stateDir: string, kubeflow: Kubeflow, redis: Redis) {
    this.name = name
    this.stateDir = stateDir
    this.kubeflow = kubeflow
    this.#redis = redis
    this.failpoints = new FailpointArms(join(stateDir, 'failpoints'))
  }

  static async start(options: NotebookFleetOptions): Promise<NotebookFleet> {
    const { replicas = 2, idle, network, env, rights = [], isTenant = false, kubeconfig } = options
    const name = `nbs-${randomBytes(3).toString('hex')}`
    const stateDir = join(testBed().stateDir, 'fleets', name)
    mkdirSync(stateDir, { recursive: true })
    const redis = await startTestRedis({ stateDir, keyPrefix: name })
    const fleet = new NotebookFleet(
      name,
      stateDir,
      await Kubeflow.start(name, isTenant ? { 'lns.skylab/of': name } : {}, kubeconfig),
      redis,
    )
    writeFileSync(join(stateDir, 'tokens.yaml'), formatTokens({ tokens: Object.values(people) }), { mode: 0o600 })
    const config: ConfigInput = {
      ...{
        run: ['notebooks'],
        installation: name,
        logLevel: 'debug',
        idle: { enabled: true, ...ownRules(idle, name) },
      },
      api: { host: '127.0.0.1' },
      redis: { url: redis.programUrl, keyPrefix: name },
      kubernetes: { kubeconfig: await fleet.#account(rights, kubeconfig ?? testBed().controllerKubeconfig) },
      ...(network && { network }),
      identity: { provider: 'static', static: { file: 'tokens.yaml' } },
    }
    const configFile = join(stateDir, 'skylab.yaml')
    writeFileSync(configFile, stringify(config), { mode: 0o600 })
    const { program, nodeArgs, env: own } = await programWithout(process.env[controlVariable] ?? '')
    const environment = { ...own, ...env, [folderVariable]: fleet.failpoints.folder }
    for (let count = 1; count <= replicas; count++) {
      const one = { stateDir, configFile, name: `notebooks-${count}`, program, nodeArgs, env: environment }
      fleet.replicas.push(await Replica.start(one))
    }
    await Promise.all(fleet.replicas.map(replica => replica.ready()))
    return fleet
  }

  /** Asks REST of one replica. */
  async ask(
    who: keyof typeof people,
    path: string,
    init: RequestInit = {},
  ): Promise<{ status: number; body: unknown }> {
    const headers = { authorization: `Bearer ${people[who].token}`, 'content-type': 'application/json' }
    const answer = await fetch(`${this.replicas[0]!.url}/activity${path}`, { ...init, headers })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
  }

  /** The sum of the series of a metric whose labels contain this, over all replicas. */
  async metric(name: string, labels = ''): Promise<number> {
    const texts = await Promise.all(
      this.replicas.map(async ({ monitoringUrl }) => (await fetch(`${monitoringUrl}/metrics`)).text()),
    )
    const lines = texts.flatMap(text => text.split('\n')).filter(line => line.startsWith(`${name}{`))
    return lines.filter(line => line.includes(labels)).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  log(): string {
    return this.replicas.map(({ name }) => readFileSync(join(this.stateDir, 'log', `${name}.log`), 'utf8')).join('\n')
  }

  async stop(): Promise<void> {
    this.failpoints.letGo()
    await Promise.all(this.replicas.map(replica => replica.stop()))
    await this.#redis.stop()
    const { kube } = this.kubeflow
    for (const resource of ['clusterrolebindings', 'clusterroles']) {
      await kube.request('DELETE', `/apis/${group}/v1/${resource}/${this.name}`)
    }
    await this.kubeflow.stop()
  }

  /** @returns the kubeconfig of an account with the rights of k8s/components/notebooks, under its policy */
  async #account(rights: readonly object[], from: string): Promise<string> {
    const { kube } = this.kubeflow
    const metadata = { name: this.name }
    const subjects = [{ kind: 'ServiceAccount', name: account, namespace: this.name }]
    const roleRef = { apiGroup: group, kind: 'ClusterRole', name: this.name }
    const must = async (path: string, object: object) => {
      const { status, body } = await kube.request('POST', path, object)
      if (status !== 201) throw new Error(`${path}: ${status} ${body.message}`)
      return body
    }
    const shipped = await notebooksObjects()
    const role = shipped.find(({ kind }) => kind === 'ClusterRole') as unknown as { rules: object[] }
    const rules = [...role.rules, ...rights]
    await this.#bound(shipped)
    const own = `/api/v1/namespaces/${this.name}/serviceaccounts`
    await must(own, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: account } })
    await must(`/apis/${group}/v1/clusterroles`, { apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata, rules })
    const binding = { apiVersion: `${group}/v1`, kind: 'ClusterRoleBinding', metadata, subjects, roleRef }
    await must(`/apis/${group}/v1/clusterrolebindings`, binding)
    const token = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 7200 } }
    const { status } = await must(`${own}/${account}/token`, token)
    const kubeconfig = parse(readFileSync(from, 'utf8'))
    for (const { user } of kubeconfig.users) Object.assign(user, { token: status.token })
    const file = join(this.stateDir, 'account.kubeconfig')
    writeFileSync(file, JSON.stringify(kubeconfig), { mode: 0o600 })
    return file
  }

  /** The policy bounds accounts of this name in all namespaces, so it stays for other fleets. */
  async #bound(shipped: readonly KubeObject[]): Promise<void> {
    for (const object of shipped) {
      const path = policyPaths[object.kind]
      const { status } = path ? await this.kubeflow.kube.request('POST', path, object) : { status: 201 }
      if (status !== 201 && status !== 409) throw new Error(`${object.kind}: ${status}`)
    }
  }
}
