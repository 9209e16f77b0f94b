/** Replicas that reconcile samples on the tests' cluster, each a process, with a namespace and a Redis of their own. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis as Client } from 'ioredis'
import { waitUntil } from '../../../dev/process/api-client.ts'
import { type StartedProcess, signalProcess, startProcess, stopProcess } from '../../../dev/process/process.ts'
import type { Redis } from '../../../dev/redis/redis.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import type { RivalsOptions } from '../../../src/reconcile/rivals.ts'
import { AdminKube } from '../cluster/kube.ts'
import { folderVariable } from '../failpoints/arms.ts'
import { FailpointArms } from '../failpoints/failpoint-arms.ts'
import { sourceWithout } from '../program/controlled.ts'
import { controlVariable } from '../program/controls.ts'
import { startTestRedis } from '../store/redis.ts'
import { testBed } from '../testbed.ts'
import { type SampleSpec, sample } from './sample.ts'
import { sampleCrd } from './sample-crd.ts'
import type { SampleProcessOptions } from './sample-main.ts'
import { routesKey } from './sample-route.ts'
import { readSample, type SamplePlural, type SampleState, samplePath, wrong } from './sample-state.ts'

const program = 'test/kit/reconcile/sample-main.ts'
/** In the source of the program, whose modules it shares. */
const failpointsProgram = 'test/kit/failpoints/failpoints.ts'
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

const startLimitMs = 60_000
/** Short, because tests wait for it. */
const quick: RivalsOptions = { times: 4, withinMs: 10_000, pauseMs: 4_000 }

export interface SampleFleetOptions {
  /** Default 3. */
  readonly replicas?: number
  readonly rivals?: RivalsOptions | undefined
}

/** A write of a replica, as its log has it. */
export interface SampleWrite {
  readonly replica: string
  readonly verb: string
  /** The plural of the object's kind. */
  readonly resource: string
  readonly code: number
  /** When it was answered. */
  readonly atMs: number
}

const writeVerbs = ['create', 'patch', 'delete']

export class SampleFleet {
  readonly namespace: string
  readonly stateDir: string
  readonly kube = new AdminKube(testBed().kubeconfig)
  readonly failpoints: FailpointArms
  readonly #options: SampleFleetOptions
  readonly redis: Redis
  readonly #routes: Client
  readonly #replicas = new Map<string, StartedProcess>()

  private constructor(options: SampleFleetOptions, stateDir: string, namespace: string, redis: Redis) {
    this.#options = options
    this.stateDir = stateDir
    this.namespace = namespace
    this.redis = redis
    this.#routes = new Client(redis.url).on('error', () => {})
    this.failpoints = new FailpointArms(join(stateDir, 'failpoints'))
  }

  static async start(options: SampleFleetOptions = {}): Promise<SampleFleet> {
    const namespace = `sample-${randomBytes(4).toString('hex')}`
    const stateDir = join(testBed().stateDir, 'fleets', namespace)
    mkdirSync(stateDir, { recursive: true })
    const redis = await startTestRedis({ stateDir, keyPrefix: namespace })
    const fleet = new SampleFleet(options, stateDir, namespace, redis)
    await fleet.#define()
    await fleet.kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    await Promise.all(Array.from({ length: options.replicas ?? 3 }, (_, i) => fleet.add(`sample-${i + 1}`)))
    return fleet
  }

  /** Starts one more replica; resolves when it is ready. */
  async add(name: string, flavour = 'a'): Promise<void> {
    const options: SampleProcessOptions = {
      kubeconfig: testBed().kubeconfig,
      namespace: this.namespace,
      redisUrl: this.redis.programUrl,
      keyPrefix: this.namespace,
      flavour,
      rivals: this.rivals,
    }
    const root = sourceWithout(process.env[controlVariable] ?? '')
    const started = await startProcess({
      name,
      command: process.execPath,
      args: ['--import', join(root, failpointsProgram), join(root, program)],
      env: { SAMPLE: JSON.stringify(options), SKYLAB_REPLICA: name, [folderVariable]: this.failpoints.folder },
      stateDir: this.stateDir,
    })
    this.#replicas.set(name, started)
    const isReady = async () => this.#lines(name).some(({ msg }) => msg === 'ready')
    await waitUntil(isReady, { what: `${name} is ready`, limitMs: startLimitMs })
  }

