/** `skylab check --manifests`: finds images in manifests that have only a tag. */
import { hasDigest } from '../config/image-name.ts'
import { ConfigError } from '../config/problems.ts'
import { parseAllYaml } from '../config/yaml.ts'
import { readText } from '../settings/source.ts'

const lists = ['initContainers', 'containers', 'ephemeralContainers']

/**
 * One line for each container whose image has no digest.
 * @throws {ConfigError} when the file cannot be read, or is not YAML
 */
export async function manifestWarnings(file: string): Promise<string[]> {
  const text = await readText(file)
  const yaml = parseAllYaml(text)
  if ('problems' in yaml) throw new ConfigError(file, yaml.problems)
  return yaml.values.flatMap(manifest =>
    containersIn(manifest).flatMap(({ name, image }) =>
      hasDigest(image) ? [] : [`${nameOf(manifest)}, container ${name}: ${image} has no digest`],
    ),
  )
}

interface Container {
  readonly name: string
  readonly image: string
}

/** Finds pods at any depth: in a Deployment, a CronJob, a list. */
function containersIn(value: unknown): Container[] {
  if (Array.isArray(value)) return value.flatMap(containersIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const own = lists.includes(key) && Array.isArray(inner) ? inner.flatMap(containerOf) : []
    return [...own, ...containersIn(inner)]
  })
}

function containerOf(value: unknown): Container[] {
  const { name, image } = (value ?? {}) as Record<string, unknown>
  return typeof image === 'string' ? [{ name: String(name), image }] : []
}

function nameOf(manifest: unknown): string {
  const { kind, metadata } = (manifest ?? {}) as { kind?: unknown; metadata?: { name?: unknown } }
  return `${kind} ${metadata?.name}`
}
