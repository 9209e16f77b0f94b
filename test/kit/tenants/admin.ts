/** The administrator of a cluster with LNamespaces: writes them, waits for their conditions, and asks who may do what. */
import type { KubeObject } from '../../../src/base/domain.ts'
import { AdminKube, type KubeAnswer } from '../cluster/kube.ts'
import { eventually } from '../cluster/world.ts'
import { pathOf } from './objects.ts'

const at = (name: string): string => pathOf('LNamespace', name)

export class TenantsAdmin {
  readonly kube: AdminKube

  constructor(kubeconfig: string) {
    this.kube = new AdminKube(kubeconfig)
  }

  /** @throws when it is refused */
  async must(method: string, path: string, body?: object): Promise<KubeObject> {
    const answer = await this.kube.request(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body.message}`)
    return answer.body
  }

  async edit(name: string, spec: object): Promise<void> {
    await this.must('PATCH', at(name), { spec })
  }

  async setStatus(name: string, status: object): Promise<void> {
    await this.must('PATCH', `${at(name)}/status`, { status })
  }

  /** @param propagationPolicy what becomes of the dependents; `Background` deletes them */
  async drop(name: string, propagationPolicy: 'Background' | 'Orphan' = 'Background'): Promise<void> {
    await this.must('DELETE', at(name), { propagationPolicy })
  }

  /** The LNamespace; null if there is none. */
  async read(name: string): Promise<KubeAnswer['body']> {
    const { status, body } = await this.kube.request('GET', at(name))
    return status === 404 ? null : body
  }

  /** Waits until a condition has a reason, for the current generation. */
  async says(name: string, type: string, reason: string, limitMs?: number): Promise<void> {
    const isSo = async () => {
      const { metadata, status } = (await this.read(name)) ?? {}
      const found = (status?.conditions ?? []).find((each: { type: string }) => each.type === type)
      return found?.reason === reason && found.observedGeneration === metadata.generation
    }
    await eventually(`${name}: ${type} is ${reason}`, isSo, limitMs)
  }

  /** The answer of the API server's authorizer about somebody. */
  async may(
    user: string,
    verb: string,
    resource: string,
    more: object = {},
    groups: readonly string[] = [],
  ): Promise<boolean> {
    const { status } = (await this.must('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' },
      spec: { user, groups: ['system:authenticated', ...groups], resourceAttributes: { verb, resource, ...more } },
    })) as unknown as { readonly status: { readonly allowed: boolean } }
    return status.allowed
  }

  /** Milliseconds until somebody may no more. */
  async untilNot(may: () => Promise<boolean>): Promise<number> {
    const begunMs = performance.now()
    await eventually('the end of a right', async () => !(await may()))
    return performance.now() - begunMs
  }
}
