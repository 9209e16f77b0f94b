/**
 * A virtual machine of namespaces (network, processes, mounts, name): a system of its own to everybody who comes by SSH. It
 * ends with the process that started it, however that ends.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { searchPath } from '../../process/command.ts'
import { marker } from '../../process/process.ts'
import type { Host, HostSpec } from './host.ts'
import type { Network } from './network.ts'

const bootScript = fileURLToPath(new URL('boot.sh', import.meta.url))

export interface MachineSpec extends HostSpec {
  readonly diskBytes: number
  /** Paths of this machine that it has too, at the same place, and cannot change. */
  readonly shared: readonly string[]
  /** The same for folders that it writes too. */
  readonly written: readonly string[]
}

export class Machine implements Host {
  readonly id: string
  readonly address: string
  readonly card: string
  readonly booted: Promise<void>
  readonly ended: Promise<void>
  readonly #child: ChildProcess
  readonly #network: Network
  /** Its first process, by this machine's number. */
  #init: number | undefined
  #isEnded = false

  constructor(spec: MachineSpec) {
    this.id = spec.id
    this.address = spec.address
    this.card = spec.card
    this.#network = spec.network
    this.#child = spawnMachine(spec)
    this.ended = new Promise(resolve =>
      this.#child.once('close', () => {
        this.#isEnded = true
        resolve()
      }),
    )
    this.booted = this.#boot(spec)
    this.booted.catch(() => {})
  }

  async #boot({ userData, card, address, network }: MachineSpec): Promise<void> {
    const failed = this.ended.then(() => Promise.reject(new Error(`machine ${this.id} has ended while it booted`)))
    failed.catch(() => {})
    const lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]()
    const line = async (expected: string) => {
      const { value } = await Promise.race([lines.next(), failed])
      if (value !== expected) await failed
    }
    await line('up')
    this.#init = childOf(this.#child.pid!)
    await network.plug(card, this.#child.pid!, address)
    this.#child.stdin!.on('error', () => {})
    this.#child.stdin!.end(`go\n${userData}`)
    await line('booted')
  }

  get isRunning(): boolean {
    return !this.#isEnded
  }

  async powerOff(): Promise<void> {
    if (this.#isEnded) return
    // Its first process takes all others along before its parent hears of its end.
    try {
      process.kill(this.#init ?? this.#child.pid!, 'SIGKILL')
    } catch {
      // It was ending.
    }
    await this.ended
  }

  /** What a file of it contains. */
  read(path: string): string {
    return readFileSync(this.path(path), 'utf8')
  }

  /** The path of a file of it, for programs of this machine. */
  path(path: string): string {
    return join(`/proc/${this.#init}/root`, path)
  }

  /** Its first process, by this machine's number. */
  get pid(): number | undefined {
    return this.#init
  }

  cut(): Promise<void> {
    return this.#network.switch(this.card, 'down')
  }

  mend(): Promise<void> {
    return this.#network.switch(this.card, 'up')
  }
}

function spawnMachine({ id, address, network, stateDir, diskBytes, shared, written }: MachineSpec): ChildProcess {
  mkdirSync(join(stateDir, 'log'), { recursive: true })
  const log = openSync(join(stateDir, 'log', `machine-${id}.log`), 'a')
  const namespaces = ['--net', '--pid', '--mount', '--uts', '--ipc', '--fork', '--kill-child=KILL']
  const args = ['--pdeathsig', 'KILL', 'unshare', ...namespaces, '/bin/sh', bootScript]
  const env = {
    ...{ PATH: searchPath.join(delimiter), ADDRESS: address, NAME: id, [marker]: stateDir },
    ...{ BITS: String(network.bits), DISK: String(diskBytes), SHARED: shared.join(' ') },
    WRITTEN: written.join(' '),
  }
  const child = spawn('setpriv', args, { env, cwd: '/', stdio: ['pipe', 'pipe', log] })
  closeSync(log)
  return child
}

/** The one child of a process. */
const childOf = (pid: number) => Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0])
