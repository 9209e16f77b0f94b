/**
 * The root file system of a lab: Debian by debootstrap, JupyterLab by pip inside it. Needs root and Linux. All functions
 * fail with the last lines of the failing program's stderr.
 */
import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { lockedInstall } from '../setup/python.ts'
import { runConfined } from './confined.ts'

export const SUITE = 'bookworm'
/** Python's version in that suite. */
const PYTHON = 'python3.11'
/** The folder of the Python packages in the image. */
export const VENV = '/opt/lab'

/** Folders without anything that a lab runs. */
const EMPTIED = [
  'tmp',
  'var/cache/apt',
  'var/cache/debconf',
  'var/lib/apt/lists',
  'var/log',
  'usr/share/doc',
  'usr/share/info',
  'usr/share/lintian',
  'usr/share/locale',
  'usr/share/man',
]
/** Folders of Python packages that only their developers or the Hub use. */
const UNUSED_FOLDERS = [
  'tests',
  'test',
  'jedi/third_party/django-stubs',
  'jedi/third_party/typeshed/stubs',
  'jupyterlab/galata',
  // The lab serves the same files from share/jupyter/lab/static.
  'site-packages/jupyterlab/static',
  'share/jupyterhub/static/components',
]
const isUnusedFolder = (path: string) => UNUSED_FOLDERS.some(unused => path.endsWith(`/${unused}`))
/** Fewer files unpack faster: only English is kept of the translations, and no source maps. */
const isUnusedFile = (folder: string, name: string) =>
  name.endsWith('.map') || (basename(folder) === 'locale-data' && !/^(root|en|en_US|en_GB)\.dat$|^LICENSE/.test(name))

export interface Tree {
  readonly rootfs: string
  /** Ends the work and everything that it started. */
  readonly signal?: AbortSignal | undefined
}

export interface DebianTree extends Tree {
  /** The address of a Debian archive. */
  readonly mirror: string
  /** Packages beside Debian's minimal base. */
  readonly packages: readonly string[]
}

/** Installs Debian's base and some packages into an empty or missing folder. */
export async function bootstrap({ rootfs, mirror, packages, signal }: DebianTree): Promise<void> {
  const settings = join(rootfs, 'etc', 'dpkg', 'dpkg.cfg.d')
  await mkdir(settings, { recursive: true })
  // A partial tree is useless anyway, and on a slow disk syncing each file takes most of the time.
  await writeFile(join(settings, 'build'), 'force-unsafe-io\n')
  const include = `--include=${packages.join(',')}`
  // Without this debootstrap continues when Debian's keys are missing, and checks no signature.
  const options = ['--force-check-gpg', '--variant=minbase', include]
  await runConfined('debootstrap', [...options, SUITE, rootfs, mirror], { signal })
  await rm(join(settings, 'build'))
}

/**
 * Makes the virtual environment; `requirements` is a file in pip's format. While pip runs, the tree uses the machine's
 * resolver, certificates and settings of pip, since the machine can be behind a proxy with a certificate authority of
 * its own. None of it stays in the image.
 */
export async function installPython({ rootfs, signal, requirements }: Tree & { requirements: string }): Promise<void> {
  const borrowed = join(rootfs, 'tmp')
  await rm(join(rootfs, 'etc/resolv.conf'), { force: true })
  await copyFile('/etc/resolv.conf', join(rootfs, 'etc/resolv.conf'))
  await copyFile('/etc/ssl/certs/ca-certificates.crt', join(borrowed, 'ca.crt'))
  const settings = pipSettings()
  if (settings) await copyFile(settings, join(borrowed, 'pip.conf'))
  await copyFile(requirements, join(borrowed, 'requirements.txt'))
  const env = { ...registryEnv(), PATH: `${VENV}/bin:/usr/sbin:/usr/bin:/sbin:/bin`, HOME: '/root', LANG: 'C.UTF-8' }
  const inside = (...command: string[]) => runConfined('chroot', [rootfs, ...command], { signal, env })
  await inside('python3', '-m', 'venv', VENV)
  const quiet = ['--no-cache-dir', '--disable-pip-version-check', '--no-input']
  await inside(`${VENV}/bin/pip`, 'install', ...quiet, ...lockedInstall, '-r', '/tmp/requirements.txt')
  // A layer sets all times to 0. Code compiled from a file with another time counts as stale, and every start of a lab
  // would compile it again, which takes longer than the rest of the start.
  const lasting = ['-m', 'compileall', '-q', '-f', '-j', '0', '--invalidation-mode', 'unchecked-hash']
  await inside(`${VENV}/bin/python`, ...lasting, `${VENV}/lib`, '/usr/lib/python3', `/usr/lib/${PYTHON}`)
}

/** The first existing file of those where pip looks for its settings. */
function pipSettings(): string | undefined {
  const own = [join(homedir(), '.config', 'pip', 'pip.conf'), join(homedir(), '.pip', 'pip.conf')]
  return [process.env.PIP_CONFIG_FILE, ...own, '/etc/pip.conf'].find(path => path && existsSync(path))
}

/** The machine's variables about package registries and proxies, adjusted to the tree. */
function registryEnv(): Record<string, string> {
  const wanted = /^(PIP_(INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|DEFAULT_TIMEOUT|RETRIES)|(https?|no|all)_proxy)$/i
  const entries = Object.entries(process.env).filter((entry): entry is [string, string] => wanted.test(entry[0]))
  return { ...Object.fromEntries(entries), PIP_CERT: '/tmp/ca.crt', PIP_CONFIG_FILE: '/tmp/pip.conf' }
}

/** Removes files that no lab needs, and those that the build borrowed. */
export async function prune(rootfs: string): Promise<void> {
  for (const folder of EMPTIED) await empty(join(rootfs, folder))
  await pruneTree(join(rootfs, VENV))
  for (const file of ['etc/resolv.conf', 'etc/machine-id']) await writeFile(join(rootfs, file), '')
  await chmod(join(rootfs, 'tmp'), 0o1777)
  await chmod(rootfs, 0o755)
}

async function empty(folder: string): Promise<void> {
  const names = await readdir(folder).catch(ignoreMissing)
  for (const name of names ?? []) await rm(join(folder, name), { recursive: true, force: true })
}

async function pruneTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      if (isUnusedFolder(path)) await rm(path, { recursive: true })
      else await pruneTree(path)
    } else if (isUnusedFile(folder, entry.name)) await rm(path)
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
