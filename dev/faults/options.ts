/** The command line of `npm run faults`. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { UsageError } from '../process/program.ts'
import { type Wing, wings } from './wings.ts'

export const usage = `usage: npm run faults -- [OPTIONS] [FILTER…]

  FILTER              only files of attacks whose path contains one of these; with --controls, only these controls
  --only WING         only attacks on labs, reconcile, tenants, idle, apps, gateway or dispatch;
                      with --controls, only their controls
  -t PATTERN          only attacks whose name matches, such as '^T3 '
  --seed N            with this seed, as a line of an earlier run has it
  --controls          negative controls: attacks whose guard was removed, each of which must turn red for its reason
  --beside PROGRAM    only the attack on replicas of two builds: this one's, and another's \`dist/main.mjs\`
  --no-real-node      all but what takes a real node
`

export interface FaultsOptions {
  readonly controls: boolean
  /** Whether to run attacks that need a real node. */
  readonly realNode: boolean
  readonly seed: number | undefined
  readonly pattern: string | undefined
  readonly filters: readonly string[]
  /** The part of all attacks to run; undefined: all. */
  readonly only: Wing | undefined
  /** The program of another build. */
  readonly beside: string | undefined
}

/** The attack that takes another build. */
const besideAttack = 'faults/beside.attack'

/**
 * @param canHaveRealNode whether this machine can run a real node
 * @throws {UsageError}
 */
export function parseFaultsOptions(args: readonly string[], canHaveRealNode: boolean): FaultsOptions {
  const { values, positionals } = parse(args)
  if (values.seed !== undefined && !/^\d{1,10}$/.test(values.seed)) {
    throw new UsageError(`--seed: must be a whole number, not ${values.seed}`)
  }
  const { beside, only } = values
  if (only !== undefined && !wings.some(wing => wing === only)) {
    throw new UsageError(`--only: must be one of ${wings.join(', ')}, not ${only}`)
  }
  if (beside !== undefined && !existsSync(beside)) throw new UsageError(`--beside: no such file: ${beside}`)
  return {
    controls: values.controls,
    realNode: canHaveRealNode && !values['no-real-node'] && !values.controls && beside === undefined,
    seed: values.seed === undefined ? undefined : Number(values.seed),
    pattern: values.t,
    filters: beside === undefined ? positionals : [besideAttack],
    only: only as Wing | undefined,
    beside: beside === undefined ? undefined : resolve(beside),
  }
}

function parse(args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const
  const text = { type: 'string' } as const
  const options = {
    controls: flag,
    'no-real-node': flag,
    seed: text,
    beside: text,
    only: text,
    t: { ...text, short: 't' },
  }
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
