/** Packages from npm that tests alone use: each list with a folder of its own in the cache, beside none of ours. */
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../process/command.ts'
import { withLock } from '../process/lock.ts'
import { cacheFolder } from '../process/paths.ts'
import type { Progress } from '../process/progress.ts'

export interface NpmPackages {
  /** Of its folder in the cache. */
  readonly name: string
  /** Folder of package.json and package-lock.json. */
  readonly source: string
  readonly progress: Progress
  readonly signal?: AbortSignal | undefined
}

const lists = ['package.json', 'package-lock.json']
/** As the lockfile says, without touching it; no package runs anything of its own while it is installed. */
const install = ['install', '--no-save', '--ignore-scripts', '--no-progress', '--no-audit', '--no-fund']

/** Resolves with the folder that has `node_modules`, made where the cache has none of these very packages. */
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
      // Whoever looks sees all packages or none.
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
