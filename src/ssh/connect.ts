/** Connects to a machine, and proves that it is ours before anything else is sent to it. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { systemClock } from '../base/clock.ts'
import { cleanLastLines } from '../base/text.ts'
import { Connection } from './connection.ts'
import { WrongSecret } from './errors.ts'
import { type RunOptions, runCommand } from './exec.ts'
import { install } from './install.ts'
import type {
  ConnectOptions,
  ExecOptions,
  Exit,
  Installed,
  InstallOptions,
  Machine,
  MachineChannel,
  Probe,
} from './machine.ts'
import type { RunnerProgram } from './program.ts'
import { quoted } from './quoted.ts'

export const secretFile = '/var/run/arvados-instance-secret'
const defaultProbe = 'systemctl is-system-running'
const defaultTimeoutMs = 20_000
/** Longer than any secret. */
const mostSecretBytes = 4096

/** See `Connect`. */
export async function connect(options: ConnectOptions): Promise<Machine> {
  const { user = 'root', timeoutMs = defaultTimeoutMs, clock = systemClock, signal, pinned } = options
  const begunMs = clock.monotonicMs()
  const connection = await Connection.open({ ...options, user, timeoutMs, clock })
  try {
    const passedMs = clock.monotonicMs() - begunMs
    // Also where the key is the pinned one: an image may have a host key in it, which all of its machines share.
    const answer = await askSecret(connection, user, { signal, timeoutMs: Math.max(1, timeoutMs - passedMs) })
    check(answer, options)
    connection.hide(answer)
    return new ProvedMachine(connection, user, pinned !== undefined && pinned !== connection.hostKey)
  } catch (error) {
    connection.close()
    throw error
  }
}

async function askSecret(connection: Connection, user: string, limits: ExecOptions): Promise<string> {
  const name = `cat ${secretFile}`
  const { exitCode, stdout } = await runCommand(connection, asRoot(user, name), {
    ...limits,
    name,
    maxBytes: mostSecretBytes,
  })
  if (exitCode !== 0) throw new WrongSecret('the machine has no secret, or not yet', 'none')
  return stdout.trim()
}

/** In the same time for every answer of a length. Neither of both is in the message. */
function check(answer: string, { secret, digest = same, address }: ConnectOptions): void {
  if (answer === '') throw new WrongSecret('the machine has no secret, or not yet', 'none')
  const isSecret = secret !== '' && timingSafeEqual(sha256(digest(answer)), sha256(secret))
  if (!isSecret)
    throw new WrongSecret(`another machine than ours answers at ${address}: its secret is another`, 'other')
}

const same = (answer: string) => answer
const sha256 = (text: string) => createHash('sha256').update(text).digest()

/** Commands of the keeper are root's. */
const asRoot = (user: string, command: string) => (user === 'root' ? command : `sudo -n sh -c ${quoted(command)}`)

class ProvedMachine implements Machine {
  readonly hostKey: string
  readonly changed: boolean
  readonly ended: AbortSignal
  readonly #connection: Connection
  readonly #user: string

  constructor(connection: Connection, user: string, changed: boolean) {
    this.#connection = connection
    this.#user = user
    this.hostKey = connection.hostKey
    this.changed = changed
    this.ended = connection.ended
  }

  exec(command: string, options: ExecOptions = {}): Promise<Exit> {
    return this.#run(command, { ...options, name: 'a command' })
  }

  async probe(command = defaultProbe, options: ExecOptions = {}): Promise<Probe> {
    const { exitCode, stdout, words } = await this.#run(command, { ...options, name: 'the boot probe' })
    if (exitCode === 0) return { isReady: true, words: '' }
    const how = exitCode === undefined ? 'a signal' : `exit code ${exitCode}`
    const said = words || cleanLastLines(this.#connection.hidden(stdout))
    return { isReady: false, words: said ? `${how}: ${said}` : how }
  }

  install(program: RunnerProgram, options: InstallOptions = {}): Promise<Installed> {
    return install((command, limits) => this.#run(command, limits), program, options)
  }

  channel(command: string, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<MachineChannel> {
    return this.#connection.start(asRoot(this.#user, command), signal)
  }

  close(): void {
    this.#connection.close()
  }

  #run(command: string, options: RunOptions): Promise<Exit> {
    return runCommand(this.#connection, asRoot(this.#user, command), options)
  }
}
