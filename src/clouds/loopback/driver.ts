/**
 * A cloud whose machines are processes of this computer, for demonstrations and tests: no other cloud, no root. A container
 * there runs as the user of Skylab itself, so it is for nobody else's containers.
 */
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { CloudCall, Driver, Instance, Intent, PreResource } from '../driver.ts'
import { IntentOver } from '../errors.ts'
import { files, Machines } from './folder.ts'
import { machineMark } from './processes.ts'

export interface LoopbackOptions {
  /** All replicas of the computer share it. */
  readonly directory: string
  readonly sets: OurSets
  /** The command that runs a machine, to which its folder is added. Default: this program's. */
  readonly launch?: readonly string[] | undefined
  readonly clock?: Clock | undefined
}

/** Machines with one of these values are ours. */
interface OurSets {
  readonly tag: string
  readonly values: readonly string[]
}

export const createLoopbackDriver = (options: LoopbackOptions): Driver => new LoopbackDriver(options)

class LoopbackDriver implements Driver {
  readonly name = 'loopback'
  readonly idempotentCreate = true
  readonly #machines: Machines
  readonly #sets: OurSets
  readonly #launch: readonly string[]
  readonly #clock: Clock

  constructor({ directory, sets, launch = ownCommand(), clock = systemClock }: LoopbackOptions) {
    this.#machines = new Machines(resolve(directory))
    this.#sets = sets
    this.#launch = launch
    this.#clock = clock
  }

  async create(intent: Intent, _prepared: readonly PreResource[], call: CloudCall): Promise<Instance> {
    const id = this.#machines.idOf(intent.tags[this.#sets.tag] ?? '', intent.token)
    await mkdir(this.#machines.folder, { recursive: true, mode: 0o700 })
    await this.#change(call, async () => {
      if (await this.#machines.make(id, intent)) this.#start(id)
    })
    const made = await this.#machines.read(id)
    if (!made || made.state === 'gone' || made.state === 'stopping') {
      throw new IntentOver(`the machine ${id} of this intent has ended`)
    }
    return made
  }

  async list({ signal }: CloudCall): Promise<readonly Instance[]> {
    signal.throwIfAborted()
    await this.#machines.prune(this.#clock.wallMs())
    return (await this.#machines.all()).filter(each => this.#isOurs(each))
  }

  async find(id: string, { signal }: CloudCall): Promise<Instance | 'unknown'> {
    signal.throwIfAborted()
    const found = await this.#machines.read(id)
    return found && this.#isOurs(found) ? found : 'unknown'
  }

  async setTags(id: string, tags: Readonly<Record<string, string>>, call: CloudCall): Promise<void> {
    const found = await this.find(id, call)
    if (found !== 'unknown') await this.#change(call, () => this.#machines.setTags(id, tags))
  }

  async destroy(id: string, call: CloudCall): Promise<void> {
    const found = await this.find(id, call)
    if (found === 'unknown' || found.state === 'gone') return
    await this.#change(call, () => this.#machines.end(id))
  }

  async orphans({ signal }: CloudCall): Promise<readonly PreResource[]> {
    signal.throwIfAborted()
    return []
  }

  async remove(_resource: PreResource, { signal }: CloudCall): Promise<void> {
    signal.throwIfAborted()
  }

  async close(): Promise<void> {}

  readonly #isOurs = ({ tags }: Instance): boolean => {
    const set = tags[this.#sets.tag]
    return set !== undefined && this.#sets.values.includes(set)
  }

  async #change({ signal, check, failpoint }: CloudCall, change: () => Promise<void>): Promise<void> {
    signal.throwIfAborted()
    await failpoint?.('before-send')
    signal.throwIfAborted()
    check?.()
    await change()
    await failpoint?.('after-send')
  }

  /** In a session of its own: it outlives this replica. Its environment has nothing of ours. */
  #start(id: string): void {
    const [command = '', ...args] = this.#launch
    const folder = this.#machines.pathOf(id)
    const log = openSync(this.#machines.pathOf(id, files.log), 'a', 0o600)
    try {
      const env = { PATH: process.env.PATH, [machineMark]: folder }
      const child = spawn(command, [...args, folder], { detached: true, stdio: ['ignore', log, log], env, cwd: folder })
      // A machine that does not start stays `pending`, as in a cloud.
      child.on('error', () => {})
      child.unref()
    } finally {
      closeSync(log)
    }
  }
}

/** `skylab loopback-machine`, of the bundled program or of a checkout. */
function ownCommand(): string[] {
  const places = ['./main.mjs', '../../main.ts'].map(place => fileURLToPath(new URL(place, import.meta.url)))
  return [process.execPath, places.find(place => existsSync(place)) ?? places[0]!, 'loopback-machine']
}
