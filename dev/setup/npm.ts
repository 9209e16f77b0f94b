/** Packages from npm that only tests use: each list has a folder of its own in the cache, apart from the project's. */
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../process/command.ts'
import { withLock } from '../process/lock.ts'
import { cacheFolder } from '../process/paths.ts'
import type { Progress } from '../process/progress.ts'

export interface NpmPackages {
  /** Name of its folder in the cache. */
  readonly name: string
  /** Folder of package.json and package-lock.json. */
  readonly source: string
  readonly progress: Progress
  readonly signal?: AbortSignal | undefined
}

const lists = ['package.json', 'package-lock.json']
/** Follows the lockfile without changing it; packages run no scripts during the installation. */
const install = ['install', '--no-save', '--ignore-scripts', '--no-progress', '--no-audit', '--no-fund']

/** Resolves with the folder that has `node_modules`; installed when the cache lacks exactly these packages. */
export async function npmPackages({ name, source, progress, signal }: NpmPackages): Promise<string> {
  const sum = createHash('sha256')
  for (const list of lists) sum.update(readFileSync(join(source, list)))
  const folder = join(cacheFolder(), `${name}-${sum.digest('hex').slice(0, 12)}`)
  const bring = async () => {
    if (existsSync(folder)) return
    await progress.part(`${name} from npm`, async () => {
      const part = `${folder}.part`
      rmSync(part, { recursive: true, force: true })
      mkdirSync(part)
      for (const list of lists) cpSync(join(source, list), join(part, list))
      await run('npm', [...install, '--loglevel=error'], { cwd: part, signal })
      // Other runs see all packages or none.
      renameSync(part, folder)
    })
  }
  if (!existsSync(folder)) {
    await withLock(`install ${folder}`, bring, {
      signal,
      onWait: () => progress.say(`another run installs ${name}: waiting`),
    })
  }
  return folder
}
