/**
 * A cluster with the definition and the policies of k8s/components/tenants, and people. It is a cluster of its own: tests take
 * policies away, and bind rights to everybody.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse, stringify } from 'yaml'
import type { Cluster } from '../../../dev/cluster/types.ts'
import { tenantsManifests } from '../../../dev/kube/tenants.ts'
import type { Run } from '../../../dev/run/run.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { tenantParent } from '../../../src/tenants/words.ts'
import { AdminKube, type KubeAnswer } from '../cluster/kube.ts'
import { startOwnBox } from '../cluster/own-box.ts'
import { eventually } from '../cluster/world.ts'
import {
  account,
  collectionOf,
  lnamespace,
  pathOf,
  type Subject,
  siteTenants,
  type TenantKind,
  TenantObjects,
  user,
} from './objects.ts'

/** A request of a person or an account; a dry run unless it says otherwise. */
export interface Ask {
  readonly method: 'POST' | 'PATCH' | 'DELETE' | 'PUT'
  readonly path: string
  readonly body?: object
  readonly query?: string
}

const dryRun = '?dryRun=All'

export const make = (object: KubeObject): Ask => ({
  method: 'POST',
  path: collectionOf(object.kind as TenantKind, object.metadata.namespace),
  body: object,
})

/** A merge patch. */
export const change = (object: KubeObject, patch: object, subresource = ''): Ask => ({
  method: 'PATCH',
  path: pathOf(object.kind as TenantKind, object.metadata.name, object.metadata.namespace) + subresource,
  body: patch,
})

export const remove = (object: KubeObject): Ask => ({
  method: 'DELETE',
  path: pathOf(object.kind as TenantKind, object.metadata.name, object.metadata.namespace),
})

/** The groups of somebody who sends; `system:authenticated` is added by the API server. */
export interface Sender {
  readonly name: string
  readonly groups?: readonly string[]
}

export const controller: Sender = { name: account }

export class TenantsSite {
  readonly kube: AdminKube
  readonly cluster: Cluster
  readonly #run: Run

  private constructor(run: Run, cluster: Cluster) {
    this.#run = run
    this.cluster = cluster
    this.kube = new AdminKube(cluster.kubeconfig)
  }

  /** The folder of its run. */
  get stateDir(): string {
    return this.#run.stateDir
  }

  /**
   * Starts the cluster; resolves when all policies are enforced.
   * @param installation that serves tenants
   * @param audit whether the API server writes an audit log
   */
  static async start(installation = 'skylab', { audit = false } = {}): Promise<TenantsSite> {
    return startOwnBox(
      async ({ run, cluster }) => {
        const site = new TenantsSite(run, cluster)
        await cluster.apply(await tenantsManifests({ installation, tenants: siteTenants }))
        await site.#enforced()
        return site
      },
      { audit },
    )
  }

  /** Sends a request as somebody. */
  send({ name, groups = [] }: Sender, { method, path, body, query = dryRun }: Ask): Promise<KubeAnswer> {
    const headers = { 'Impersonate-User': name, ...(groups.length > 0 && { 'Impersonate-Group': [...groups] }) }
    return this.kube.request(method, path + query, body, headers)
  }

  /** Does a request, not as a dry run. @throws when it is refused */
  async must(sender: Sender, ask: Ask): Promise<KubeObject> {
    const { status, body } = await this.send(sender, { ...ask, query: '' })
    if (status >= 300) throw new Error(`${ask.method} ${ask.path} as ${sender.name}: ${status} ${body.message}`)
    return body
  }

  /** Makes a tenant with all its objects, as people and the controller do. */
  async tenant(name: string, requester: Sender, spec: object = {}): Promise<TenantObjects> {
    const made = await this.must(requester, make(lnamespace(name, spec)))
    const tenant = new TenantObjects(name, made.metadata.uid!)
    const one = { user: `${name}-user`, manager: `${name}-manager`, sudoer: requester.name }
    for (const object of tenant.all(one)) await this.must(controller, make(object))
    return tenant
  }

