/** Programs from PyPI, each with an environment of its own in the cache. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../process/command.ts'
import { withLock } from '../process/lock.ts'
import { cacheFolder } from '../process/paths.ts'
import type { Progress } from '../process/progress.ts'

/**
 * Options of `pip install`: only listed packages, only files with a listed checksum, and no package that must be built,
 * since its build tools are in no list.
 */
export const lockedInstall = ['--no-deps', '--require-hashes', '--only-binary=:all:']

export interface PythonEnvironment {
  /** Name of its folder in the cache. */
  readonly name: string
  /** Path of the list of packages, with versions and checksums of their files (`npm run lock`). */
  readonly requirements: string
  readonly progress: Progress
  readonly signal?: AbortSignal | undefined
}

/** Resolves with the folder of the environment; made when the cache lacks one for exactly this list. */
export async function pythonEnvironment({ name, requirements, progress, signal }: PythonEnvironment): Promise<string> {
  const sum = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12)
  const folder = join(cacheFolder(), `${name}-${sum}`)
  const whole = join(folder, 'whole')
  const install = async () => {
    if (existsSync(whole)) return
    await progress.part(`${name} from PyPI`, async () => {
      // Scripts of an environment contain its path, so it cannot be made elsewhere and moved.
      rmSync(folder, { recursive: true, force: true })
      await run('python3', ['-m', 'venv', folder], { signal })
      const pip = ['-m', 'pip', 'install', '--quiet', ...lockedInstall, '--requirement', requirements]
      await run(join(folder, 'bin', 'python'), pip, { signal })
      writeFileSync(whole, '')
    })
  }
  if (!existsSync(whole)) {
    await withLock(`install ${folder}`, install, {
      signal,
      onWait: () => progress.say(`another run installs ${name}: waiting`),
    })
  }
  return folder
}

/** Resolves with the path of the program that gives the environment its name. */
export async function pythonProgram(environment: PythonEnvironment): Promise<string> {
  return join(await pythonEnvironment(environment), 'bin', environment.name)
}
