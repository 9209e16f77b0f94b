/** A cluster of KWOK's nodes with Kubeflow's notebook controller, for one half of the bench. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { startBox } from '../../dev/cluster/box-cluster.ts'
import type { Cluster } from '../../dev/cluster/types.ts'
import { bundle } from '../../dev/image/bundle.ts'
import { waitUntil } from '../../dev/process/api-client.ts'
import { freePort } from '../../dev/process/ports.ts'
import { startProcess } from '../../dev/process/process.ts'
import { startRedis } from '../../dev/redis/redis.ts'
import { openRun } from '../../dev/run/run.ts'
import { type ConfigInput, writeConfig } from '../../dev/stack/config.ts'
import { Replica } from '../../dev/stack/replicas.ts'
import type { KubeObject } from '../../src/base/domain.ts'
import { AdminKube } from '../../test/kit/cluster/kube.ts'
import type { BenchContext } from '../measure/bench-stack.ts'
import { nodesFor } from '../measure/machine.ts'
import { Worker } from '../measure/worker.ts'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

export interface SiteOptions extends BenchContext {
  /** Path of Kubeflow's `notebook-controller`, built. */
  readonly controller: string
  /** Path of its definition of notebooks. */
  readonly definition: string
  readonly notebooks: number
}

export interface Site {
  readonly kube: AdminKube
  readonly auditLog: string
  readonly fakes: Worker
  /** Where notebooks listen. */
  readonly port: number
  /** The folder of its run. */
  readonly stateDir: string
  /** Starts Kubeflow's controller with these variables; resolves with its process id. */
  startKubeflow(env: Readonly<Record<string, string>>): Promise<number>
  /** Starts replicas of ours for notebooks, with these variables; resolves when they are ready. */
  startReplicas(
    count: number,
    idle: ConfigInput['idle'],
    env: Readonly<Record<string, string>>,
  ): Promise<readonly Replica[]>
}

/** Starts a site for this work alone, and takes it down afterwards. */
export async function withSite<T>(options: SiteOptions, work: (site: Site) => Promise<T>): Promise<T> {
  const { tools, progress, signal } = options
  const run = await openRun(progress)
  const { stateDir } = run
  const replicas: Replica[] = []
  const fakes = new Worker({ file: new URL('./fakes.ts', import.meta.url), stateDir, nodeArgs: [] })
  const port = await freePort()
  let kube: AdminKube | undefined
  try {
    const quiet = { ...progress, part: <R>(_: string, start: () => Promise<R>) => start() }
    const kwok = nodesFor(options.notebooks)
    const [cluster, redis, program] = await Promise.all([
      startBox({ stateDir, tools, progress: quiet, realNode: 'never', kwok, audit: true, signal }),
      startRedis({ stateDir, signal }),
      bundle({ dir: join(stateDir, 'program') }),
      fakes.ask({ do: 'start', port }),
    ])
    kube = new AdminKube(cluster.kubeconfig)
    await define(kube, options.definition, signal)
    return await work({
      ...{ kube, auditLog: cluster.auditLog!, fakes, stateDir, port },
      startKubeflow: env => startKubeflow(options, stateDir, cluster, env),
      startReplicas: async (count, idle, env) => {
        const { kubeconfig } = cluster
        const plan = { run: ['notebooks' as const], api: { host: '127.0.0.1' }, redis: { url: redis.programUrl }, idle }
        const configFile = await writeConfig(
          stateDir,
          { ...plan, kubernetes: { kubeconfig, namespace: 'default', requirePolicy: false } },
          {},
        )
        const say = (words: string) => progress.say(`  ${words}`)
        const start = async (name: string) => {
          const replica = await Replica.start({ stateDir, configFile, name, program, say, env })
          replicas.push(replica)
          await replica.ready(signal)
          return replica
        }
        return Promise.all(Array.from({ length: count }, (_, index) => start(`replica-${index + 1}`)))
      },
    })
  } finally {
    kube?.close()
    await Promise.all([fakes.stop(), ...replicas.map(replica => replica.stop(0))])
    await run.close()
  }
}

async function define(kube: AdminKube, file: string, signal: AbortSignal): Promise<void> {
  for (const document of parseAllDocuments(readFileSync(file, 'utf8'))) {
    const object = document.toJS() as KubeObject | null
    if (object?.kind !== 'CustomResourceDefinition') continue
    const { status, body } = await kube.request('POST', definitions, object)
    if (status !== 201) throw new Error(`${file}: ${status} ${JSON.stringify(body)}`)
  }
  const isServed = async () => (await kube.request('GET', '/apis/kubeflow.org/v1/notebooks')).status === 200
  await waitUntil(isServed, { what: 'the definition of notebooks', limitMs: 30_000, signal })
}

async function startKubeflow(
  { controller }: SiteOptions,
  stateDir: string,
  { kubeconfig }: Cluster,
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const { pid } = await startProcess({
    ...{ name: 'notebook-controller', command: controller, stateDir },
    args: ['--metrics-addr=127.0.0.1:0', '--probe-addr=127.0.0.1:0'],
    env: { KUBECONFIG: kubeconfig, USE_ISTIO: 'false', ADD_FSGROUP: 'false', DEV: 'true', ...env },
  })
  return pid
}
