/** The command line of `npm test`. */
import { parseArgs } from 'node:util'
import type { ClusterChoice } from '../cluster/types.ts'
import { UsageError } from '../process/program.ts'

export const usage = `usage: npm test -- [OPTIONS] [FILTER…]

  FILTER              only test files with one of these in their path
  -t PATTERN          only tests whose name matches
  --unit              types, lint and unit tests alone: nothing is started
  --no-real-node      all but what takes a real node
  --vm                only tests on real machines under qemu, which no other run has (docs/testing.md)
  --cluster           start the cluster of the integration tests, say how to use it, and stay until Ctrl-C
  --containers WHAT   redis, cluster or both in containers of the Docker engine that answers (docs/testing.md)
  --kubeconfig FILE   use this cluster instead of one in a box
  --context NAME      use this context of the kubeconfig
`

export interface TestOptions {
  readonly unit: boolean
  /** Whether to run tests that need a real node. */
  readonly realNode: boolean
  /** Whether to run the tests on real machines, and nothing else. */
  readonly vm: boolean
  readonly cluster: boolean
  /** Whether to run everything: with a filter, suites that take no filter are left out. */
  readonly whole: boolean
  /** Of names of tests. */
  readonly pattern: string | undefined
  /** Of paths of test files. */
  readonly filters: readonly string[]
  readonly choice: Pick<ClusterChoice, 'kubeconfig' | 'context' | 'containers'>
  /** Whether each test's Redis runs in a container. */
  readonly redisInContainers: boolean
}

const containerChoices = ['redis', 'cluster', 'both']

/**
 * @param canHaveRealNode whether this machine can run a real node
 * @throws {UsageError}
 */
export function parseTestOptions(args: readonly string[], canHaveRealNode: boolean): TestOptions {
  const { values, positionals } = parse(args)
  const { kubeconfig, context, containers } = values
  if (containers !== undefined && !containerChoices.includes(containers)) {
    throw new UsageError(`--containers: ${containerChoices.join(', ')}, not ${containers}`)
  }
  const inContainers = (what: string) => containers === what || containers === 'both'
  const others = ['unit', 'cluster', 'kubeconfig', 'context', 'containers'] as const
  const other = values.vm ? others.find(name => values[name] !== undefined && values[name] !== false) : undefined
  if (other !== undefined) throw new UsageError(`--vm: not with --${other}`)
  // Only the box has a real node.
  const named = kubeconfig !== undefined || context !== undefined
  if (named && inContainers('cluster')) throw new UsageError('--containers: not with an existing cluster')
  const boxed = !named && !inContainers('cluster')
  return {
    unit: values.unit,
    realNode: canHaveRealNode && boxed && !values.unit && !values.vm && !values['no-real-node'],
    vm: values.vm,
    cluster: values.cluster,
    whole: values.t === undefined && positionals.length === 0,
    pattern: values.t,
    filters: positionals,
    choice: { kubeconfig, context, containers: inContainers('cluster') },
    redisInContainers: inContainers('redis'),
  }
}

function parse(args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const
  const text = { type: 'string' } as const
  const options = {
    ...{ unit: flag, 'no-real-node': flag, vm: flag, cluster: flag },
    ...{ t: { ...text, short: 't' }, containers: text, kubeconfig: text, context: text },
  }
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
