/** All virtual machines of one cloud. */
import type { Host, HostSpec } from './host.ts'
import { Machine } from './machine.ts'
import { type Network, openNetwork } from './network.ts'

export interface MachinesPlace {
  readonly stateDir: string
  /** Called when one ends by itself. */
  readonly onEnd?: (id: string) => void
}

export interface MachinesOptions extends MachinesPlace {
  /** Paths of this machine that all of them have too, such as a program; without blanks. */
  readonly shared?: readonly string[]
  /** The same for folders that they write too, such as one where all containers leave a mark. */
  readonly written?: readonly string[]
  /** Of the changes on the disk of each. Default 256 MiB; they are in memory as far as they are used. */
  readonly diskBytes?: number
}

export class Machines<H extends Host = Machine> {
  readonly network: Network
  readonly #place: MachinesPlace
  readonly #start: (spec: HostSpec) => H
  readonly #all = new Map<string, H>()
  readonly #leaving = new Set<string>()
  #cards = 0

  /** Machines of namespaces. */
  static open({ shared = [], written = [], diskBytes = 256 << 20, ...place }: MachinesOptions): Promise<Machines> {
    return Machines.of(place, spec => new Machine({ ...spec, shared, written, diskBytes }))
  }

  /** Machines of any kind. */
  static async of<H extends Host>(place: MachinesPlace, start: (spec: HostSpec) => H): Promise<Machines<H>> {
    return new Machines(place, await openNetwork(), start)
  }

  private constructor(place: MachinesPlace, network: Network, start: (spec: HostSpec) => H) {
    this.#place = place
    this.#start = start
    this.network = network
  }

  boot({ id, address, userData }: Pick<HostSpec, 'id' | 'address' | 'userData'>): H {
    const { stateDir, onEnd } = this.#place
    const { network } = this
    const card = `${network.bridge}v${this.#cards++}`
    const machine = this.#start({ id, address, userData, card, stateDir, network })
    this.#all.set(id, machine)
    void machine.ended.then(() => {
      if (this.#all.get(id) === machine && !this.#leaving.has(id)) onEnd?.(id)
    })
    return machine
  }

  /** @throws when there is none of this id */
  get(id: string): H {
    const machine = this.#all.get(id)
    if (!machine) throw new Error(`there is no machine ${id}`)
    return machine
  }

  get running(): readonly H[] {
    return [...this.#all.values()].filter(({ isRunning }) => isRunning)
  }

  /** Ends it for the cloud, which knows of it. */
  async off(id: string): Promise<void> {
    this.#leaving.add(id)
    await this.#all.get(id)?.powerOff()
  }

  /** Starts it anew at its address: keys of users stay, what was in /run is gone, and its host key is another one. */
  async reboot(this: Machines, id: string): Promise<Machine> {
    const before = this.get(id)
    const keys = before.read('/root/.ssh/authorized_keys')
    return this.#exchange(
      before,
      `#!/bin/sh\nmkdir -p /root/.ssh\ncat >/root/.ssh/authorized_keys <<'END'\n${keys}END\n`,
    )
  }

  /** Lets another machine come up at its address. */
  replace(id: string, userData: string): Promise<H> {
    return this.#exchange(this.get(id), userData)
  }

  async #exchange(before: H, userData: string): Promise<H> {
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
