/** Loads the part of a configuration about images, for commands that need neither keys nor cluster. */
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import type { ImageConfig } from '../config/images.ts'
import { ConfigError, schemaProblems } from '../config/problems.ts'
import { configSchema } from '../config/schema.ts'
import { imageProblems } from './checks.ts'
import { readYaml } from './config-file.ts'
import { FileReader } from './file-reader.ts'
import { readCredentials } from './lab-files.ts'

export interface RegistrySettings {
  readonly images: ImageConfig
  /** PEM of `images.caFile`. */
  readonly authorities: string | undefined
  /** The contents of `images.credentialsFile`. */
  readonly credentials: string | undefined
}

const imagesAlone = z.object({ images: configSchema.shape.images })

/**
 * Reads the block `images` and the files that it names; other parts of the file may be invalid.
 * @throws {ConfigError} with all problems found
 */
export async function loadRegistrySettings(file: string): Promise<RegistrySettings> {
  const parsed = imagesAlone.safeParse(await readYaml(file))
  if (!parsed.success) throw new ConfigError(file, schemaProblems(parsed.error))
  const { images } = parsed.data
  const problems = imageProblems({ images })
  const reader = new FileReader(dirname(resolve(file)), problems)
  const authorities = await reader.text('images.caFile', images.caFile)
  const credentials = await readCredentials(images, reader, problems)
  if (problems.length > 0) throw new ConfigError(file, problems)
  return { images, authorities, credentials }
}
