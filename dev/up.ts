import { parseArgs } from 'node:util'
import { clusterNeeds, startCluster } from './cluster/cluster.ts'
import type { ClusterChoice } from './cluster/types.ts'
import { aborted, runProgram } from './process/program.ts'
import { createProgress } from './process/progress.ts'
import { startRedis } from './redis/redis.ts'
import { openRun } from './run/run.ts'
import { setup } from './setup/setup.ts'

// Starts Redis and a cluster for developers: prints their addresses as JSON, and stays until Ctrl-C.
//   node scripts/run.mjs dev/up.ts [--kwok N] [--no-real-node] [--kubeconfig FILE] [--context NAME]

function readChoice(): ClusterChoice {
  const { values } = parseArgs({
    options: {
      kwok: { type: 'string', default: '2' },
      'no-real-node': { type: 'boolean', default: false },
      kubeconfig: { type: 'string' },
      context: { type: 'string' },
    },
  })
  const kwok = Number(values.kwok)
  if (!Number.isInteger(kwok) || kwok < 0) throw new Error(`--kwok: must be a number of nodes, not ${values.kwok}`)
  const realNode = values['no-real-node'] ? 'never' : 'auto'
  return { kubeconfig: values.kubeconfig, context: values.context, realNode, kwok, audit: true }
}

async function main(signal: AbortSignal): Promise<number> {
  const choice = readChoice()
  const progress = createProgress()
  const tools = await setup([...clusterNeeds(choice), 'redis'], progress, signal)
  const run = await openRun(progress)
  try {
    const redis = await startRedis({ stateDir: run.stateDir, signal })
    const cluster = await startCluster({ ...choice, stateDir: run.stateDir, tools, progress, signal })
    progress.summary()
    const { provider, kubeconfig, realNode, kwokNodes, registry, auditLog, stateDir } = cluster
    const kubectl = tools.program('kubectl')
    const places = {
      provider,
      kubeconfig,
      realNode,
      kwokNodes,
      registry,
      auditLog,
      stateDir,
      redis: redis.url,
      kubectl,
    }
    process.stdout.write(`${JSON.stringify(places, null, 2)}\n`)
    progress.say('Ctrl-C stops everything.')
    await aborted(signal)
    return 0
  } finally {
    await progress.part('take down', () => run.close())
  }
}

await runProgram(main)
