/**
 * Processes that serve tenants on the tests' cluster, with a Redis of their own. They have the account and the policies of
 * k8s/components/tenants. LNamespaces are one set for all of them.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { tenantsObjects } from '../../../dev/kube/tenants.ts'
import { run } from '../../../dev/process/command.ts'
import type { Redis } from '../../../dev/redis/redis.ts'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import { Replica } from '../../../dev/stack/replicas.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { creationPath, objectPath } from '../../../src/kube/kinds.ts'
import { admissionVersion } from '../../../src/tenants/probes.ts'
import { tenantsAccount } from '../../../src/tenants/settings.ts'
import { tenantAnnotations, tenantParent } from '../../../src/tenants/words.ts'
import { AdminKube } from '../../kit/cluster/kube.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { AuditLog } from '../../kit/evidence/audit.ts'
import { folderVariable } from '../../kit/failpoints/arms.ts'
import { FailpointArms } from '../../kit/failpoints/failpoint-arms.ts'
import { programWithout, sourceWithout } from '../../kit/program/controlled.ts'
import { controlVariable } from '../../kit/program/controls.ts'
import { startTestRedis } from '../../kit/store/redis.ts'
import { TenantsAdmin } from '../../kit/tenants/admin.ts'
import { tenantsConfig } from '../../kit/tenants/deployment.ts'
import type { TenantsBed } from '../../kit/tenants/own-bed.ts'
import { testBed } from '../../kit/testbed.ts'

const ownNamespace = 'skylab'
const tokenPath = `/api/v1/namespaces/${ownNamespace}/serviceaccounts/${tenantsAccount}/token`

export class TenantFleet extends TenantsAdmin {
  /** Begins the names of all LNamespaces of the fleet. */
  readonly name = `t${randomBytes(3).toString('hex')}`
  readonly stateDir: string
  readonly replicas: Replica[] = []
  readonly audit: AuditLog
  readonly failpoints: FailpointArms
  readonly #bed: TenantsBed
  #account: AdminKube | undefined
  #redis: Redis | undefined
  readonly #made = new Set<string>()
  #tenants: ConfigInput['tenants']

  private constructor(bed: TenantsBed) {
    super(bed.kubeconfig)
    this.#bed = bed
    this.audit = new AuditLog(bed.auditLog)
    this.stateDir = join(bed.stateDir, 'fleets', this.name)
    mkdirSync(this.stateDir, { recursive: true })
    this.failpoints = new FailpointArms(join(this.stateDir, 'failpoints'))
  }

  /**
   * Without the guards that the run takes away, in the program and in the policies.
   * @param more beside the configuration that all fleets have; what it says of `tenants` is added
   * @param bed the cluster; two fleets on one would write against each other
   */
  static async start(
    replicas = 2,
    { tenants, ...more }: Partial<ConfigInput> = {},
    bed: TenantsBed = testBed(),
  ): Promise<TenantFleet> {
    const fleet = new TenantFleet(bed)
    fleet.#tenants = tenants
    await fleet.protect()
    await fleet.#isDefined()
    fleet.#redis = await startTestRedis({ stateDir: fleet.stateDir, keyPrefix: fleet.name })
    const config: ConfigInput = {
      ...tenantsConfig({
        ...{ installation: fleet.name, kubeconfig: await fleet.#accountKubeconfig(), tenants },
        redis: { url: fleet.#redis.programUrl, keyPrefix: fleet.name },
      }),
      engine: { leaseTtlMs: 3_000 },
      logLevel: 'debug',
      ...more,
    }
    const configFile = join(fleet.stateDir, 'skylab.yaml')
    writeFileSync(configFile, stringify(config), { mode: 0o600 })
    const { program, nodeArgs, env: own } = await programWithout(controls())
    const env = { ...own, [folderVariable]: fleet.failpoints.folder }
    const start = (name: string) =>
      Replica.start({ stateDir: fleet.stateDir, configFile, name, program, nodeArgs, env })
    for (let i = 1; i <= replicas; i += 1) fleet.replicas.push(await start(`tenants-${i}`))
    await fleet.ready()
    return fleet
  }

  get redis(): Redis {
    return this.#redis!
  }

  /** The API server as the account of the replicas sees it. */
  get account(): AdminKube {
    return this.#account!
  }

  replica(name: string): Replica {
    return this.replicas.find(replica => replica.name === name)!
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

  /** The sum of a metric of one replica. */
  async metric(index: number, name: string): Promise<number> {
    const text = await (await fetch(`${this.replicas[index]!.monitoringUrl}/metrics`)).text()
    const values = text.split('\n').filter(line => line.startsWith(name) && /[{ ]/.test(line[name.length]!))
    return values.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  /** The lines of the audit log of all replicas, in the order of their times. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  auditLines(): any[] {
    const logs = this.replicas.map(({ name }) => readFileSync(join(this.stateDir, 'log', `${name}.log`), 'utf8'))
    const lines = logs.flatMap(text => text.split('\n').filter(line => line.startsWith('{"log":"audit"')))
    return lines.map(line => JSON.parse(line)).sort((a, b) => (a.time < b.time ? -1 : 1))
  }

  /**
   * Applies the definition, the policies and the rights as they are in the files. An overlay has narrowed who may read the
   * cluster: other tests withdraw rights from their accounts.
   */
  async protect(): Promise<void> {
    const { tenants } = configSchema.parse({ tenants: this.#tenants ?? {} })
    const objects = await tenantsObjects({ installation: this.name, tenants }, sourceWithout(controls()))
    const narrowed = objects.filter(
      ({ kind, metadata }) => kind !== 'ClusterRoleBinding' || metadata.name !== 'skylab:authenticated',
    )
    const input = narrowed.map(object => JSON.stringify(object)).join('\n---\n')
    const { kubectl, kubeconfig, stateDir } = this.#bed
    const args = ['--kubeconfig', kubeconfig, 'apply', '--server-side', '--force-conflicts', '-f', '-']
    await run(kubectl, args, { input, env: { ...process.env, KUBECACHEDIR: join(stateDir, 'kubectl') } })
  }

  /** Takes the binding of a policy away. */
  async unprotect(name: string): Promise<void> {
    await this.must(
      'DELETE',
      objectPath({ apiVersion: admissionVersion, kind: 'ValidatingAdmissionPolicyBinding', name }),
    )
  }

  async stop(): Promise<void> {
    this.failpoints.letGo()
    const living = [...this.#made].map(name => this.kube.request('DELETE', pathOf(name)))
    await Promise.all([...living, ...this.replicas.map(replica => replica.stop())])
    await this.#redis?.stop()
    this.#account?.close()
    this.kube.close()
  }

  /** Resolves when LNamespaces can be made: all policies that a creation needs are in force. */
  async #isDefined(): Promise<void> {
    const path = `${creationPath(tenantParent.apiVersion, tenantParent.kind)}?dryRun=All`
    const object = { ...tenantParent, metadata: { name: `${this.name}-first` }, spec: {} }
    await eventually('LNamespaces are served', async () => {
      const { status, body } = await this.kube.request('POST', path, object)
      return status === 201 && body.metadata.annotations?.[tenantAnnotations.requester] !== undefined
    })
  }

  /** With a token of the account of the Deployment. */
  async #accountKubeconfig(): Promise<string> {
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 7200 } }
    const { status } = (await this.must('POST', tokenPath, request)) as unknown as { status: { token: string } }
    const kubeconfig = parse(readFileSync(this.#bed.controllerKubeconfig, 'utf8'))
    for (const { user } of kubeconfig.users) Object.assign(user, { token: status.token })
    const file = join(this.stateDir, 'account.kubeconfig')
    writeFileSync(file, JSON.stringify(kubeconfig), { mode: 0o600 })
    this.#account = new AdminKube(file)
    return file
  }
}

const controls = (): string => process.env[controlVariable] ?? ''

const pathOf = (name: string): string => objectPath({ ...tenantParent, name })
