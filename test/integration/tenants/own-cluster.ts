/**
 * A cluster of its own with k8s/components/tenants as shipped, and processes that serve tenants with the account of the
 * Deployment. Everybody with an account may make LNamespaces, and the controller manager can be halted.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { tenantsManifests } from '../../../dev/kube/tenants.ts'
import { signalProcess } from '../../../dev/process/process.ts'
import { type Redis, startRedis } from '../../../dev/redis/redis.ts'
import { Replica } from '../../../dev/stack/replicas.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { AdminKube, type KubeAnswer } from '../../kit/cluster/kube.ts'
import { type OwnBox, startOwnBox } from '../../kit/cluster/own-box.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { programOf } from '../../kit/program/program.ts'
import { collectionOf, lnamespace, pathOf, type TenantKind } from '../../kit/tenants/objects.ts'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))
const manager = 'kube-controller-manager'

export class OwnCluster {
  readonly kube: AdminKube
  readonly #parts: OwnBox
  #redis: Redis | undefined
  #replicas: readonly Replica[] = []

  private constructor(parts: OwnBox) {
    this.#parts = parts
    this.kube = new AdminKube(parts.cluster.kubeconfig)
  }

  /** Resolves when LNamespaces can be made, and are served. */
  static async start(replicas = 1): Promise<OwnCluster> {
    return startOwnBox(async box => {
      const own = new OwnCluster(box)
      await box.cluster.apply(await tenantsManifests())
      await own.#serve(replicas)
      return own
    })
  }

  get stateDir(): string {
    return this.#parts.cluster.stateDir
  }

  /** Folder of the kubectl that belongs to the cluster. */
  get kubectlFolder(): string {
    return dirname(this.#parts.tools.program('kubectl'))
  }

  get kubeconfig(): string {
    return this.#parts.cluster.kubeconfig
  }

  /** Connection to the API server in the form of a kubeconfig. */
  get connection(): object {
    return JSON.parse(readFileSync(this.kubeconfig, 'utf8')).clusters[0].cluster
  }

  program(name: string): string {
    return this.#parts.tools.program(name)
  }

  /** Halts the cluster's own controllers, or lets them go on: no garbage is collected, and no namespace ends. */
  controllers(signal: 'SIGSTOP' | 'SIGCONT'): void {
    if (!signalProcess(this.stateDir, manager, signal)) throw new Error(`${manager} does not run`)
  }

  /** The object; undefined if there is none. */
  async find(kind: TenantKind, name: string, namespace?: string): Promise<KubeAnswer['body']> {
    const { status, body } = await this.kube.request('GET', pathOf(kind, name, namespace))
    return status === 404 ? undefined : body
  }

  /** Makes an LNamespace as the administrator. */
  make(name: string, spec: object): Promise<KubeObject> {
    return this.must('POST', collectionOf('LNamespace'), lnamespace(name, spec))
  }

  edit(name: string, patch: object): Promise<KubeObject> {
    return this.must('PATCH', pathOf('LNamespace', name), patch)
  }

  /** @param propagationPolicy what becomes of the dependents; `Background` deletes them */
  async drop(name: string, propagationPolicy: 'Background' | 'Orphan' = 'Background'): Promise<void> {
    await this.must('DELETE', pathOf('LNamespace', name), { propagationPolicy })
  }

  async must(method: string, path: string, body?: object): Promise<KubeObject> {
    const answer = await this.kube.request(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body.message}`)
    return answer.body
  }

  /** Waits until a condition has a reason, for the current generation. */
  async says(name: string, type: string, reason: string, limitMs?: number): Promise<void> {
    const isSo = async () => {
      const { metadata, status } = (await this.find('LNamespace', name)) ?? {}
      const found = (status?.conditions ?? []).find((each: { type: string }) => each.type === type)
      return found?.reason === reason && found.observedGeneration === metadata.generation
    }
    await eventually(`${name}: ${type} is ${reason}`, isSo, limitMs)
  }

  /** What the API server's authorizer says of somebody. */
  async may(user: string, attributes: object, groups: readonly string[] = []): Promise<boolean> {
    const { status } = (await this.must('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' },
      spec: { user, groups: ['system:authenticated', ...groups], resourceAttributes: attributes },
    })) as unknown as { readonly status: { readonly allowed: boolean } }
    return status.allowed
  }

  async close(): Promise<void> {
    await Promise.all(this.#replicas.map(replica => replica.stop()))
    await this.#redis?.stop()
    this.kube.close()
    await this.#parts.run.close()
  }

  async #serve(replicas: number): Promise<void> {
    const { run, cluster } = this.#parts
    const { stateDir } = run
    const [redis, program, kubeconfig] = await Promise.all([
      startRedis({ stateDir, keyPrefix: 'skylab' }),
      programOf(checkout, join(stateDir, 'program')),
      cluster.tokenKubeconfig('skylab', 'skylab-tenants'),
    ])
    this.#redis = redis
    const configFile = join(stateDir, 'skylab.yaml')
    const config = {
      run: ['tenants'],
      api: { host: '127.0.0.1' },
      redis: { url: redis.programUrl },
      kubernetes: { kubeconfig, namespace: 'skylab' },
      tenants: { policyIntervalSeconds: 1, maxPerUser: 3, unlimitedRequesters: ['admin'] },
    }
    writeFileSync(configFile, stringify(config), { mode: 0o600 })
    const start = (_: unknown, i: number) =>
      Replica.start({ stateDir, configFile, name: `tenants-${i + 1}`, ...program })
    this.#replicas = await Promise.all(Array.from({ length: replicas }, start))
    await Promise.all(this.#replicas.map(replica => replica.ready()))
    const path = `${collectionOf('LNamespace')}?dryRun=All`
    await eventually('LNamespaces are admitted', async () => {
      const { status, body } = await this.kube.request('POST', path, lnamespace('first'))
      return status === 201 && body.metadata.annotations?.['lns.skylab/requester'] !== undefined
    })
  }
}
