/** Reads the file of a configuration alone, without the files that it names. */
import { ConfigError, schemaProblems } from '../config/problems.ts'
import { type Config, configSchema } from '../config/schema.ts'
import { parseYaml } from '../config/yaml.ts'
import { readText } from './source.ts'

/** Variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

export type Run = Config['run'][number]

/**
 * The configuration of a file, with each key checked by itself.
 * @param run what is served; the file may name the same, or nothing
 * @throws {ConfigError}
 */
export async function readConfig(file: string, run?: Run): Promise<Config> {
  const value = await readYaml(file)
  const parsed = configSchema.safeParse(run === undefined ? value : withRun(file, value, run))
  if (!parsed.success) throw new ConfigError(file, schemaProblems(parsed.error))
  return parsed.data
}

function withRun(file: string, value: unknown, run: Run): unknown {
  if (typeof value !== 'object' || value === null) return value
  const named = 'run' in value ? JSON.stringify(value.run) : undefined
  if (named !== undefined && named !== JSON.stringify([run])) {
    throw new ConfigError(file, [`run: is ${named}, and the command serves ${run}`])
  }
  return { ...value, run: [run] }
}

/**
 * The value in a YAML file; an empty file has none.
 * @throws {ConfigError}
 */
export async function readYaml(file: string): Promise<unknown> {
  const text = await readText(file)
  const yaml = parseYaml(text)
  if ('problems' in yaml) throw new ConfigError(file, yaml.problems)
  return yaml.value ?? {}
}
