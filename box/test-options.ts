/** The command line of `npm test`. */
import { parseArgs } from 'node:util'
import { UsageError } from './program.ts'

export const usage = `usage: npm test -- [OPTIONS] [FILTER…]

  FILTER              only test files whose path contains one of these
  -t PATTERN          only tests whose name matches
  --unit              types, lint and unit tests alone: nothing is started
  --no-real-node      all but what takes a real node
  --cluster           start the cluster of the integration tests, say how to use it, and stay until Ctrl-C
  --kubeconfig FILE   use this cluster instead of one in a box
  --context NAME      use this context of the kubeconfig
`

export interface TestOptions {
  readonly unit: boolean
  /** Whether tests that take a real node are run. */
  readonly realNode: boolean
  readonly cluster: boolean
  /** Whether all is run: what takes no filter is left out where one is given. */
  readonly whole: boolean
  /** Options and filters for vitest. */
  readonly vitest: readonly string[]
  readonly choice: { readonly kubeconfig: string | undefined; readonly context: string | undefined }
}

/**
 * @param canHaveRealNode whether this machine can
 * @throws {UsageError}
 */
export function parseTestOptions(args: readonly string[], canHaveRealNode: boolean): TestOptions {
  const { values, positionals } = parse(args)
  const { kubeconfig, context } = values
  const vitest = [...(values.t === undefined ? [] : ['-t', values.t]), ...positionals]
  // A real node is a matter of the box.
  const boxed = kubeconfig === undefined && context === undefined
  return {
    unit: values.unit,
    realNode: canHaveRealNode && boxed && !values.unit && !values['no-real-node'],
    cluster: values.cluster,
    whole: vitest.length === 0,
    vitest,
    choice: { kubeconfig, context },
  }
}

function parse(args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const
  const text = { type: 'string' } as const
  const options = {
    ...{ unit: flag, 'no-real-node': flag, cluster: flag },
    ...{ t: { ...text, short: 't' }, kubeconfig: text, context: text },
  }
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
