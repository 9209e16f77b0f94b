/** A cloud in memory with the troubles of Arvados' stub driver: its machines are SSH servers of this process. */
import type { CloudCall, Driver, Instance, Intent, PreResource } from '../../src/clouds/driver.ts'
import { AtQuota, IntentOver, NoCapacity, RateLimited, Unanswered } from '../../src/clouds/errors.ts'
import { type SshServer, serveSsh } from '../../src/clouds/loopback/server.ts'
import { newKey } from '../../src/ssh/new-key.ts'
import { Played, type Troubles } from '../keepers/played.ts'

export interface StubOptions {
  /** Shares of calls that fail. */
  readonly failingCreates: number
  readonly failingDestroys: number
  /** Between two creations; one that comes earlier is refused. */
  readonly createEveryMs: number
  readonly quota: number
  /** Cannot be had. */
  readonly dry: string
  /** @param number of the machine, from 1 */
  readonly troublesOf: (number: number, providerType: string) => Troubles
}

interface Machine {
  readonly id: string
  readonly token: string
  readonly providerType: string
  tags: Readonly<Record<string, string>>
  address: string
  server: SshServer | undefined
  played: Played | undefined
  isGone: boolean
}

export class StubCloud implements Driver {
  readonly name = 'stub'
  readonly idempotentCreate = true
  /** Answers to calls, by their name. */
  readonly counts: Record<string, number> = {}
  readonly #options: StubOptions
  readonly #machines = new Map<string, Machine>()
  readonly #hostKey = newKey().private
  #createdMs = Number.NEGATIVE_INFINITY

  constructor(options: StubOptions) {
    this.#options = options
  }

  get live(): number {
    return [...this.#machines.values()].filter(({ isGone }) => !isGone).length
  }

  async create(intent: Intent, _prepared: readonly PreResource[], call: CloudCall): Promise<Instance> {
    call.signal.throwIfAborted()
    const { createEveryMs, failingCreates, quota, dry } = this.#options
    const standing = [...this.#machines.values()].find(({ token }) => token === intent.token)
    if (standing?.isGone) throw new IntentOver('the machine of this intent has ended')
    if (standing) return shown(standing)
    const waitMs = this.#createdMs + createEveryMs - performance.now()
    if (waitMs > 0) throw this.#fails('rateLimited', new RateLimited('too many calls', Date.now() + waitMs))
    this.#createdMs = performance.now()
    if (Math.random() < failingCreates) throw this.#fails('failedCreates', new Unanswered('the cloud failed'))
    if (this.live >= quota) throw this.#fails('atQuota', new AtQuota('no more machines', 'all'))
    if (intent.providerType === dry) throw this.#fails('dry', new NoCapacity('none of this type'))
    return this.#make(intent)
  }

  async list(): Promise<readonly Instance[]> {
    return [...this.#machines.values()].map(shown)
  }

  async find(id: string): Promise<Instance | 'unknown'> {
    const machine = this.#machines.get(id)
    return machine ? shown(machine) : 'unknown'
  }

  async setTags(id: string, tags: Readonly<Record<string, string>>): Promise<void> {
    const machine = this.#machines.get(id)
    if (machine) machine.tags = { ...machine.tags, ...tags }
  }

  async destroy(id: string): Promise<void> {
    if (Math.random() < this.#options.failingDestroys)
      throw this.#fails('failedDestroys', new Unanswered('the cloud failed'))
    const machine = this.#machines.get(id)
    if (!machine || machine.isGone) return
    machine.isGone = true
    machine.played?.end()
    machine.server?.stop()
    this.#count('destroyed')
  }

  orphans = async (): Promise<readonly PreResource[]> => []
  remove = async (): Promise<void> => {}
  close = async (): Promise<void> => {}

  async #make({ token, providerType, tags, publicKey, initCommand }: Intent): Promise<Instance> {
    const number = this.#machines.size + 1
    const machine: Machine = {
      ...{ id: `stub-${number}`, token, providerType, tags, address: '', isGone: false },
      ...{ server: undefined, played: undefined },
    }
    this.#machines.set(machine.id, machine)
    this.#count('created')
    const [, secret = ''] = /printf %s '([0-9a-f]+)'/.exec(initCommand) ?? []
    const program = { name: 'skylab', sha256: '' }
    const played = new Played({ secret, program }, this.#options.troublesOf(number, providerType))
    machine.played = played
    machine.server = await serveSsh({
      ...{ authorizedKey: publicKey, hostKey: this.#hostKey },
      run: (channel, command) => played.run(channel, command),
    })
    machine.address = `127.0.0.1:${machine.server.port}`
    return shown(machine)
  }

  #fails<E extends Error>(what: string, error: E): E {
    this.#count(what)
    return error
  }

  #count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }
}

const shown = ({ id, address, providerType, tags, isGone }: Machine): Instance => ({
  ...{ id, providerType, tags, state: isGone ? 'gone' : 'running' },
  address: address || undefined,
})
