/** Processes that serve apps on the tests' cluster, with a Redis, an account and namespaces of groups of their own. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis as Client } from 'ioredis'
import { parse, stringify } from 'yaml'
import { appsObjects } from '../../../dev/kube/apps.ts'
import type { Redis } from '../../../dev/redis/redis.ts'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import { Replica } from '../../../dev/stack/replicas.ts'
import { appsAccount } from '../../../src/apps/probe.ts'
import { appParent, groupMark } from '../../../src/apps/words.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { creationPath, objectPath } from '../../../src/kube/kinds.ts'
import { type Intent, IntentStore } from '../../../src/store/apps/intents.ts'
import { MemberStore, type MembersRead } from '../../../src/store/apps/members.ts'
import { RouteStore, type RoutesRead } from '../../../src/store/apps/routes.ts'
import type { Connection } from '../../../src/store/connection.ts'
import { Keys } from '../../../src/store/keys.ts'
import { tokensOf } from '../api/rest-calls.ts'
import { AdminKube, type KubeAnswer } from '../cluster/kube.ts'
import { eventually } from '../cluster/world.ts'
import { folderVariable } from '../failpoints/arms.ts'
import { FailpointArms } from '../failpoints/failpoint-arms.ts'
import { programWithout, sourceWithout } from '../program/controlled.ts'
import { controlVariable } from '../program/controls.ts'
import { startTestRedis } from '../store/redis.ts'
import { type TestBed, testBed } from '../testbed.ts'
import { openAsGateway } from './gateway-user.ts'
import { type AppWish, application, kwokType } from './objects.ts'

const rbac = 'rbac.authorization.k8s.io/v1'
const admission = 'admissionregistration.k8s.io/v1'

/** The parts of a test bed that a fleet of apps needs. */
export type AppsBed = Pick<TestBed, 'kubeconfig' | 'controllerKubeconfig' | 'stateDir'>

export interface AppFleetOptions {
  /** Default: 2. */
  readonly replicas?: number
  /** Names of groups, each with a namespace of its own: the name of the fleet and this. Default: `a`. */
  readonly groups?: readonly string[]
  /** Whether the groups share the namespace of the first one. */
  readonly isShared?: boolean
  /** More of the block `apps`. */
  readonly apps?: ConfigInput['apps']
  /** More of each group, by the name that it has here. */
  readonly group?: Readonly<Record<string, object>>
  readonly more?: Partial<ConfigInput>
  /** People with tokens, by name and groups of the fleet; with REST for them. `root` is an administrator. */
  readonly people?: Readonly<Record<string, readonly string[]>>
  readonly bed?: AppsBed
  /** Whether the start waits until they are ready. Default: yes. */
  readonly untilReady?: boolean
}

export class AppFleet {
  /** Begins the names of all its namespaces. */
  readonly name = `apps-${randomBytes(3).toString('hex')}`
  readonly stateDir: string
  readonly kube: AdminKube
  readonly failpoints: FailpointArms
  readonly replicas: Replica[] = []
  readonly #bed: AppsBed
  readonly #namespaces: string[] = []
  #redis: Redis | undefined
  #account: AdminKube | undefined
  #connection: Connection | undefined
  #client: Client | undefined
  #start: ((name: string) => Promise<Replica>) | undefined

  private constructor(bed: AppsBed) {
    this.#bed = bed
    this.kube = new AdminKube(bed.kubeconfig)
    this.stateDir = join(bed.stateDir, 'fleets', this.name)
    mkdirSync(this.stateDir, { recursive: true })
    this.failpoints = new FailpointArms(join(this.stateDir, 'failpoints'))
  }

