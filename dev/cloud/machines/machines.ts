/** All virtual machines of one cloud. */
import { Machine } from './machine.ts'
import { type Network, openNetwork } from './network.ts'

export interface MachinesOptions {
  readonly stateDir: string
  /** Paths of this machine that all of them have too, such as a program; without blanks. */
  readonly shared?: readonly string[]
  /** The same for folders that they write too, such as one where all containers leave a mark. */
  readonly written?: readonly string[]
  /** Of the changes on the disk of each. Default 256 MiB; they are in memory as far as they are used. */
  readonly diskBytes?: number
  /** Called when one ends by itself. */
  readonly onEnd?: (id: string) => void
}

export class Machines {
  readonly network: Network
  readonly #options: MachinesOptions
  readonly #all = new Map<string, Machine>()
  readonly #leaving = new Set<string>()
  #cards = 0

  static async open(options: MachinesOptions): Promise<Machines> {
    return new Machines(options, await openNetwork())
  }

  private constructor(options: MachinesOptions, network: Network) {
    this.#options = options
    this.network = network
  }

  boot({ id, address, userData }: { id: string; address: string; userData: string }): Machine {
    const { stateDir, shared = [], written = [], diskBytes = 256 << 20, onEnd } = this.#options
    const card = `${this.network.bridge}v${this.#cards++}`
    const machine = new Machine({
      id,
      address,
      userData,
      card,
      stateDir,
      shared,
      written,
      diskBytes,
      network: this.network,
    })
    this.#all.set(id, machine)
    void machine.ended.then(() => {
      if (this.#all.get(id) === machine && !this.#leaving.has(id)) onEnd?.(id)
    })
    return machine
  }

  /** @throws when there is none of this id */
  get(id: string): Machine {
    const machine = this.#all.get(id)
    if (!machine) throw new Error(`there is no machine ${id}`)
    return machine
  }

  get running(): readonly Machine[] {
    return [...this.#all.values()].filter(({ isRunning }) => isRunning)
  }

  /** Ends it for the cloud, which knows of it. */
  async off(id: string): Promise<void> {
    this.#leaving.add(id)
    await this.#all.get(id)?.powerOff()
  }

  /** Starts it anew at its address: keys of users stay, what was in /run is gone, and its host key is another one. */
  async reboot(id: string): Promise<Machine> {
    const before = this.get(id)
    const keys = before.read('/root/.ssh/authorized_keys')
    return this.#exchange(
      before,
      `#!/bin/sh\nmkdir -p /root/.ssh\ncat >/root/.ssh/authorized_keys <<'END'\n${keys}END\n`,
    )
  }

  /** Lets another machine come up at its address. */
  replace(id: string, userData: string): Promise<Machine> {
    return this.#exchange(this.get(id), userData)
  }

  async #exchange(before: Machine, userData: string): Promise<Machine> {
    this.#leaving.add(before.id)
    await before.powerOff()
    this.#leaving.delete(before.id)
    return this.boot({ id: before.id, address: before.address, userData })
  }

  async close(): Promise<void> {
    for (const id of this.#all.keys()) this.#leaving.add(id)
    await Promise.all([...this.#all.values()].map(machine => machine.powerOff()))
    await this.network.close()
  }
}