  get rivals(): RivalsOptions {
    return this.#options.rivals ?? quick
  }

  signal(name: string, signal: NodeJS.Signals): void {
    signalProcess(this.stateDir, name, signal)
  }

  async remove(name: string): Promise<void> {
    this.#replicas.delete(name)
    await stopProcess(this.stateDir, name, 0)
  }

  /** All answered writes so far, in the order of their answers. */
  writes(): SampleWrite[] {
    const names = [...this.#replicas.keys()]
    const all = names.flatMap(replica =>
      this.#lines(replica)
        .filter(({ msg, verb }) => msg === 'kubernetes request' && writeVerbs.includes(verb))
        .map(({ verb, resource, code, time }) => ({
          replica,
          verb,
          resource,
          code: Number(code),
          atMs: Date.parse(time),
        })),
    )
    return all.sort((a, b) => a.atMs - b.atMs)
  }

  create(name: string, spec: Partial<SampleSpec> = {}): Promise<KubeObject> {
    return this.kube.create(sample(this.namespace, name, spec))
  }

  async edit(name: string, spec: Partial<SampleSpec>): Promise<void> {
    await this.#must('PATCH', this.#sample(name), { spec })
  }

  async drop(name: string): Promise<void> {
    await this.#must('DELETE', this.#sample(name), { propagationPolicy: 'Background' })
  }

  path(plural: SamplePlural): string {
    return samplePath(this.namespace, plural)
  }

  /** The generation and the image that Redis has of the Sample with this UID. */
  async route(uid: string): Promise<string | null> {
    return this.#routes.hget(routesKey(this.namespace), uid)
  }

  /** A Sample with its objects. */
  read(name: string): Promise<SampleState> {
    return readSample(this.kube, this.namespace, name)
  }

  /** Resolves when a Sample is as wished, and says so. */
  async settled(name: string, limitMs = 20_000): Promise<void> {
    const isSettled = async () => {
      const state = await this.read(name)
      const { phase, observedGeneration } = state.parent?.status ?? {}
      const isTold = phase === 'Ready' && observedGeneration === state.parent.metadata.generation
      return isTold && wrong(state) === undefined && (await this.#isRouted(state))
    }
    await waitUntil(isSettled, { what: `${name} is settled`, limitMs })
  }

  async stop(): Promise<void> {
    this.failpoints.letGo()
    await Promise.all([...this.#replicas.keys()].map(name => stopProcess(this.stateDir, name, 0)))
    this.#routes.disconnect()
    await this.redis.stop()
    await this.kube.delete('Namespace', this.namespace)
    this.kube.close()
  }

  /** Redis knows its last generation. */
  async #isRouted({ parent: { metadata, spec } }: SampleState): Promise<boolean> {
    return (await this.route(metadata.uid)) === `${metadata.generation} ${spec.image}`
  }

  async #define(): Promise<void> {
    const { status, body } = await this.kube.request('POST', crds, sampleCrd)
    if (status !== 201 && status !== 409) throw new Error(`the sample's definition: ${status} ${body.message}`)
    const isServed = async () => (await this.kube.request('GET', '/apis/sample.skylab.dev/v1/samples')).status === 200
    await waitUntil(isServed, { what: 'Samples are served', limitMs: startLimitMs })
  }

  async #must(method: string, path: string, body: object): Promise<void> {
    const answer = await this.kube.request(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body.message}`)
  }

  #sample(name: string): string {
    return `${this.path('samples')}/${name}`
  }

  // biome-ignore lint/suspicious/noExplicitAny: lines of a log
  #lines(name: string): any[] {
    const file = join(this.stateDir, 'log', `${name}.log`)
    if (!existsSync(file)) return []
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
    return lines.filter(line => line.startsWith('{')).map(line => JSON.parse(line))
  }
}
