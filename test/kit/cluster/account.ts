/** A ServiceAccount of its own for the controller, whose rights a test withdraws one by one and restores. */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { waitUntil } from '../../../dev/process/api-client.ts'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { controllerRights } from '../../../src/labs/controller-rights.ts'
import { accountName, installationLabel, labRights, type RightsRule } from '../../../src/labs/rights.ts'
import { testBed } from '../testbed.ts'
import { rbacPath } from './installation.ts'
import { AdminKube } from './kube.ts'

const group = 'rbac.authorization.k8s.io'
const marks: RightsRule = { apiGroups: ['skylab.dev'], resources: ['marks'], verbs: ['write'] }
const knownWithinMs = 15_000

/** A single right, such as `create namespaces`. */
export const nameOf = ({ verbs, resources }: RightsRule): string => `${verbs[0]} ${resources[0]}`

export class Account {
  /** The controller's own namespace, where it prepulls. */
  readonly namespace = `account-${randomBytes(4).toString('hex')}`
  readonly #kube = new AdminKube(testBed().kubeconfig)
  #rules: readonly RightsRule[] = [...controllerRights.everywhere, ...controllerRights.within, marks]
  #kubeconfig = ''

  /** Makes an account without any right. */
  static async make(): Promise<Account> {
    const account = new Account()
    const { namespace } = account
    await account.#kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    const metadata = { name: accountName, namespace }
    await account.#kube.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata })
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${accountName}/token`
    const token = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 7200 } }
    const { body } = await account.#kube.request('POST', path, token)
    const kubeconfig = parse(await readFile(testBed().controllerKubeconfig, 'utf8'))
    for (const { user } of kubeconfig.users) Object.assign(user, { token: body.status.token })
    account.#kubeconfig = join(testBed().stateDir, `${namespace}.kubeconfig`)
    await writeFile(account.#kubeconfig, JSON.stringify(kubeconfig), { mode: 0o600 })
    return account
  }

  get kubeconfig(): string {
    return this.#kubeconfig
  }

  /** Grants all rights that a controller of this installation has, as one role. */
  async grant(config: ConfigInput): Promise<void> {
    const { namespace: name } = this
    const parsed = configSchema.parse(config)
    this.#rules = [...this.#rules, ...labRights(parsed), ...(parsed.idle.enabled ? controllerRights.idle : [])]
    const metadata = { name, labels: { [installationLabel]: config.installation! } }
    const subjects = [{ kind: 'ServiceAccount', name: accountName, namespace: name }]
    const roleRef = { apiGroup: group, kind: 'ClusterRole', name }
    await this.#post('clusterroles', { kind: 'ClusterRole', metadata, rules: this.#rules })
    await this.#post('clusterrolebindings', { kind: 'ClusterRoleBinding', metadata: { name }, roleRef, subjects })
    await this.#known(this.#rules[0]!, true)
  }

  /** Resolves when the API server applies the change. */
  async withdraw(rights: readonly RightsRule[]): Promise<void> {
    await this.#write(this.#rules.filter(rule => !rights.includes(rule)))
    for (const right of rights) await this.#known(right, false)
  }

  async giveBack(): Promise<void> {
    await this.#write(this.#rules)
    for (const rule of this.#rules) await this.#known(rule, true)
  }

  /** The rights that the account has in all. */
  get rights(): readonly RightsRule[] {
    return this.#rules
  }

  /** Removes the account and its namespace. */
  async remove(): Promise<void> {
    for (const resource of ['clusterrolebindings', 'clusterroles']) {
      await this.#kube.request('DELETE', `${rbacPath}/${resource}/${this.namespace}`)
    }
    await this.#kube.delete('Namespace', this.namespace)
    this.#kube.close()
  }

  async #post(resource: string, object: object): Promise<void> {
    const { status, body } = await this.#kube.request('POST', `${rbacPath}/${resource}`, {
      apiVersion: `${group}/v1`,
      ...object,
    })
    if (status !== 201) throw new Error(`${resource}: ${status} ${body.message}`)
  }

  async #write(rules: readonly RightsRule[]): Promise<void> {
    const { status } = await this.#kube.request('PATCH', `${rbacPath}/clusterroles/${this.namespace}`, { rules })
    if (status !== 200) throw new Error(`the rights were not changed: ${status}`)
  }

  async #known(rule: RightsRule, allowed: boolean): Promise<void> {
    const { apiGroups, resources, verbs, resourceNames } = rule
    const resourceAttributes = {
      ...{ group: apiGroups[0], resource: resources[0], verb: verbs[0], namespace: this.namespace },
      ...(resourceNames && { name: resourceNames[0] }),
    }
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: `system:serviceaccount:${this.namespace}:${accountName}`, resourceAttributes },
    }
    const ask = async () => {
      const { body } = await this.#kube.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review)
      return body.status.allowed === allowed
    }
    await waitUntil(ask, { what: `${nameOf(rule)} ${allowed ? 'given' : 'withdrawn'}`, limitMs: knownWithinMs })
  }
}
