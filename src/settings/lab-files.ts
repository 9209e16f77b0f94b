/** The files that only a process for labs needs. */
import type { Config } from '../config/schema.ts'
import type { Environment } from './config-file.ts'
import type { FileReader } from './file-reader.ts'
import { readSealingKeys } from './keys.ts'

export interface LabFiles {
  /** 32 bytes each. The first key seals; all keys open. */
  readonly sealingKeys: readonly Buffer[]
  /** PEM of `images.caFile`. */
  readonly registryAuthorities?: string
  /** The contents of `images.credentialsFile`, known to be a JSON object. */
  readonly registryCredentials?: string
}

export const withoutLabs: LabFiles = { sealingKeys: [] }

export async function readLabFiles(
  config: Config,
  env: Environment,
  reader: FileReader,
  problems: string[],
): Promise<LabFiles> {
  const sealingKeys = await readSealingKeys(config, env, reader, problems)
  const registryAuthorities = await reader.text('images.caFile', config.images.caFile)
  const registryCredentials = await readCredentials(config.images, reader, problems)
  return {
    sealingKeys,
    ...(registryAuthorities !== undefined && { registryAuthorities }),
    ...(registryCredentials !== undefined && { registryCredentials }),
  }
}

/** The contents of `images.credentialsFile`. */
export async function readCredentials(
  { credentialsFile }: Pick<Config['images'], 'credentialsFile'>,
  reader: FileReader,
  problems: string[],
): Promise<string | undefined> {
  const key = 'images.credentialsFile'
  const text = await reader.text(key, credentialsFile)
  // The message quotes nothing: the file contains a secret.
  if (text !== undefined && !isJsonObject(text)) problems.push(`${key}: is no JSON object`)
  return text
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
