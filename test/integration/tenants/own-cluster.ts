/**
 * A cluster of its own with k8s/components/tenants as shipped, and processes that serve tenants with the account of the
 * Deployment. Everybody with an account may make LNamespaces, and the controller manager can be halted.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tenantsManifests } from '../../../dev/kube/tenants.ts'
import { signalProcess } from '../../../dev/process/process.ts'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import type { KubeAnswer } from '../../kit/cluster/kube.ts'
import { type OwnBox, startOwnBox } from '../../kit/cluster/own-box.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { programOf } from '../../kit/program/program.ts'
import { TenantsAdmin } from '../../kit/tenants/admin.ts'
import { TenantsDeployment } from '../../kit/tenants/deployment.ts'
import { collectionOf, lnamespace, pathOf, type TenantKind } from '../../kit/tenants/objects.ts'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))
const manager = 'kube-controller-manager'

export class OwnCluster extends TenantsAdmin {
  readonly #parts: OwnBox
  #deployment: TenantsDeployment | undefined

  private constructor(parts: OwnBox) {
    super(parts.cluster.kubeconfig)
    this.#parts = parts
  }

  /**
   * Resolves when LNamespaces can be made, and are served.
   * @param tenants more for the block of this name
   */
  static async start(replicas = 1, tenants?: ConfigInput['tenants']): Promise<OwnCluster> {
    return startOwnBox(async box => {
      const own = new OwnCluster(box)
      await box.cluster.apply(await tenantsManifests())
      await own.#serve(replicas, tenants)
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

  async close(): Promise<void> {
    await this.#deployment?.stop()
    this.kube.close()
    await this.#parts.run.close()
  }

  async #serve(replicas: number, tenants?: ConfigInput['tenants']): Promise<void> {
    const { run, cluster } = this.#parts
    const { stateDir } = run
    const release = await programOf(checkout, join(stateDir, 'program'))
    const options = { installation: 'skylab', release, replicas, tenants: { maxPerUser: 3, ...tenants } }
    this.#deployment = await TenantsDeployment.start({ stateDir, cluster }, options)
    const path = `${collectionOf('LNamespace')}?dryRun=All`
    await eventually('LNamespaces are admitted', async () => {
      const { status, body } = await this.kube.request('POST', path, lnamespace('first'))
      return status === 201 && body.metadata.annotations?.['lns.skylab/requester'] !== undefined
    })
  }
}
