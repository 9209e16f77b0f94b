/** Debian's C libraries that Node needs: the only files of the image that npm's lockfile cannot name. */
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../process/command.ts'
import { debianMirror } from './python-image.ts'
import { SUITE } from './rootfs.ts'

export const librariesFile = fileURLToPath(new URL('./libraries.json', import.meta.url))

/** Libraries by architecture, in Debian's names. */
export type LibraryLock = Readonly<Record<string, readonly LockedLibrary[]>>

/** One library, under the name that programs load. */
export interface LockedLibrary {
  readonly file: string
  readonly sha256: string
  readonly package: string
  readonly version: string
}

const architectures = { amd64: 'ld-linux-x86-64.so.2', arm64: 'ld-linux-aarch64.so.1' }
const packages = ['libc6', 'libgcc-s1', 'libstdc++6']
/** Libraries that Node's program names, beside the loader; some are older names of parts that glibc has since merged. */
const wanted = ['libc.so.6', 'libdl.so.2', 'libgcc_s.so.1', 'libm.so.6', 'libpthread.so.0', 'libstdc++.so.6']
// biome-ignore lint/suspicious/noTemplateCurlyInString: syntax of dpkg
const format = '${Package} ${Version}'
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** Asks apt for the packages of the images' suite, with settings in a folder of its own; apt checks signatures. */
export async function lockLibraries(signal?: AbortSignal): Promise<LibraryLock> {
  const mirror = await debianMirror()
  const lock: Record<string, readonly LockedLibrary[]> = {}
  for (const [architecture, loader] of Object.entries(architectures)) {
    const folder = await mkdtemp(join(tmpdir(), 'skylab-libraries-'))
    try {
      await download({ folder, architecture, mirror, signal })
      lock[architecture] = await librariesIn(folder, [...wanted, loader])
    } finally {
      await rm(folder, { recursive: true })
    }
  }
  return lock
}

interface Download {
  readonly folder: string
  readonly architecture: string
  readonly mirror: string
  readonly signal?: AbortSignal | undefined
}

async function download({ folder, architecture, mirror, signal }: Download): Promise<void> {
  const list = join(folder, 'sources.list')
  await writeFile(list, `deb [signed-by=${keyring}] ${mirror} ${SUITE} main\n`)
  await writeFile(join(folder, 'status'), '')
  const settings = {
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': 'root',
    'Dir::Etc::sourcelist': list,
    'Dir::Etc::sourceparts': '-',
    'Dir::State': folder,
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': folder,
  }
  const options = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`])
  await run('apt-get', [...options, 'update', '--quiet'], { cwd: folder, signal })
  await run('apt-get', [...options, 'download', '--quiet', ...packages], { cwd: folder, signal })
}

async function librariesIn(folder: string, names: readonly string[]): Promise<LockedLibrary[]> {
  const locked: LockedLibrary[] = []
  for (const archive of (await readdir(folder)).filter(name => name.endsWith('.deb'))) {
    const path = join(folder, archive)
    const tree = `${path}.tree`
    await run('dpkg-deb', ['--extract', path, tree])
    const [name = '', version = ''] = (await run('dpkg-deb', ['--show', `--showformat=${format}`, path])).split(' ')
    const entries = await readdir(tree, { recursive: true, withFileTypes: true })
    const ours = entries.filter(each => names.includes(each.name) && !each.parentPath.includes('/gconv'))
    for (const entry of ours) {
      const file = join(entry.parentPath, entry.name)
      const target = entry.isSymbolicLink() ? await readlink(file) : entry.name
      // An absolute link would lead out of the tree; the same file has this name as well.
      if (target.startsWith('/')) continue
      const sha256 = createHash('sha256')
        .update(await readFile(join(entry.parentPath, target)))
        .digest('hex')
      locked.push({ file: entry.name, sha256, package: name, version })
    }
  }
  const found = new Map(locked.map(each => [each.file, each]))
  return names.toSorted().map(name => {
    const each = found.get(name)
    if (!each) throw new Error(`Debian's ${packages.join(', ')} have no ${name}`)
    return each
  })
}
