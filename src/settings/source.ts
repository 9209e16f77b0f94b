/** Reads a file that an operator names. */
import { readFile } from 'node:fs/promises'
import { ConfigError } from '../config/problems.ts'

/** @throws {ConfigError} */
export async function readSource(file: string): Promise<Buffer> {
  return readFile(file).catch(error => {
    throw new ConfigError(file, [`cannot be read (${error.code})`])
  })
}

/** The same as text. @throws {ConfigError} */
export const readText = async (file: string): Promise<string> => (await readSource(file)).toString()
