/**
 * A cluster without MutatingAdmissionPolicy, with the objects of k8s/components/{tenants,tenants-webhook}: its API server asks one
 * process of tenants by its address, since no Service leads out of a cluster without nodes.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import { tenantsObjects } from '../../../dev/kube/tenants.ts'
import { freePort } from '../../../dev/process/ports.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import type { KubeAnswer } from '../../kit/cluster/kube.ts'
import { type OwnBox, startOwnBox } from '../../kit/cluster/own-box.ts'
import { makeCertificate } from '../../kit/kube/server.ts'
import { builtProgram } from '../../kit/program/program.ts'
import { TenantsAdmin } from '../../kit/tenants/admin.ts'
import { TenantsDeployment } from '../../kit/tenants/deployment.ts'
import { collectionOf, siteTenants } from '../../kit/tenants/objects.ts'
import { testBed } from '../../kit/testbed.ts'

const folder = fileURLToPath(new URL('../../../k8s/components/tenants-webhook', import.meta.url))
const read = (name: string) =>
  parseAllDocuments(readFileSync(join(folder, `${name}.yaml`), 'utf8')).map(each => each.toJS() as KubeObject)
const admission = '/apis/admissionregistration.k8s.io/v1'
const plurals = { mutate: 'mutatingwebhookconfigurations', validate: 'validatingwebhookconfigurations' } as const

export class WebhookCluster extends TenantsAdmin {
  readonly #box: OwnBox
  readonly #port: number
  #deployment: TenantsDeployment | undefined

  private constructor(box: OwnBox, port: number) {
    super(box.cluster.kubeconfig)
    this.#box = box
    this.#port = port
  }

  static start(): Promise<WebhookCluster> {
    return startOwnBox(async box => {
      const own = new WebhookCluster(box, await freePort())
      await own.#prepare()
      return own
    })
  }

  /** Where the process answers. */
  get url(): string {
    return `https://127.0.0.1:${this.#port}`
  }

  /** Gives the process a certificate by a new authority, which is returned as PEM. */
  renew(name: string): string {
    const { ca, cert, key } = makeCertificate(this.#box.run.stateDir, name)
    // The key first: a process that reads between the two finds a pair that cannot be used, and reads again.
    writeFileSync(this.#file('key'), key)
    writeFileSync(this.#file('crt'), cert)
    return ca
  }

  /** An authority that has signed nothing here. */
  stranger(): string {
    return makeCertificate(this.#box.run.stateDir, 'stranger').ca
  }

  /** Points the API server at another address, or at another authority. */
  async ask(url: string, ca: string, timeoutSeconds = 5): Promise<void> {
    const caBundle = Buffer.from(ca).toString('base64')
    for (const object of read('webhooks')) {
      const [webhook] = (object as unknown as { webhooks?: { name: string }[] }).webhooks ?? []
      if (!webhook) continue
      const what = webhook.name.split('.')[0] as keyof typeof plurals
      const clientConfig = { url: `${url}/webhooks/lnamespace/${what}`, caBundle }
      const body = { ...object, webhooks: [{ ...webhook, clientConfig, timeoutSeconds }] }
      const path = `${admission}/${plurals[what]}`
      const { status } = await this.kube.request('POST', path, body)
      if (status === 409) await this.must('PATCH', `${path}/${object.metadata.name}`, { webhooks: body.webhooks })
    }
  }

  /** Sends a request as somebody. */
  as(user: string, method: string, path: string, body?: object): Promise<KubeAnswer> {
    return this.kube.request(method, path, body, { 'Impersonate-User': user })
  }

  /** Grants rights in the whole cluster. */
  async grant(name: string, user: string, rules: readonly object[]): Promise<void> {
    const rbac = '/apis/rbac.authorization.k8s.io/v1'
    await this.must('POST', `${rbac}/clusterroles`, { metadata: { name }, rules })
    await this.must('POST', `${rbac}/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    })
  }

  /** Removes the policies that refuse what the webhook refuses too. */
  async withoutPolicies(): Promise<void> {
    for (const name of ['skylab-tenants-lnamespaces', 'skylab-tenants-names', 'skylab-tenants-names-labs']) {
      await this.must('DELETE', `${admission}/validatingadmissionpolicybindings/${name}`)
    }
  }

  async close(): Promise<void> {
    await this.#deployment?.stop()
    this.kube.close()
    await this.#box.run.close()
  }

  #file(suffix: string): string {
    return join(this.#box.run.stateDir, `served.${suffix}`)
  }

  async #prepare(): Promise<void> {
    const { cluster, run } = this.#box
    const objects = (await tenantsObjects({ installation: 'skylab', tenants: siteTenants })).filter(
      ({ kind }) => !kind.startsWith('MutatingAdmissionPolicy'),
    )
    await cluster.apply([...objects, ...read('rbac')].map(object => JSON.stringify(object)).join('\n---\n'))
    const webhooks = { port: this.#port, certFile: this.#file('crt'), keyFile: this.#file('key') }
    this.#deployment = await TenantsDeployment.start(
      { stateDir: run.stateDir, cluster },
      {
        ...{ installation: 'skylab', replicas: 1, release: builtProgram(testBed().stateDir) },
        tenants: { labelPrefixes: [...siteTenants.labelPrefixes], webhooks },
      },
    )
    // It is ready without a certificate, and serves the webhooks once there is one.
    await this.ask(this.url, this.renew('first'))
  }
}

export const lnamespaces = collectionOf('LNamespace')
