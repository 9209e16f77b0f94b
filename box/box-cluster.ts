import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Cluster, type ClusterOptions, clusterBasics } from './cluster.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { createKubectl } from './kubectl.ts'
import { startKwok } from './kwok.ts'
import { claimRealNode, type RealNode, whyNoRealNode } from './node-support.ts'
import { clusterFolder, takeDown } from './teardown.ts'

/** A cluster of our own programs: the control plane, KWOK's nodes, and where it can be had a real node. */
export async function startBox(options: ClusterOptions): Promise<Cluster> {
  const stateDir = clusterFolder(options.stateDir)
  for (const folder of ['etc', 'log', 'pids']) mkdirSync(join(stateDir, folder), { recursive: true })
  const realNode = await chooseRealNode(options, stateDir)
  let stopped: Promise<void> | undefined
  const stop = async () => {
    for (const line of await takeDown(stateDir)) options.progress.say(`  the machine differs from before: ${line}`)
    await realNode?.release()
  }
  const stopOnce = () => {
    stopped ??= stop()
    return stopped
  }
  try {
    const name = realNode ? 'cluster with a real node' : 'cluster'
    const parts = await options.progress.part(name, () => startParts(options, stateDir, realNode))
    return describe(options, stateDir, parts, stopOnce)
  } catch (error) {
    await stopOnce()
    throw error
  }
}

async function chooseRealNode(options: ClusterOptions, stateDir: string): Promise<RealNode | null> {
  if (options.realNode === 'never') return null
  const reason = whyNoRealNode()
  const node = reason === null ? await claimRealNode(stateDir) : null
  if (!node) {
    const why = reason ?? "another run has the machine's one real node"
    options.progress.say(`No real node: ${why}. Pods go to nodes of KWOK, which only pretend to run them.`)
  }
  return node
}

interface Parts {
  plane: ControlPlane
  registry: string | null
}

async function startParts(options: ClusterOptions, stateDir: string, realNode: RealNode | null): Promise<Parts> {
  const { tools, signal, audit } = options
  const runtime = await realNode?.prepare(tools, signal)
  const plane = await startControlPlane({
    stateDir,
    tools,
    address: realNode?.address ?? '127.0.0.1',
    reachableByPods: realNode !== null,
    audit,
    signal,
  })
  const { client, credentials } = plane
  const kwok = { stateDir, tools, client, kubeconfig: credentials.kubeconfig('kwok'), count: options.kwok, signal }
  await Promise.all([options.kwok > 0 && startKwok(kwok), runtime?.join(plane)])
  return { plane, registry: runtime?.registry ?? null }
}

function describe(
  options: ClusterOptions,
  stateDir: string,
  { plane, registry }: Parts,
  stop: () => Promise<void>,
): Cluster {
  const kubeconfig = plane.credentials.kubeconfig('admin')
  return {
    provider: 'box',
    kubeconfig,
    realNode: registry !== null,
    kwokNodes: options.kwok,
    registry,
    auditLog: plane.auditLog,
    stateDir,
    apiServer: plane.apiServer,
    ...clusterBasics(createKubectl(options.tools, kubeconfig, stateDir), stateDir),
    stop: () => {
      plane.client.close()
      return stop()
    },
  }
}
