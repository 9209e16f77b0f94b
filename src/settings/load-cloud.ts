/** Loads the block `dispatch` of a configuration, for a command that needs the cloud and neither Redis nor users. */
import { dirname, resolve } from 'node:path'
import type { DispatchConfig } from '../config/dispatch.ts'
import { ConfigError } from '../config/problems.ts'
import { readConfig } from './config-file.ts'
import { dispatchProblems, dispatchWarnings } from './dispatch-checks.ts'
import { type DispatchFiles, readDispatchFiles, withFullPaths } from './dispatch-files.ts'
import { FileReader } from './file-reader.ts'

export interface CloudSettings {
  /** With full paths. */
  readonly dispatch: DispatchConfig
  readonly files: DispatchFiles
  readonly warnings: readonly string[]
}

/**
 * Reads the block and the files that it names; files of other blocks may be missing.
 * @throws {ConfigError} with all problems found
 */
export async function loadCloudSettings(file: string): Promise<CloudSettings> {
  const config = await readConfig(file)
  const problems = dispatchProblems(config)
  const reader = new FileReader(dirname(resolve(file)), problems)
  const files = await readDispatchFiles(config, reader, problems)
  const { dispatch } = config
  if (problems.length > 0 || !dispatch || !files) throw new ConfigError(file, problems)
  return { dispatch: withFullPaths(dispatch, files), files, warnings: dispatchWarnings(config) }
}
