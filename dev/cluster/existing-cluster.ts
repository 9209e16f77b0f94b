import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createKubectl, type Kubectl } from '../kube/kubectl.ts'
import { run } from '../process/command.ts'
import { clusterFolder } from '../run/teardown.ts'
import { clusterBasics } from './basics.ts'
import type { Cluster, ClusterOptions } from './types.ts'

/**
 * A cluster that exists already. Only the named context is copied from the kubeconfig, into a file of this run, so that
 * nothing later can switch to another cluster.
 */
export async function useExistingCluster(options: ClusterOptions): Promise<Cluster> {
  const stateDir = clusterFolder(options.stateDir)
  mkdirSync(stateDir, { recursive: true })
  const kubeconfig = join(stateDir, 'kubeconfig')
  writeFileSync(kubeconfig, await extractContext(options), { mode: 0o600 })
  const kubectl = createKubectl(options.tools, kubeconfig, stateDir)
  return {
    provider: 'yours',
    kubeconfig,
    ...(await countNodes(kubectl)),
    registry: null,
    auditLog: null,
    stateDir,
    ...clusterBasics(kubectl, stateDir),
    stop: async () => {},
  }
}

function extractContext({ kubeconfig, context, tools, signal }: ClusterOptions): Promise<string> {
  const from = kubeconfig ? ['--kubeconfig', kubeconfig] : []
  const which = context ? ['--context', context] : []
  return run(tools.program('kubectl'), ['config', 'view', '--minify', '--flatten', '--raw', ...from, ...which], {
    signal,
  })
}

interface NodeList {
  items: Array<{
    metadata: { labels?: Record<string, string> }
    status?: { conditions?: Array<{ type: string; status: string }> }
  }>
}

async function countNodes(kubectl: Kubectl): Promise<{ realNode: boolean; kwokNodes: number }> {
  const { items }: NodeList = JSON.parse(await kubectl(['get', 'nodes', '-o', 'json']))
  const ready = items.filter(node =>
    node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
  )
  const kwokNodes = ready.filter(node => node.metadata.labels?.type === 'kwok').length
  return { realNode: ready.length > kwokNodes, kwokNodes }
}
