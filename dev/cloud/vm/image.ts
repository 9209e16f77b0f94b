/** The disk and the kernel of a real machine: Debian with systemd and OpenSSH, by debootstrap. Needs root. */
import { chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cachedImage } from '../../image/cached.ts'
import { runConfined } from '../../image/confined.ts'
import { debianMirror } from '../../image/python-image.ts'
import { bootstrap, SUITE } from '../../image/rootfs.ts'
import { run } from '../../process/command.ts'
import type { Progress } from '../../process/progress.ts'

const guest = fileURLToPath(new URL('guest', import.meta.url))
const units = ['machine-network', 'machine-user-data'] as const
/** Work of a day: it would begin with the machine, and take its processor. */
const timers = ['apt-daily', 'apt-daily-upgrade', 'dpkg-db-backup', 'e2scrub_all', 'fstrim'].map(
  name => `${name}.timer`,
)
const packages = [
  'systemd',
  'systemd-sysv',
  'udev',
  'dbus',
  'openssh-server',
  'iproute2',
  'procps',
  'util-linux',
].concat('initramfs-tools', 'linux-image-cloud-amd64')
/** Without anything that a machine runs. */
const emptied = ['var/cache/apt', 'var/lib/apt/lists', 'usr/share/doc', 'usr/share/locale', 'usr/share/man', 'var/log']
/** Of the disk; most of it is a hole in the file. */
const diskSize = '2G'

/** Paths of its files. */
export interface VmImage {
  readonly kernel: string
  readonly initrd: string
  /** A file system without partitions; each machine writes to a copy of its own. */
  readonly disk: string
}

/** Built when the cache lacks this version. */
export async function vmImage(progress: Progress, signal?: AbortSignal): Promise<VmImage> {
  const files = (await readdir(guest)).toSorted()
  const recipe = await Promise.all([
    readFile(fileURLToPath(import.meta.url)),
    ...files.map(name => readFile(join(guest, name))),
  ])
  const build = (out: string, work: string) =>
    progress.part(`disk of real machines: Debian ${SUITE}`, () => buildDisk(out, work, signal))
  const folder = await cachedImage({ name: 'vm', recipe: [SUITE, ...recipe], build }, progress, signal)
  return { kernel: join(folder, 'kernel'), initrd: join(folder, 'initrd'), disk: join(folder, 'disk') }
}

async function buildDisk(out: string, work: string, signal?: AbortSignal): Promise<void> {
  const rootfs = join(work, 'rootfs')
  await bootstrap({ rootfs, mirror: await debianMirror(), packages, signal })
  for (const unit of units) {
    const program = join(rootfs, 'usr/local/sbin', unit)
    await copyFile(join(guest, `${unit.slice('machine-'.length)}.sh`), program)
    await chmod(program, 0o755)
    await copyFile(join(guest, `${unit}.service`), join(rootfs, 'etc/systemd/system', `${unit}.service`))
  }
  const systemctl = (...args: string[]) => runConfined('chroot', [rootfs, 'systemctl', ...args], { signal })
  await systemctl('enable', ...units)
  await systemctl('mask', ...timers)
  const files = join(work, 'files')
  await mkdir(files)
  for (const [name, wanted] of [
    ['kernel', 'vmlinuz-'],
    ['initrd', 'initrd.img-'],
  ] as const)
    await copyFile(await oneOf(join(rootfs, 'boot'), wanted), join(files, name))
  for (const folder of emptied) {
    await rm(join(rootfs, folder), { recursive: true, force: true })
    await mkdir(join(rootfs, folder), { recursive: true })
  }
  // Each machine makes its own. debootstrap has copied name and resolver of this host.
  const keys = ['rsa', 'ecdsa', 'ed25519'].flatMap(key => [`ssh_host_${key}_key`, `ssh_host_${key}_key.pub`])
  for (const file of [
    ...keys.map(key => `etc/ssh/${key}`),
    'etc/hostname',
    'etc/resolv.conf',
    'var/lib/dbus/machine-id',
  ])
    await rm(join(rootfs, file), { force: true })
  // Empty: systemd draws one, and yet does not take the boot for the first of a new installation.
  await writeFile(join(rootfs, 'etc/machine-id'), '')
  await run('mke2fs', ['-q', '-t', 'ext4', '-L', 'root', '-d', rootfs, join(files, 'disk'), diskSize], { signal })
  await run('mv', [files, out])
}

async function oneOf(folder: string, beginning: string): Promise<string> {
  const found = (await readdir(folder)).find(name => name.startsWith(beginning))
  if (found === undefined) throw new Error(`Debian's kernel package has no ${beginning}…`)
  return join(folder, found)
}
