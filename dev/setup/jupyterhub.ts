/** The environment of a real JupyterHub: its packages, kept from run to run, and beside them the package of this checkout. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../process/command.ts'
import type { Progress } from '../process/progress.ts'
import { pythonEnvironment } from './python.ts'

/** Major versions of JupyterHub that the spawner works with. */
export const hubVersions = [5, 6] as const
export type HubVersion = (typeof hubVersions)[number]

/** The folder of the Python package. */
export const packageSource = fileURLToPath(new URL('../../hub', import.meta.url))

/** Resolves with the folder of the virtual environment: this JupyterHub, and packages for the spawner and its tests. */
export function hubEnvironment(version: HubVersion, progress: Progress, signal?: AbortSignal): Promise<string> {
  const name = `jupyterhub${version}`
  const requirements = join(packageSource, 'requirements', `${name}.txt`)
  return pythonEnvironment({ name, requirements, progress, signal })
}

const installing = new Map<string, Promise<string>>()

/**
 * Installs the package of this checkout into a folder of the run, for PYTHONPATH: an environment in the cache is shared
 * by all checkouts. Resolves with the folder; called once per run, since it is the same for all versions.
 */
export function hubPackage(stateDir: string, environment: string, signal?: AbortSignal): Promise<string> {
  const folder = join(stateDir, 'hub-package')
  const existing = installing.get(folder)
  if (existing) return existing
  const made = existsSync(folder) ? Promise.resolve(folder) : install(folder, environment, signal)
  installing.set(folder, made)
  return made
}

async function install(folder: string, environment: string, signal?: AbortSignal): Promise<string> {
  const options = ['--quiet', '--no-index', '--no-deps', '--no-build-isolation', '--target', folder]
  await run(join(environment, 'bin', 'python'), ['-m', 'pip', 'install', ...options, packageSource], { signal })
  return folder
}
