/** A test cloud of real machines: Debian under qemu, and whoever watches them from outside. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { Machines } from '../../../dev/cloud/machines/machines.ts'
import { type Cloud, startCloudOf } from '../../../dev/cloud/start.ts'
import { vmImage } from '../../../dev/cloud/vm/image.ts'
import { qemu, Vm } from '../../../dev/cloud/vm/vm.ts'
import { findProgram } from '../../../dev/process/command.ts'
import { whyNoNamespaces } from '../../../dev/process/machine.ts'
import { createProgress } from '../../../dev/process/progress.ts'
import { testBed } from '../testbed.ts'
import type { DispatchFleet, DispatchFleetOptions } from './fleet.ts'

/** The reason why this machine runs no real ones; null when it can. */
export const whyNoRealVms = (): string | null =>
  whyNoNamespaces() ?? (findProgram(qemu) ? null : `this program is missing: ${qemu}`)

export interface VmSite {
  readonly cloud: Cloud<Vm>
  /** For files of the test. */
  readonly stateDir: string
  /** The block `CloudVMs` for it. */
  readonly block: NonNullable<DispatchFleetOptions['cloud']>
  readonly onlooker: Onlooker
  close(): Promise<void>
}

/** Machines boot as Debian does, and get their runner over SSH: nothing of this host is on them. */
export async function vmSite(): Promise<VmSite> {
  const stateDir = mkdtempSync(join(testBed().stateDir, 'vms-'))
  const image = await vmImage(createProgress())
  const cloud = await startCloudOf(place => Machines.of(place, spec => new Vm(spec, image)), { stateDir })
  const onlooker = await Onlooker.at(cloud.machines!.network.cidr.replace(/\d+\/\d+$/, '1'))
  return {
    ...{ cloud, stateDir, onlooker },
    close: async () => {
      await cloud.close()
      onlooker.close()
    },
    block: {
      ...{ Driver: 'ec2', DriverParameters: cloud.parameters, ImageID: 'ami-12345678' },
      // Two processors emulate all of it.
      ...{ BootProbeCommand: 'systemctl is-system-running', TimeoutBooting: '400s', TimeoutProbe: '40s' },
      TimeoutIdle: '300s',
    },
  }
}

/** One who saw a container begin on a machine. */
export interface Seen {
  readonly uuid: string
  readonly run: number
  readonly machine: string
  /** Lets it end. */
  letGo(): void
}

/** A server on the network of the machines: containers tell it that they have begun, and wait there for a word. */
export class Onlooker {
  readonly address: string
  readonly seen: Seen[] = []
  readonly #server = createServer(socket => this.#hear(socket))
  readonly #sockets = new Set<Socket>()
  #onSeen: (seen: Seen) => void = () => {}

  private constructor(address: string) {
    this.address = address
  }

  static async at(address: string): Promise<Onlooker> {
    const onlooker = new Onlooker(address)
    onlooker.#server.listen(0, address)
    await once(onlooker.#server, 'listening')
    return onlooker
  }

  /** @param meanwhile what a container does before it waits */
  command(meanwhile = ':'): readonly string[] {
    const { port } = this.#server.address() as AddressInfo
    const script = `exec 3<>/dev/tcp/${this.address}/${port}
echo "$SKYLAB_CONTAINER_UUID $SKYLAB_CONTAINER_RUN $(hostname)" >&3
${meanwhile}
read -r word <&3 && [ "$word" = go ]`
    return ['bash', '-c', script]
  }

  of(uuid: string): readonly Seen[] {
    return this.seen.filter(each => each.uuid === uuid)
  }

  /** Waits until a container has begun so many times. @param onEach called for each one, at once */
  async begun(uuid: string, times: number, onEach: (seen: Seen) => void = () => {}): Promise<Seen> {
    while (this.of(uuid).length < times) {
      const next = await new Promise<Seen>(resolve => {
        this.#onSeen = resolve
      })
      if (next.uuid === uuid) onEach(next)
    }
    return this.of(uuid)[times - 1]!
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #hear(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    createInterface({ input: socket }).once('line', line => {
      const [uuid = '', run, machine = ''] = line.split(' ')
      const seen = { uuid, run: Number(run), machine, letGo: () => void socket.end('go\n') }
      this.seen.push(seen)
      this.#onSeen(seen)
    })
  }
}

/** Runs a command on a machine as root, as the operator of a fleet may. It may end the machine, and so has no exit code then. */
export async function onMachine(fleet: DispatchFleet, address: string, command: string): Promise<string> {
  const options = [
    'StrictHostKeyChecking=no',
    'UserKnownHostsFile=/dev/null',
    'BatchMode=yes',
    'ConnectTimeout=30',
  ].concat('ServerAliveInterval=2', 'ServerAliveCountMax=5')
  const key = join(fleet.stateDir, 'dispatch.key')
  const args = ['-q', '-i', key, ...options.flatMap(option => ['-o', option]), `root@${address}`, command]
  const child = spawn('ssh', args, { stdio: ['ignore', 'pipe', 'ignore'] })
  return text(child.stdout)
}
