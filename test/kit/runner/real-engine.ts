/**
 * A real podman with a storage of its own, in a folder: whatever else this machine has of podman stays as it is. Or the docker
 * that `DOCKER_HOST` names, as `npm run test:containers` starts one.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ImageConfig, writeLayout } from '../../../dev/image/layout.ts'
import { copyPrograms } from '../../../dev/image/programs.ts'
import { removeCgroups } from '../../../dev/process/cgroups.ts'
import { findProgram, run } from '../../../dev/process/command.ts'
import { changesOf } from '../../../dev/test/engine.ts'

export const canRunPodman =
  process.getuid?.() === 0 && ['podman', 'runc', 'ldd'].every(program => findProgram(program) !== null)

export const canRunDocker = process.env.DOCKER_HOST !== undefined && findProgram('docker') !== null

export const tinyImage = 'localhost/tiny:1'
/** Each user of it but root may write where all may. */
export const plainUser = '1000:1000'
/** Debian's programs that its commands use. */
const programs = ['cat', 'env', 'head', 'id', 'ls', 'perl', 'printf', 'sleep', 'tr', 'wc']

const networkPlugins = '/usr/lib/cni'
export const hasNetworkPlugins = existsSync(join(networkPlugins, 'bridge'))

/** Writes a network for containers alone: nobody else reaches them, and they reach nobody but their machine. */
function writeNetwork(folder: string, place: string): void {
  const ipam = { type: 'host-local', dataDir: join(place, 'addresses'), ranges: [[{ subnet: '10.231.0.0/24' }]] }
  const plugin = { type: 'bridge', bridge: 'skylab-inside', isGateway: true, ipMasq: false, ipam }
  const network = { cniVersion: '0.4.0', name: 'inside', plugins: [plugin] }
  writeFileSync(join(folder, 'inside.conflist'), JSON.stringify(network))
}

/**
 * Writes settings by which a podman has all of its own in one folder. They want nothing that a machine in a container lacks: no
 * systemd, no overlay, and no higher limits than this process has. runc, since crun takes no hybrid control groups.
 * @param folder of the settings. With a network podman writes a lock into it
 * @param place of all that it writes
 * @param registry of plain HTTP, by its address
 * @param hasNetwork containers have one of the machine; its addresses are the same on each machine
 * @returns the variables of a client
 */
export function configurePodman(
  folder: string,
  place: string,
  { registry = '127.0.0.1', hasNetwork = false }: { readonly registry?: string; readonly hasNetwork?: boolean } = {},
): Readonly<Record<string, string>> {
  const networks = hasNetwork ? folder : join(place, 'networks')
  if (hasNetwork) writeNetwork(networks, place)
  const at = (name: string) => JSON.stringify(join(place, name))
  const texts = {
    'storage.conf': ['[storage]', 'driver = "vfs"', `graphroot = ${at('storage')}`, `runroot = ${at('run')}`],
    'containers.conf': [
      ...['[engine]', 'cgroup_manager = "cgroupfs"', 'events_logger = "none"', 'lock_type = "file"'],
      ...['runtime = "runc"', `tmp_dir = ${at('run/libpod')}`],
      ...[
        '[containers]',
        `netns = "${hasNetwork ? 'bridge' : 'none'}"`,
        'default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]',
      ],
      ...['[network]', `network_config_dir = ${JSON.stringify(networks)}`],
      ...(hasNetwork
        ? ['network_backend = "cni"', `cni_plugin_dirs = ["${networkPlugins}"]`, 'default_network = "inside"']
        : []),
    ],
    'registries.conf': [
      ...['unqualified-search-registries = []', '[[registry]]'],
      ...[`location = ${JSON.stringify(registry)}`, 'insecure = true'],
    ],
  }
  for (const [name, lines] of Object.entries(texts)) writeFileSync(join(folder, name), `${lines.join('\n')}\n`)
  const file = (name: string) => join(folder, name)
  return {
    CONTAINERS_CONF: file('containers.conf'),
    CONTAINERS_STORAGE_CONF: file('storage.conf'),
    CONTAINERS_REGISTRIES_CONF: file('registries.conf'),
  }
}

type Name = 'podman' | 'docker'

export class RealEngine {
  readonly name: Name
  readonly folder: string
  /** Lets a client use it. */
  readonly env: Readonly<Record<string, string>>
  /** An image of Debian's shell and some of its programs, as an OCI layout. */
  readonly layout: string

  private constructor(name: Name, folder: string) {
    this.name = name
    this.folder = folder
    this.layout = join(folder, 'layout')
    this.env = name === 'podman' ? configurePodman(folder, folder) : { DOCKER_HOST: process.env.DOCKER_HOST! }
  }

  /** @param files of the image, by path */
  static async make(name: Name, files: Readonly<Record<string, Buffer>> = {}): Promise<RealEngine> {
    const engine = new RealEngine(name, mkdtempSync(join(tmpdir(), 'skylab-engine-')))
    const rootfs = join(engine.folder, 'rootfs')
    await copyPrograms(rootfs, { dash: '/bin/sh', ...Object.fromEntries(programs.map(each => [each, `/bin/${each}`])) })
    for (const folder of ['tmp', 'proc', 'dev', 'sys']) mkdirSync(join(rootfs, folder))
    for (const [path, bytes] of Object.entries(files)) writeFileSync(join(rootfs, path), bytes)
    const config = { Env: ['PATH=/bin'], User: plainUser }
    await writeLayout({ rootfs, out: engine.layout, name: tinyImage, config })
    await (name === 'podman' ? engine.#load() : engine.#import(rootfs, config))
    return engine
  }

  async #load(): Promise<void> {
    const archive = await this.#archive(this.layout)
    await this.ask('load', '--quiet', '--input', archive)
  }

  /** Debian's docker loads no layouts. */
  async #import(rootfs: string, config: ImageConfig): Promise<void> {
    const changes = changesOf(config).flatMap(change => ['--change', change])
    await this.ask('import', ...changes, await this.#archive(rootfs), tinyImage)
  }

  async #archive(folder: string): Promise<string> {
    const archive = join(this.folder, 'image.tar')
    await run('tar', ['-C', folder, '--owner=0', '--group=0', '-cf', archive, '.'])
    return archive
  }

  /** Runs the client. @returns its output, without the last line's end */
  async ask(...args: string[]): Promise<string> {
    return (await run(this.name, args, { env: { ...process.env, ...this.env } })).trim()
  }

  /** Ids of a machine's containers. */
  async left(machineId: string): Promise<string[]> {
    const ids = await this.ask('ps', '--all', '--quiet', '--filter', `label=io.skylab.machine=${machineId}`)
    return ids.split('\n').filter(Boolean)
  }

  /** Mounts of this machine for containers. */
  mounts(): string[] {
    const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
    return lines.filter(line => line.includes(this.folder))
  }

  async stop(): Promise<void> {
    if (this.name === 'podman') await this.ask('rm', '--all', '--force', '--time', '0')
    else await this.ask('image', 'rm', '--force', tinyImage)
    rmSync(this.folder, { recursive: true, force: true })
    if (this.name === 'podman') await removeCgroups('libpod_parent')
  }
}
