/** A real machine: a kernel and a disk of its own, by qemu without KVM. It ends with the process that started it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { searchPath } from '../../process/command.ts'
import { marker } from '../../process/process.ts'
import type { Host, HostSpec } from '../machines/host.ts'
import { hardwareOf, type Network } from '../machines/network.ts'
import type { VmImage } from './image.ts'

const plugScript = fileURLToPath(new URL('plug.sh', import.meta.url))
export const qemu = 'qemu-system-x86_64'
const blockBytes = 512
/** Node with a runner and a supervisor, and a file system in memory for /run. */
const memory = '1024M'

export class Vm implements Host {
  readonly id: string
  readonly address: string
  readonly card: string
  readonly booted: Promise<void>
  readonly ended: Promise<void>
  readonly #child: ChildProcess
  readonly #network: Network
  readonly #console: string
  #isEnded = false

  constructor(spec: HostSpec, image: VmImage) {
    const { id, address, card, network, stateDir } = spec
    ;[this.id, this.address, this.card, this.#network] = [id, address, card, network]
    this.#console = join(stateDir, 'log', `machine-${id}.console`)
    const seed = writeSeed(spec)
    this.#child = spawnVm(spec, image, seed, this.#console)
    this.ended = new Promise(resolve =>
      this.#child.once('close', () => {
        this.#isEnded = true
        rmSync(seed, { force: true })
        resolve()
      }),
    )
    this.booted = this.#boot(seed)
    this.booted.catch(() => {})
  }

  /** It says so itself, by its second serial line. */
  async #boot(seed: string): Promise<void> {
    for await (const line of createInterface({ input: this.#child.stdout! })) {
      if (line.trim() !== 'booted') continue
      // The file has the machine's secret. qemu has it open, and goes on reading it.
      rmSync(seed, { force: true })
      // Nobody reads on, and its writer must not wait.
      this.#child.stdout!.resume()
      return
    }
    throw new Error(`machine ${this.id} has ended while it booted: see ${this.#console}`)
  }

  /** Of qemu. */
  get pid(): number {
    return this.#child.pid!
  }

  get isRunning(): boolean {
    return !this.#isEnded
  }

  async powerOff(): Promise<void> {
    if (!this.#isEnded) this.#child.kill('SIGKILL')
    await this.ended
  }

  /** What its kernel and systemd have written. */
  console(): string {
    return readFileSync(this.#console, 'utf8')
  }

  cut(): Promise<void> {
    return this.#network.switch(this.card, 'down')
  }

  mend(): Promise<void> {
    return this.#network.switch(this.card, 'up')
  }
}

/** Variables in one block, then the user data: blanks at the end of both change nothing. @returns the path */
function writeSeed({ id, address, network, userData, stateDir }: HostSpec): string {
  mkdirSync(join(stateDir, 'log'), { recursive: true })
  const file = join(stateDir, `machine-${id}.seed`)
  const variables = `NAME=${id}\nADDRESS=${address}\nBITS=${network.bits}\n`.padEnd(blockBytes, '\n')
  const bytes = Buffer.byteLength(userData)
  const padding = '\n'.repeat(blockBytes - (bytes % blockBytes))
  writeFileSync(file, `${variables}${userData}${padding}`, { mode: 0o600 })
  return file
}

/** Shared by the two disks. */
const drive = (file: string, more: string) => ['-drive', `file=${file},format=raw,if=virtio,${more}`]

function spawnVm(spec: HostSpec, image: VmImage, seed: string, console: string): ChildProcess {
  const { id, address, network, card, stateDir } = spec
  const args = [
    ...['--pdeathsig', 'KILL', qemu, '-name', id, '-nodefaults', '-no-user-config', '-display', 'none'],
    // This processor is quick to emulate, and Node and Debian run on it.
    ...['-machine', 'q35', '-accel', 'tcg', '-cpu', 'Westmere', '-smp', '1', '-m', memory],
    ...['-kernel', image.kernel, '-initrd', image.initrd],
    ...['-append', 'root=/dev/vda rw console=ttyS0 net.ifnames=0 mitigations=off'],
    // Changes go into a file without a name.
    ...drive(image.disk, 'snapshot=on'),
    ...drive(seed, 'readonly=on'),
    ...['-netdev', `tap,id=net,ifname=${card},script=${plugScript},downscript=no`],
    ...['-device', `virtio-net-pci,netdev=net,mac=${hardwareOf(address)}`, '-device', 'virtio-rng-pci'],
    ...['-serial', `file:${console}`, '-serial', 'stdio'],
  ]
  const log = openSync(join(stateDir, 'log', `machine-${id}.log`), 'a')
  const env = { PATH: searchPath.join(delimiter), BRIDGE: network.bridge, TMPDIR: stateDir, [marker]: stateDir }
  const child = spawn('setpriv', args, { env, cwd: '/', stdio: ['ignore', 'pipe', log] })
  closeSync(log)
  return child
}
