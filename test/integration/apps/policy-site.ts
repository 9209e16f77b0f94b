/**
 * The policy of k8s/components/apps on the tests' cluster, once as it is and once without each of its rules. Each copy bounds an
 * account of its own, so that none touches other tests, and all are in force at the same time.
 */
import { randomBytes } from 'node:crypto'
import { appsObjects } from '../../../dev/kube/apps.ts'
import { appPolicy } from '../../../src/apps/probe.ts'
import { templateParent } from '../../../src/apps/template.ts'
import { appParent, groupMark } from '../../../src/apps/words.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { asObject } from '../../../src/base/json.ts'
import { creationPath, objectPath } from '../../../src/kube/kinds.ts'
import { refOf } from '../../../src/reconcile/plan.ts'
import { application } from '../../kit/apps/objects.ts'
import { AdminKube, type KubeAnswer } from '../../kit/cluster/kube.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { testBed } from '../../kit/testbed.ts'

const admission = '/apis/admissionregistration.k8s.io/v1'
const policies = `${admission}/validatingadmissionpolicies`
const bindings = `${admission}/validatingadmissionpolicybindings`

export interface Rule {
  readonly expression: string
  readonly message: string
}

/** A request of the account; a dry run, so that nothing is left. */
export interface Ask {
  readonly method: 'POST' | 'PATCH'
  readonly path: string
  readonly body?: object
}

export const make = (object: KubeObject): Ask => ({
  method: 'POST',
  path: creationPath(object.apiVersion, object.kind, object.metadata.namespace),
  body: object,
})
export const change = (object: KubeObject, body: object, subresource = ''): Ask => ({
  method: 'PATCH',
  path: `${objectPath(refOf(object))}${subresource}`,
  body,
})

export class PolicySite {
  readonly name = `fence-${randomBytes(3).toString('hex')}`
  readonly kube = new AdminKube(testBed().kubeconfig)
  rules: readonly Rule[] = []
  /** The app whose objects the account writes. */
  app!: KubeObject
  readonly #namespaces: string[] = []

  static async start(): Promise<PolicySite> {
    const site = new PolicySite()
    const shipped = await appsObjects()
    const definitions = shipped.filter(({ kind }) => kind === 'CustomResourceDefinition')
    for (const each of definitions)
      await site.kube.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', each)
    await site.namespace(site.name, groupMark)
    for (const { apiVersion, kind } of [appParent, templateParent]) {
      const path = creationPath(apiVersion, kind, site.name)
      await eventually(`${kind} is served`, async () => (await site.kube.request('GET', path)).status === 200)
    }
    site.app = await site.application(site.name)
    await site.#write(shipped.find(({ kind }) => kind === 'ValidatingAdmissionPolicy')!)
    return site
  }

  async namespace(name: string, labels = {}): Promise<void> {
    this.#namespaces.push(name)
    await this.must('POST', '/api/v1/namespaces', { metadata: { name, labels } })
  }

  /** Makes the app `blue`, which is stopped. */
  application(namespace: string): Promise<KubeObject> {
    const apps = creationPath(appParent.apiVersion, appParent.kind, namespace)
    return this.must('POST', apps, application(namespace, 'blue', { stop: true }))
  }

  /** As the account: with all rights, so that only the policy refuses. @param without the number of a rule that its copy lacks */
  send({ method, path, body }: Ask, without: number | 'none' = 'none'): Promise<KubeAnswer> {
    const user = `system:serviceaccount:${this.name}-own:${this.#account(without)}`
    const as = { 'Impersonate-User': user, 'Impersonate-Group': ['system:masters'] }
    return this.kube.request(method, `${path}?dryRun=All`, body, as)
  }

  /** @throws when it is refused */
  async must(method: string, path: string, body?: object): Promise<KubeObject> {
    const answer = await this.kube.request(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body.message}`)
    return answer.body
  }

  async close(): Promise<void> {
    const names = [...this.rules.keys(), 'none' as const].map(each => this.#account(each))
    await Promise.all(
      names.flatMap(name => [policies, bindings].map(path => this.kube.request('DELETE', `${path}/${name}`))),
    )
    await Promise.all(this.#namespaces.map(name => this.kube.request('DELETE', `/api/v1/namespaces/${name}`)))
    this.kube.close()
  }

  #account(without: number | 'none'): string {
    return `${this.name}-without-${without}`
  }

  async #write(policy: KubeObject): Promise<void> {
    const { validations } = policy.spec as { validations: readonly Rule[] }
    this.rules = validations
    const all = [...validations.keys(), 'none' as const]
    await Promise.all(all.map(each => this.#writeCopy(policy, each)))
    const probe = make({ ...this.app, metadata: { name: 'probe', namespace: this.name, labels: { probe: 'x' } } })
    for (const each of all) {
      const one =
        each === this.#creationRule() ? change(this.#stranger(), { metadata: { labels: { probe: 'x' } } }) : probe
      await eventually('the policy', async () => (await this.send(one, each)).status === 403)
    }
  }

  /** The probe is refused by this rule alone. */
  #creationRule(): number {
    return this.rules.findIndex(({ message }) => message.startsWith('it makes an app or a template with labels'))
  }

  /** A Service that no app owns. */
  #stranger(): KubeObject {
    return { apiVersion: 'v1', kind: 'Service', metadata: { name: 'kubernetes', namespace: 'default' } }
  }

  async #writeCopy(policy: KubeObject, without: number | 'none'): Promise<void> {
    const name = this.#account(without)
    const rules = this.rules.filter((_, index) => index !== without)
    // The rule about its own namespace names the account too.
    const text = JSON.stringify({ ...asObject(policy.spec), validations: rules }).replaceAll(
      `:${appPolicy}'`,
      `:${name}'`,
    )
    await this.must('POST', policies, { ...policy, metadata: { name }, spec: JSON.parse(text) })
    await this.must('POST', bindings, { metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } })
  }
}
