/** The variables by which Kubeflow's controller culls notebooks: one that is replaced by ours keeps its environment. */
import type { IdleRule } from '../config/idle.ts'
import { idle as schema } from '../config/idle.ts'
import type { Config } from '../config/schema.ts'

type Environment = Readonly<Record<string, string | undefined>>

export interface Culling {
  readonly config: Config
  readonly warnings: readonly string[]
}

/** Minutes, as Kubeflow has them. */
const defaults = { CULL_IDLE_TIME: 1440, IDLENESS_CHECK_PERIOD: 1 } as const

/** As people read it where a notebook was stopped. */
export const cullingRule = 'environment'

/**
 * Adds a last rule for notebooks, and the period of checks, if the environment asks for culling. `CLUSTER_DOMAIN` and `DEV` have no
 * effect: no name is looked up.
 */
export function withCulling(config: Config, env: Environment): Culling {
  // Kubeflow takes no other word for yes.
  if (!config.run.includes('notebooks') || env.ENABLE_CULLING !== 'true') return { config, warnings: [] }
  const warnings: string[] = []
  const secondsOf = (name: keyof typeof defaults): number => {
    const text = env[name] || String(defaults[name])
    if (/^[1-9][0-9]{0,7}$/.test(text)) return 60 * Number(text)
    warnings.push(`${name}: is not a whole number of minutes, so the default of ${defaults[name]} counts`)
    return 60 * defaults[name]
  }
  const { idle } = config
  const checkPeriodSeconds = env.IDLENESS_CHECK_PERIOD ? secondsOf('IDLENESS_CHECK_PERIOD') : idle.checkPeriodSeconds
  const restPeriodSeconds = Math.max(idle.restPeriodSeconds, checkPeriodSeconds)
  const rules = [...idle.rules, ruleOf(secondsOf('CULL_IDLE_TIME'))]
  return { config: { ...config, idle: { ...idle, checkPeriodSeconds, restPeriodSeconds, rules } }, warnings }
}

const ruleOf = (idleTimeoutSeconds: number): IdleRule =>
  schema.parse({
    rules: [
      {
        ...{ name: cullingRule, match: { kinds: ['notebook'] }, sources: ['kernels'] },
        ...{ idleTimeoutSeconds, warnSeconds: 0 },
      },
    ],
  }).rules[0]!
