/** `skylab images`: the answer of `GET …/images`, from the registry that the configuration names. */
import { imagesJson } from '../api/images/json.ts'
import { systemClock } from '../base/clock.ts'
import { qualifiedRepositoryOf } from '../config/images.ts'
import { readCatalogue } from '../images/catalogue/read.ts'
import { type Catalogue, type CatalogueImage, imageTypes } from '../images/catalogue/types.ts'
import { createImageSource } from '../images/registry/create.ts'
import { loadRegistrySettings } from '../settings/load-registry.ts'
import { columns } from './columns.ts'
import { codes, type Output, warningsTo } from './output.ts'

export interface ImagesCommand {
  readonly config: string
  readonly json: boolean
}

/**
 * Reads the registry once and prints its images, as JSON or as tables.
 * @returns the exit code
 * @throws {ConfigError}
 */
export async function showImages({ config, json }: ImagesCommand, output: Output): Promise<number> {
  const { images, authorities, credentials } = await loadRegistrySettings(config)
  const clock = systemClock
  const source = createImageSource({ images, clock, authorities, credentials: async () => credentials })
  try {
    const { catalogue, trouble, missing } = await readCatalogue({ images, source, clock })
    if (trouble) warningsTo(output).warn({ err: trouble }, 'not all digests are known')
    if (missing.length > 0) {
      output.err(`warning: the registry lacks tags that the configuration names: ${missing.join(', ')}\n`)
    }
    const name = qualifiedRepositoryOf(images)
    // No cluster is asked for nodes.
    output.out(json ? `${JSON.stringify(imagesJson(catalogue, []), null, 2)}\n` : tablesOf(name, catalogue))
    return codes.ok
  } catch (error) {
    output.err(`the registry cannot be read: ${(error as Error).message}\n`)
    return codes.failed
  } finally {
    await source.close()
  }
}

function tablesOf(name: string, { types, prepull, all }: Catalogue): string {
  const typeRows = imageTypes.flatMap(type => (types[type] ? [[type, ...row(types[type])]] : []))
  const head = ['TAG', 'NAME', 'DIGEST', 'ALIASES']
  return [
    `${name}: ${all.length} ${all.length === 1 ? 'image' : 'images'}\n`,
    columns(['TYPE', ...head], typeRows),
    columns(['PREPULLED', ...head.slice(1)], prepull.map(row)),
    columns(['ALL', ...head.slice(1)], all.map(row)),
  ].join('\n')
}

/** The part of a digest that people compare. */
function row({ tag, name, digest, aliases }: CatalogueImage): string[] {
  return [tag, name, digest?.slice(0, 'sha256:'.length + 12) ?? '-', aliases.join(' ')]
}
