import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type ControlPlane, startControlPlane } from '../kube/control-plane.ts'
import { createKubectl } from '../kube/kubectl.ts'
import { startKwok } from '../kube/kwok.ts'
import { nodeIp } from '../node/network.ts'
import { startNode } from '../node/node.ts'
import { startRuntime } from '../node/runtime.ts'
import { together } from '../process/command.ts'
import type { Lock } from '../process/lock.ts'
import { claimRealNode } from '../run/claim.ts'
import { clusterFolder, takeDown } from '../run/teardown.ts'
import { clusterBasics } from './basics.ts'
import type { Cluster, ClusterOptions } from './types.ts'

/** A cluster of programs on this machine: the control plane, nodes of KWOK, and a real node where one can run. */
export async function startBox(options: ClusterOptions): Promise<Cluster> {
  const stateDir = clusterFolder(options.stateDir)
  for (const folder of ['etc', 'log', 'pids']) mkdirSync(join(stateDir, folder), { recursive: true })
  let nodeLock: Lock | null = null
  let stopped: Promise<void> | undefined
  const stop = async () => {
    for (const line of await takeDown(stateDir)) options.progress.say(`  the machine differs from before: ${line}`)
    await nodeLock?.release()
  }
  const stopOnce = () => {
    stopped ??= stop()
    return stopped
  }
  try {
    nodeLock = await chooseRealNode(options, stateDir)
    const hasNode = nodeLock !== null
    const name = hasNode ? 'cluster with a real node' : 'cluster'
    const parts = await options.progress.part(name, () => startParts(options, stateDir, hasNode))
    return describe(options, stateDir, parts, stopOnce)
  } catch (error) {
    await stopOnce()
    throw error
  }
}

async function chooseRealNode(options: ClusterOptions, stateDir: string): Promise<Lock | null> {
  if (options.realNode === 'never') return null
  const { lock, reason } = await claimRealNode(stateDir)
  if (reason) options.progress.say(`No real node: ${reason}. Pods go to nodes of KWOK, which only pretend to run them.`)
  return lock
}

interface Parts {
  plane: ControlPlane
  registry: string | null
}

async function startParts(options: ClusterOptions, stateDir: string, hasNode: boolean): Promise<Parts> {
  const { tools, signal, audit, names, people, podRange } = options
  const runtime = hasNode ? await startRuntime(stateDir, tools, signal) : null
  const address = hasNode ? nodeIp : '127.0.0.1'
  const [plane] = await together(
    startControlPlane({ stateDir, tools, address, reachableByPods: hasNode, audit, people, signal }),
    runtime?.ready,
  )
  const { client, credentials } = plane
  const kubeconfig = credentials.kubeconfig('kwok')
  const kwok = { stateDir, tools, client, kubeconfig, count: options.kwok, podRange, signal }
  await together(options.kwok > 0 && startKwok(kwok), hasNode && startNode({ stateDir, tools, plane, names, signal }))
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
    ...clusterBasics(createKubectl(options.tools, kubeconfig, stateDir), stateDir),
    stop: () => {
      plane.client.close()
      return stop()
    },
  }
}