  /** Without the guards that the run takes away, in the program and in the policy. */
  static async start(options: AppFleetOptions = {}): Promise<AppFleet> {
    const { replicas = 2, groups = ['a'], apps, group, more, people, bed = testBed(), untilReady = true } = options
    const home = (each: string) => fleet.of(options.isShared ? groups[0]! : each)
    const fleet = new AppFleet(bed)
    fleet.#redis = await startTestRedis({ stateDir: fleet.stateDir, keyPrefix: fleet.name })
    fleet.#connection = await openAsGateway(fleet.#redis.programUrl, fleet.name, { withoutEval: false })
    await fleet.namespace(fleet.name)
    await fleet.#protect()
    for (const name of new Set(groups.map(home))) await fleet.namespace(name, { labels: groupMark })
    const config: ConfigInput = {
      ...{ run: ['apps'], installation: fleet.name, logLevel: 'debug', api: { host: '127.0.0.1' } },
      redis: { url: fleet.#redis.programUrl, keyPrefix: fleet.name },
      kubernetes: { kubeconfig: await fleet.#kubeconfig(), namespace: fleet.name },
      engine: { leaseTtlMs: 3_000 },
      ...(people && { identity: fleet.#identity(people) }),
      ...more,
      apps: {
        ...(people && { rest: { templateNamespace: fleet.name } }),
        groups: Object.fromEntries(groups.map(each => [fleet.of(each), { namespace: home(each), ...group?.[each] }])),
        ...{ instanceTypes: { small: kwokType }, publicUrl: 'https://platform.example.org' },
        ...{ policyIntervalSeconds: 1, ...apps },
      },
    }
    const configFile = join(fleet.stateDir, 'skylab.yaml')
    // The configuration is read by YAML 1.1, for which a bare `off` is no text.
    writeFileSync(configFile, stringify(config, { version: '1.1' }), { mode: 0o600 })
    const { program, nodeArgs, env: own } = await programWithout(controls())
    const env = { ...own, [folderVariable]: fleet.failpoints.folder }
    fleet.#start = name => Replica.start({ stateDir: fleet.stateDir, configFile, name, program, nodeArgs, env })
    for (let i = 1; i <= replicas; i += 1) await fleet.add(`apps-${i}`)
    if (untilReady) await fleet.ready()
    return fleet
  }

  #identity(people: Readonly<Record<string, readonly string[]>>): ConfigInput['identity'] {
    const file = join(this.stateDir, 'tokens.yaml')
    const named = Object.entries(people).map(([name, groups]) => [name, groups.map(group => this.of(group))] as const)
    writeFileSync(file, stringify(tokensOf(Object.fromEntries(named))), { mode: 0o600 })
    return { provider: 'static', static: { file } }
  }

  get redis(): Redis {
    return this.#redis!
  }

  /** The API server as the account of the replicas sees it. */
  get account(): AdminKube {
    return this.#account!
  }

  /** The name of a group and of its namespace. */
  of(group: string): string {
    return `${this.name}-${group}`
  }

  async add(name: string): Promise<Replica> {
    const replica = await this.#start!(name)
    this.replicas.push(replica)
    return replica
  }

  async ready(): Promise<void> {
    await Promise.all(this.replicas.map(replica => replica.ready()))
  }

  /** Makes a namespace, which ends with the fleet. */
  async namespace(name: string, metadata: object = {}): Promise<void> {
    this.#namespaces.push(name)
    await this.must('POST', '/api/v1/namespaces', { metadata: { name, ...metadata } })
  }

  /** Makes an app in the namespace of a group. */
  async make(name: string, wish: AppWish = {}, group = 'a'): Promise<KubeObject> {
    const object = application(this.of(group), name, wish)
    return this.must('POST', creationPath(appParent.apiVersion, appParent.kind, this.of(group)), object)
  }

  async edit(name: string, patch: object, group = 'a'): Promise<KubeObject> {
    return this.must('PATCH', this.path(name, group), patch)
  }

  async drop(name: string, group = 'a', propagationPolicy = 'Background'): Promise<void> {
    await this.must('DELETE', this.path(name, group), { propagationPolicy })
  }

  /** The path of an app. */
  path(name: string, group = 'a'): string {
    return objectPath({ ...appParent, namespace: this.of(group), name })
  }

  /** The app; null if there is none. */
  async read(name: string, group = 'a'): Promise<KubeAnswer['body']> {
    const { status, body } = await this.kube.request('GET', this.path(name, group))
    return status === 404 ? null : body
  }

  /** One of its objects; null if there is none. */
  async child(kind: keyof typeof children, name: string, group = 'a'): Promise<KubeAnswer['body']> {
    const ref = { apiVersion: children[kind], kind, namespace: this.of(group), name }
    const { status, body } = await this.kube.request('GET', objectPath(ref))
    return status === 404 ? null : body
  }

  /** Waits until the app is in a phase, by its current generation. @returns its status */
  async phase(name: string, phase: string, group = 'a', limitMs?: number): Promise<KubeAnswer['body']> {
    let found: KubeAnswer['body']
    const isSo = async () => {
      found = await this.read(name, group)
      return found?.status?.phase === phase && found.status.observedGeneration === found.metadata.generation
    }
    await eventually(`${name} is ${phase}`, isSo, limitMs).catch(error => {
      throw new Error(`${error.message}: ${JSON.stringify(found?.status)}`)
    })
    return found.status
  }

  /** @throws when it is refused */
  async must(method: string, path: string, body?: object): Promise<KubeObject> {
    const answer = await this.kube.request(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body.message}`)
    return answer.body
  }

  /** Redis as its administrator. */
  get redisClient(): Client {
    this.#client ??= new Client(this.redis.url)
    return this.#client
  }

  /** The table of members, as gateways read it. */
  members(): Promise<MembersRead> {
    return new MemberStore(this.#connection!, this.keys).read()
  }

  /** The table of routes, as gateways read it. */
  routes(): Promise<RoutesRead> {
    return new RouteStore(this.#connection!, this.keys).read()
  }

  get keys(): Keys {
    return new Keys(this.name)
  }

  /** A member asks at a gateway that an app be started. */
  ask(intent: Intent): Promise<'asked' | 'waits'> {
    return new IntentStore(this.#connection!, this.keys).ask(intent)
  }

  /** The sum of the series of a metric whose labels contain this, over all replicas. */
  async metric(name: string, labels = ''): Promise<number> {
    const texts = await Promise.all(
      this.replicas.map(async ({ monitoringUrl }) => (await fetch(`${monitoringUrl}/metrics`)).text()),
    )
    const lines = texts.flatMap(text => text.split('\n')).filter(line => new RegExp(`^${name}[{ ]`).test(line))
    return lines.filter(line => line.includes(labels)).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  /** Lines of the logs of all replicas. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  log(): any[] {
    const files = this.replicas.map(({ name }) => join(this.stateDir, 'log', `${name}.log`)).filter(existsSync)
    const lines = files.flatMap(file => readFileSync(file, 'utf8').split('\n').slice(0, -1))
    return lines.filter(line => line.startsWith('{')).map(line => JSON.parse(line))
  }

  /** All answered writes of the replicas so far, but those of probes. */
  writes(): readonly { readonly verb: string; readonly resource: string; readonly code: string }[] {
    const isProbe = ({ verb, resource, code }: { verb: string; resource: string; code: string }) =>
      verb === 'create' && resource === 'deployments' && code === '403'
    return this.log().filter(
      line => line.msg === 'kubernetes request' && ['create', 'patch', 'delete'].includes(line.verb) && !isProbe(line),
    )
  }

  async stop(): Promise<void> {
    this.failpoints.letGo()
    await Promise.all(this.replicas.map(replica => replica.stop()))
    this.#client?.disconnect()
    await this.#connection?.close()
    await this.#redis?.stop()
    await this.kube.request('DELETE', `/apis/${rbac}/clusterrolebindings/${this.name}`)
    await Promise.all(this.#namespaces.map(name => this.kube.request('DELETE', `/api/v1/namespaces/${name}`)))
    this.#account?.close()
    this.kube.close()
  }

  /** The definition, the policy and the rights, as they are in the files; a control has others. They stay for other fleets. */
  async #protect(): Promise<void> {
    const shipped = await appsObjects(sourceWithout(controls()))
    const own = shipped.filter(({ kind }) => kind !== 'ServiceAccount' && kind !== 'ClusterRoleBinding')
    for (const object of own) {
      const path = pathOf(object)
      const { status, body } = await this.kube.request('POST', path, object)
      if (status === 409) await this.must('PATCH', `${path}/${object.metadata.name}`, object)
      else if (status !== 201) throw new Error(`${path}: ${status} ${body.message}`)
    }
    const served = creationPath(appParent.apiVersion, appParent.kind, this.name)
    await eventually('apps are served', async () => (await this.kube.request('GET', served)).status === 200)
  }

  /** With a token of an account of its own, which has the rights of the Deployment's. */
  async #kubeconfig(): Promise<string> {
    const accounts = `/api/v1/namespaces/${this.name}/serviceaccounts`
    await this.must('POST', accounts, { metadata: { name: appsAccount } })
    await this.must('POST', `/apis/${rbac}/clusterrolebindings`, {
      metadata: { name: this.name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: appsAccount },
      subjects: [{ kind: 'ServiceAccount', name: appsAccount, namespace: this.name }],
    })
    await this.must('POST', `/apis/${rbac}/namespaces/${this.name}/rolebindings`, {
      metadata: { name: 'skylab-apps-templates' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'skylab:apps:templates' },
      subjects: [{ kind: 'ServiceAccount', name: appsAccount, namespace: this.name }],
    })
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 7200 } }
    const { status } = (await this.must('POST', `${accounts}/${appsAccount}/token`, request)) as unknown as {
      status: { token: string }
    }
    const kubeconfig = parse(readFileSync(this.#bed.controllerKubeconfig, 'utf8'))
    for (const { user } of kubeconfig.users) Object.assign(user, { token: status.token })
    const file = join(this.stateDir, 'account.kubeconfig')
    writeFileSync(file, JSON.stringify(kubeconfig), { mode: 0o600 })
    this.#account = new AdminKube(file)
    return file
  }
}

const children = {
  Deployment: 'apps/v1',
  Service: 'v1',
  NetworkPolicy: 'networking.k8s.io/v1',
  ResourceQuota: 'v1',
} as const

const plurals: Readonly<Record<string, string>> = {
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  ClusterRole: `/apis/${rbac}/clusterroles`,
  ValidatingAdmissionPolicy: `/apis/${admission}/validatingadmissionpolicies`,
  ValidatingAdmissionPolicyBinding: `/apis/${admission}/validatingadmissionpolicybindings`,
}

function pathOf({ kind }: KubeObject): string {
  const path = plurals[kind]
  if (!path) throw new Error(`no path for a ${kind}`)
  return path
}

const controls = (): string => process.env[controlVariable] ?? ''
