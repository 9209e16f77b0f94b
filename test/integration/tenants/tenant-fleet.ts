/** Processes that serve tenants on the tests' cluster, with a Redis of their own. LNamespaces are one set for all of them. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Redis } from '../../../dev/redis/redis.ts'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import { Replica } from '../../../dev/stack/replicas.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { creationPath, objectPath } from '../../../src/kube/kinds.ts'
import { tenantParent } from '../../../src/tenants/words.ts'
import { AdminKube, type KubeAnswer } from '../../kit/cluster/kube.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { builtProgram } from '../../kit/program/program.ts'
import { startTestRedis } from '../../kit/store/redis.ts'
import { testBed } from '../../kit/testbed.ts'
import { definition, policies } from './definitions.ts'

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

export class TenantFleet {
  /** Begins the names of all LNamespaces of the fleet. */
  readonly name = `t${randomBytes(3).toString('hex')}`
  readonly kube = new AdminKube(testBed().kubeconfig)
  readonly stateDir = join(testBed().stateDir, 'fleets', this.name)
  readonly replicas: Replica[] = []
  #redis: Redis | undefined
  readonly #made = new Set<string>()

  static async start(replicas = 2): Promise<TenantFleet> {
    const fleet = new TenantFleet()
    mkdirSync(fleet.stateDir, { recursive: true })
    await fleet.#define()
    await fleet.protect()
    fleet.#redis = await startTestRedis({ stateDir: fleet.stateDir, keyPrefix: fleet.name })
    const config: ConfigInput = {
      run: ['tenants'],
      installation: fleet.name,
      api: { host: '127.0.0.1' },
      redis: { url: fleet.#redis.programUrl, keyPrefix: fleet.name },
      kubernetes: { kubeconfig: testBed().kubeconfig },
      engine: { leaseTtlMs: 3_000 },
      logLevel: 'debug',
      tenants: { policyIntervalSeconds: 1 },
    }
    const configFile = join(fleet.stateDir, 'skylab.yaml')
    writeFileSync(configFile, stringify(config), { mode: 0o600 })
    const { program, nodeArgs, env } = builtProgram(testBed().stateDir)
    const start = (name: string) =>
      Replica.start({ stateDir: fleet.stateDir, configFile, name, program, nodeArgs, env })
    for (let i = 1; i <= replicas; i += 1) fleet.replicas.push(await start(`tenants-${i}`))
    await fleet.ready()
    return fleet
  }

  get redis(): Redis {
    return this.#redis!
  }

  async ready(): Promise<void> {
    await Promise.all(this.replicas.map(replica => replica.ready()))
  }

  /** Makes an LNamespace. @returns its name */
  async make(spec: object, name = `${this.name}-${this.#made.size}`): Promise<string> {
    this.#made.add(name)
    await this.must('POST', creationPath(tenantParent.apiVersion, tenantParent.kind), {
      ...tenantParent,
      metadata: { name },
      spec,
    })
    return name
  }

  async edit(name: string, spec: object): Promise<void> {
    await this.must('PATCH', pathOf(name), { spec })
  }

  async setStatus(name: string, status: object): Promise<void> {
    await this.must('PATCH', `${pathOf(name)}/status`, { status })
  }

  async drop(name: string): Promise<void> {
    await this.must('DELETE', pathOf(name), { propagationPolicy: 'Background' })
  }

  async read(name: string): Promise<KubeAnswer['body']> {
    const { status, body } = await this.kube.request('GET', pathOf(name))
    return status === 404 ? null : body
  }

  /** Waits until a condition has a reason that begins so. */
  async says(name: string, type: string, reason: string, limitMs?: number): Promise<void> {
    const isSo = async () => {
      const { metadata, status } = (await this.read(name)) ?? {}
      const found = (status?.conditions ?? []).find((each: { type: string }) => each.type === type)
      return found?.reason === reason && found.observedGeneration === metadata.generation
    }
    await eventually(`${name}: ${type} is ${reason}`, isSo, limitMs)
  }

  /** What the API server's authorizer says of somebody. */
  async may(
    user: string,
    verb: string,
    resource: string,
    more: object = {},
    groups: readonly string[] = [],
  ): Promise<boolean> {
    const resourceAttributes = { verb, resource, ...more }
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' }
    const spec = { user, groups: ['system:authenticated', ...groups], resourceAttributes }
    const { body } = await this.kube.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      ...review,
      spec,
    })
    return body.status.allowed
  }

  /** Milliseconds until somebody may no more. */
  async untilNot(may: () => Promise<boolean>): Promise<number> {
    const begunMs = performance.now()
    await eventually('the end of a right', async () => !(await may()))
    return performance.now() - begunMs
  }

  /** The sum of a metric of one replica. */
  async metric(index: number, name: string): Promise<number> {
    const text = await (await fetch(`${this.replicas[index]!.monitoringUrl}/metrics`)).text()
    const values = text.split('\n').filter(line => line.startsWith(name) && /[{ ]/.test(line[name.length]!))
    return values.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  /** Puts the policies in force. */
  async protect(): Promise<void> {
    for (const object of policies) {
      const { status, body } = await this.kube.request('POST', creationPath(object.apiVersion, object.kind), object)
      if (status !== 201 && status !== 409) throw new Error(`${object.metadata.name}: ${status} ${body.message}`)
    }
  }

  async unprotect(name: string): Promise<void> {
    const { apiVersion, kind } = policies[1]!
    await this.must('DELETE', objectPath({ apiVersion, kind, name }))
  }

  async must(method: string, path: string, body?: object): Promise<KubeObject> {
    const answer = await this.kube.request(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body.message}`)
    return answer.body
  }

  async stop(): Promise<void> {
    const living = [...this.#made].map(name => this.kube.request('DELETE', pathOf(name)))
    await Promise.all([...living, ...this.replicas.map(replica => replica.stop())])
    await this.#redis?.stop()
    this.kube.close()
  }

  async #define(): Promise<void> {
    const { status, body } = await this.kube.request('POST', crds, definition)
    if (status !== 201 && status !== 409) throw new Error(`the definition of LNamespaces: ${status} ${body.message}`)
    const path = creationPath(tenantParent.apiVersion, tenantParent.kind)
    await eventually('LNamespaces are served', async () => (await this.kube.request('GET', path)).status === 200)
  }
}

const pathOf = (name: string): string => objectPath({ ...tenantParent, name })
