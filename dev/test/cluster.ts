/** The cluster for integration tests, and the file by which they find it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildProgram } from '../../test/kit/program/program.ts'
import { type TestBed, testBedVariable } from '../../test/kit/testbed.ts'
import { startCluster } from '../cluster/cluster.ts'
import type { Cluster, ClusterChoice } from '../cluster/types.ts'
import type { Progress } from '../process/progress.ts'
import type { Tools } from '../setup/setup.ts'
import { provideImage } from '../stack/image.ts'
import { grantRights } from '../stack/stack.ts'

export interface TestClusterOptions extends Pick<ClusterChoice, 'kubeconfig' | 'context' | 'containers'> {
  /** The folder of an open run. */
  readonly stateDir: string
  /** The image for each test's Redis; without one Redis is a process. */
  readonly redisImage?: string | undefined
  /** The nodes for labs: those of KWOK, or a real one. */
  readonly labsOnKwok: boolean
  readonly tools: Tools
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** Enough for the labs of all test files at once: a node holds 110 pods. */
const kwokNodes = 3

export interface TestCluster {
  /** Variables for the tests' environment. */
  readonly env: Readonly<Record<string, string>>
  /** Applies objects as the administrator. */
  readonly apply: Cluster['apply']
  /** Path of the API server's audit log; null without one. */
  readonly auditLog: string | null
  /** Path of the kubeconfig for replicas. */
  readonly controllerKubeconfig: string
  /** Ends it, and releases the machine's real node. */
  stop(): Promise<void>
}

/** Starts the cluster. When a failure or `signal` interrupts it, the run ends its parts. */
export async function startTestCluster(options: TestClusterOptions): Promise<TestCluster> {
  const { stateDir, labsOnKwok, redisImage = null, tools } = options
  const realNode = labsOnKwok ? 'never' : 'auto'
  const cluster = await startCluster({ ...options, realNode, kwok: labsOnKwok ? kwokNodes : 0, audit: true })
  if (!labsOnKwok && !cluster.realNode) {
    await cluster.stop()
    throw new Error('there is no real node')
  }
  const [images, controllerKubeconfig] = await Promise.all([
    provideImage({ ...options, cluster }),
    grantRights(cluster, options.signal),
    buildProgram(stateDir, options.signal),
  ])
  const testBed: TestBed = {
    kubeconfig: cluster.kubeconfig,
    controllerKubeconfig,
    auditLog: cluster.auditLog,
    labsOnKwok,
    images,
    hasRegistry: images.registry !== '127.0.0.1:9',
    stateDir,
    redisImage,
    haproxy: tools.program('haproxy'),
    kubectl: tools.program('kubectl'),
  }
  const { apply, auditLog } = cluster
  return { env: writeBed(testBed), apply, auditLog, controllerKubeconfig, stop: () => cluster.stop() }
}

/** A bed for tests whose replicas use Redis alone. @returns variables for the tests' environment */
export async function bedWithoutCluster(stateDir: string, signal: AbortSignal): Promise<TestCluster['env']> {
  await buildProgram(stateDir, signal)
  const none = '/nonexistent'
  return writeBed({
    ...{ kubeconfig: none, controllerKubeconfig: none, auditLog: null, labsOnKwok: false, hasRegistry: false },
    ...{ images: {}, stateDir, redisImage: null, haproxy: '', kubectl: '' },
  })
}

function writeBed(testBed: TestBed): TestCluster['env'] {
  const file = join(testBed.stateDir, 'test-bed.json')
  writeFileSync(file, JSON.stringify(testBed), { mode: 0o600 })
  return { [testBedVariable]: file }
}
