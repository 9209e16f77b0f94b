/** Keys that seal: 32 bytes each, as base64 in a file or in the environment. */
import type { Config } from '../config/schema.ts'
import type { Environment } from './config-file.ts'
import type { FileReader } from './file-reader.ts'

const keyBytes = 32

export async function readSealingKeys(
  config: Config,
  env: Environment,
  reader: FileReader,
  problems: string[],
): Promise<Buffer[]> {
  const { keyFiles } = config.sealing
  const keys = [
    ...keysIn('SKYLAB_SEALING_KEY', env.SKYLAB_SEALING_KEY || undefined, problems),
    ...(await readKeys('sealing.keyFiles', keyFiles, reader, problems)),
  ]
  if (!env.SKYLAB_SEALING_KEY && keyFiles.length === 0) {
    problems.push('sealing.keyFiles: no sealing key, here or in SKYLAB_SEALING_KEY')
  }
  return keys
}

/** The keys in a list of files, in its order. */
export async function readKeys(
  name: string,
  files: readonly string[],
  reader: FileReader,
  problems: string[],
): Promise<Buffer[]> {
  const keys: Buffer[] = []
  for (const [index, path] of files.entries()) {
    const key = `${name}.${index}`
    keys.push(...keysIn(key, await reader.text(key, path), problems))
  }
  return keys
}

/** One, or none where there is no text, or it is no key. */
function keysIn(name: string, base64: string | undefined, problems: string[]): Buffer[] {
  if (base64 === undefined) return []
  const key = Buffer.from(base64, 'base64')
  // Buffer ignores characters that are not base64, so the key is encoded again and compared.
  if (key.length === keyBytes && key.toString('base64') === base64.trim()) return [key]
  problems.push(`${name}: not ${keyBytes} bytes in base64`)
  return []
}