  /** Grants rights in the whole cluster. */
  async grant(name: string, subjects: readonly Subject[], rules: readonly object[], labels = {}): Promise<void> {
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
    await this.#admin(make({ apiVersion, kind: 'ClusterRole', metadata: { name, labels }, rules }))
    if (subjects.length === 0) return
    await this.#admin(make({ apiVersion, kind: 'ClusterRoleBinding', metadata: { name }, roleRef, subjects }))
  }

  /** Makes an object as the administrator. */
  create(object: KubeObject): Promise<KubeObject> {
    return this.#admin(make(object))
  }

  /** All LNamespaces. */
  async tenants(): Promise<readonly KubeObject[]> {
    const items = await this.kube.list(collectionOf('LNamespace'))
    return items.map(item => ({ ...item, ...tenantParent }))
  }

  /** The object as it is, or the API server's error. */
  async read({ kind, metadata: { name, namespace } }: KubeObject): Promise<KubeAnswer['body']> {
    return (await this.kube.request('GET', pathOf(kind as TenantKind, name, namespace))).body
  }

  /** Somebody who has a token of the controller's account. */
  async thief(): Promise<AdminKube> {
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 600 } }
    const path = '/api/v1/namespaces/skylab/serviceaccounts/skylab-tenants/token'
    const { status, body } = await this.kube.request('POST', path, request)
    if (status !== 201) throw new Error(`a token: ${status} ${body.message}`)
    const config = parse(readFileSync(this.cluster.kubeconfig, 'utf8'))
    for (const entry of config.users) entry.user = { token: body.status.token }
    const file = join(dirname(this.cluster.kubeconfig), 'thief.kubeconfig')
    writeFileSync(file, stringify(config), { mode: 0o600 })
    return new AdminKube(file)
  }

  async close(): Promise<void> {
    this.kube.close()
    await this.#run.close()
  }

  #admin(ask: Ask): Promise<KubeObject> {
    return this.must({ name: 'admin', groups: ['system:masters'] }, ask)
  }

  /** Each probe is refused by one policy. */
  async #enforced(): Promise<void> {
    const masters = ['system:masters']
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    const strange = { apiVersion, kind: 'ClusterRole', metadata: { name: 'strange' }, rules: [] }
    const probes: readonly (readonly [string, Sender, Ask])[] = [
      ['skylab-tenants-lnamespaces', { name: 'system:probe', groups: ['probes'] }, make(lnamespace('probe'))],
      ['skylab-tenants-names', { name: 'probe', groups: ['probes'] }, make(lnamespace('default'))],
      ['skylab-tenants-controller', { name: account, groups: masters }, make(strange)],
    ]
    const probing = await this.#probers()
    for (const [policy, sender, ask] of [...probes, ...probing]) {
      await eventually(`the policy ${policy}`, async () =>
        (await this.send(sender, ask)).body.message?.includes(`'${policy}'`),
      )
    }
    await eventually(
      'the requester',
      async () => (await this.send({ name: 'probe' }, make(lnamespace('probe')))).status === 201,
    )
  }

  /** Objects for the guard: one that bears a mark, and a stranger who may write namespaces and bindings. */
  async #probers(): Promise<readonly (readonly [string, Sender, Ask])[]> {
    const marked = { name: 'probe', namespace: 'default', labels: { 'lns.skylab/of': 'probe' } }
    const apiVersion = 'v1'
    const range = { apiVersion, kind: 'LimitRange', metadata: marked, spec: { limits: [] } }
    await this.grant(
      'probe',
      [user('probe')],
      [{ apiGroups: [''], resources: ['namespaces', 'limitranges'], verbs: ['*'] }],
    )
    await this.create(range)
    const namespace = {
      apiVersion,
      kind: 'Namespace',
      metadata: { name: 'probe', labels: { 'lns.skylab/of': 'probe' } },
    }
    return [
      ['skylab-tenants-guard', { name: 'probe' }, make(namespace)],
      ['skylab-tenants-guard-deletions', { name: 'probe' }, remove(range)],
    ]
  }
}
