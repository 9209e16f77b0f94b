/** Labs that people ask the controller for, without a Hub: each is a JupyterLab with one token for all. */
import { randomBytes } from 'node:crypto'
import { labPort } from '../../src/labs/env.ts'
import { labNames } from '../../src/labs/names.ts'
import { Jupyter } from '../../test/kit/idle/jupyter.ts'
import { asked, namespacePrefix, spawnLab } from '../demo/lab.ts'
import { createKubectl } from '../kube/kubectl.ts'
import { UsageError } from '../process/program.ts'
import { openRun } from '../run/run.ts'
import { setupStack, startStack } from '../stack/stack.ts'
import { accounts } from './people.ts'
import { type Place, type PlacePlan, quietLab } from './place.ts'

/** Starts a stack with real labs, does the work and stops it. */
export async function withLabsAlone<T>(plan: PlacePlan, work: (place: Place) => Promise<T>): Promise<T> {
  const { options, idle, progress, signal } = plan
  const tools = await setupStack({ ...options.cluster, audit: false }, progress, signal)
  const run = await openRun(progress)
  try {
    const { stateDir } = run
    const token = randomBytes(16).toString('hex')
    const overrides = { lab: { env: { JUPYTER_TOKEN: token } }, idle }
    const common = { stateDir, tools, progress, signal, accounts: accounts(), overrides }
    const stack = await startStack({ ...options, ...options.cluster, ...common })
    try {
      if (stack.labsOnKwok) throw new UsageError('--idle: needs a real node, whose kubelet runs real JupyterLabs')
      const kubectl = createKubectl(tools, stack.cluster.kubeconfig, stack.cluster.stateDir)
      return await work(placeOf({ stack, kubectl }, token, signal))
    } finally {
      await Promise.all(stack.replicas.map(replica => replica.stop(0)))
    }
  } finally {
    await progress.part('take down', () => run.close())
  }
}

function placeOf({ stack, kubectl }: Pick<Place, 'stack' | 'kubectl'>, token: string, signal: AbortSignal): Place {
  return {
    ...{ stack, kubectl, hub: null },
    async spawn(name) {
      await spawnLab(quietLab({ stack, kubectl }, name, signal), asked)
    },
    async jupyter(name) {
      const { namespace, lab } = labNames(namespacePrefix, name)
      const address = await kubectl(['get', 'service', lab, '-n', namespace, '-o', 'jsonpath={.spec.clusterIP}'])
      return new Jupyter({ address: address.trim(), port: labPort, prefix: '/', token })
    },
  }
}
