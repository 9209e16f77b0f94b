/** Fetches packages of npm, and compares each with its checksum in package-lock.json. */
import { createHash } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../process/command.ts'
import { type Lockfile, nameOf } from './bill.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))

export interface PackageOrder {
  readonly lock: Lockfile
  /** Paths in the lockfile, such as `node_modules/hono`. */
  readonly paths: readonly string[]
  /** An empty or missing folder. */
  readonly folder: string
  readonly signal?: AbortSignal | undefined
}

/**
 * Unpacks packages; those in npm's cache are not fetched again. Resolves with the folder of each.
 * @throws when one differs from the lockfile
 */
export async function fetchPackages({ lock, paths, folder, signal }: PackageOrder): Promise<Map<string, string>> {
  const archives = join(folder, 'archives')
  await mkdir(archives, { recursive: true })
  const specs = paths.map(path => `${nameOf(path)}@${lock.packages[path]!.version}`)
  const options = ['--pack-destination', archives, '--ignore-scripts', '--prefer-offline', '--silent']
  await run('npm', ['pack', ...new Set(specs), ...options], { cwd: checkout, signal })
  const places = new Map<string, string>()
  for (const path of paths) {
    const { version, integrity } = lock.packages[path]!
    const archive = join(archives, `${nameOf(path).replace('@', '').replace('/', '-')}-${version}.tgz`)
    const sum = createHash('sha512').update(await readFile(archive))
    if (`sha512-${sum.digest('base64')}` !== integrity) throw new Error(`${path}: is not what package-lock.json says`)
    const place = join(folder, 'trees', path)
    await mkdir(place, { recursive: true })
    await run('tar', ['-xzf', archive, '--strip-components=1', '-C', place], { signal })
    places.set(path, place)
  }
  return places
}
