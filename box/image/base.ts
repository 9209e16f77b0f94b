/** Where the controller's image is put together when no image can be pulled: Debian by debootstrap, with npm. */
import { readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { run } from '../command.ts'
import type { Progress } from '../progress.ts'
import { npmVersion } from '../versions.ts'
import { cachedImage } from './cached.ts'
import { debianMirror } from './lab.ts'
import { writeLayout } from './layout.ts'
import { bootstrap, SUITE } from './rootfs.ts'

const node = `node-linux-${process.arch}@${packageJson.devDependencies.node}`
const npm = `npm@${npmVersion}`
/** Where both are in the image. */
const home = 'usr/local/lib/tools'

/** The folder of the image as an OCI layout; built when this version of it is not in the cache. */
export async function baseImage(progress: Progress, signal?: AbortSignal): Promise<string> {
  const files = await Promise.all(['base.ts', 'rootfs.ts'].map(name => readFile(new URL(name, import.meta.url))))
  const build = (out: string, work: string) =>
    progress.part(`base image: Debian ${SUITE} with npm`, () => buildBase(out, join(work, 'rootfs'), signal))
  return cachedImage({ name: 'base', recipe: [node, npm, ...files], build }, progress, signal)
}

async function buildBase(out: string, rootfs: string, signal?: AbortSignal): Promise<void> {
  await bootstrap({ rootfs, mirror: await debianMirror(), packages: ['ca-certificates'], signal })
  const quiet = ['--no-save', '--ignore-scripts', '--no-progress', '--no-audit', '--no-fund', '--loglevel=error']
  await run('npm', ['install', '--prefix', join(rootfs, home), ...quiet, node, npm], { cwd: rootfs, signal })
  const modules = join('/', home, 'node_modules')
  const bin = join(rootfs, 'usr/local/bin')
  await symlink(join(modules, node.split('@')[0]!, 'bin/node'), join(bin, 'node'))
  await symlink(join(modules, 'npm/bin/npm-cli.js'), join(bin, 'npm'))
  const config = { Env: ['PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'] }
  await writeLayout({ rootfs, out, name: 'base', config, compression: 'zstd' })
}
