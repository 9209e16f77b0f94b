/** Replicas of the controller: real `skylab serve` processes, started again when they die, as a Deployment would. */
import { fileURLToPath } from 'node:url'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { waitUntil } from '../process/api-client.ts'
import { freePort } from '../process/ports.ts'
import { type StartedProcess, startProcess, stopProcess } from '../process/process.ts'
import { aborted } from '../process/program.ts'
import { logTail } from '../process/server.ts'

const source = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** How long a Deployment's node waits before it starts a container again. */
const restartDelayMs = 2000
const readyLimitMs = 60_000
/** Above the replicas' own limit for ending (`times.drainSeconds`). */
const stopGraceMs = 30_000

export interface ReplicaOptions {
  readonly stateDir: string
  /** The file that `skylab serve` is given. */
  readonly configFile: string
  /** Name of the process, its log and, by SKYLAB_REPLICA, of the replica. */
  readonly name: string
  /** Default: a free one. */
  readonly port?: number | undefined
  /** Of readiness and metrics. Default: a free one. */
  readonly monitoringPort?: number | undefined
  /** Added to the replica's environment. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Whether one that ends is started again after 2 s. Default true. */
  readonly restart?: boolean | undefined
  /** The file that is run, such as a bundle's. Default: this checkout's source. */
  readonly program?: string | undefined
  /** Options of Node itself, before the program. */
  readonly nodeArgs?: readonly string[] | undefined
  /** Told of an unasked end and of the new start. */
  readonly say?: ((words: string) => void) | undefined
  readonly clock?: Clock | undefined
}

/** One replica on loopback. It has the same ports and name in all its lives. */
export class Replica {
  readonly name: string
  readonly port: number
  readonly monitoringPort: number
  readonly url: string
  /** Where it tells whether it is ready, and its metrics. */
  readonly monitoringUrl: string
  readonly #options: ReplicaOptions
  readonly #clock: Clock
  readonly #stopping = new AbortController()
  #process: StartedProcess | undefined
  #supervision: Promise<void> = Promise.resolve()
  #everReady = false
  #endedUnready = false

  private constructor(options: ReplicaOptions, port: number, monitoringPort: number) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.name = options.name
    this.port = port
    this.monitoringPort = monitoringPort
    this.url = `http://127.0.0.1:${port}`
    this.monitoringUrl = `http://127.0.0.1:${monitoringPort}`
  }

  /** Starts a replica, and does not wait until it is ready. */
  static async start(options: ReplicaOptions): Promise<Replica> {
    const { port = await freePort(), monitoringPort = await freePort() } = options
    const replica = new Replica(options, port, monitoringPort)
    await replica.#start()
    replica.#supervision = replica.#supervise()
    return replica
  }

  /** Of its present life, or of the last one. */
  get pid(): number {
    return this.#process!.pid
  }

  /** Resolves with the exit code, or with the signal's name, when its present life ends. */
  get ended(): Promise<number | NodeJS.Signals> {
    return this.#process!.ended
  }

  /** Waits for `/readyz` to say 200. Fails, with the end of its log, where it ends before it was ever ready. */
  async ready(signal?: AbortSignal): Promise<void> {
    const check = () => {
      if (this.#endedUnready) throw new Error(`${this.name} has ended:\n${logTail(this.#options.stateDir, this.name)}`)
    }
    await waitUntil(() => isReady(this.monitoringUrl), { what: this.name, limitMs: readyLimitMs, signal, check })
    this.#everReady = true
  }

  /** Sends a signal to its present life: SIGKILL for a crash, SIGSTOP for a machine that hangs. */
  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    process.kill(this.pid, signal)
  }

  /** Ends it for good: with SIGTERM, and after the grace with SIGKILL. */
  async stop(graceMs = stopGraceMs): Promise<void> {
    this.#stopping.abort(new Error('stopped'))
    await this.#supervision
    await stopProcess(this.#options.stateDir, this.name, graceMs)
  }

  async #start(): Promise<void> {
    const { stateDir, name, configFile, env, nodeArgs = [], program = source } = this.#options
    this.#process = await startProcess({
      name,
      command: process.execPath,
      args: [...nodeArgs, program, 'serve', '--config', configFile],
      env: {
        ...env,
        SKYLAB_PORT: String(this.port),
        SKYLAB_MONITORING_PORT: String(this.monitoringPort),
        SKYLAB_REPLICA: name,
      },
      stateDir,
    })
  }

  async #supervise(): Promise<void> {
    const stopping = this.#stopping.signal
    const stopped = aborted(stopping)
    for (;;) {
      const how = await Promise.race([this.ended, stopped])
      if (stopping.aborted) return
      this.#endedUnready = !this.#everReady
      if (this.#options.restart === false) return
      this.#options.say?.(`${this.name} has ended (${how}); it is started again in ${restartDelayMs / 1000} s`)
      await this.#clock.sleep(restartDelayMs, stopping).catch(() => {})
      if (stopping.aborted) return
      await this.#start()
    }
  }
}

async function isReady(url: string): Promise<boolean> {
  const response = await fetch(`${url}/readyz`)
  await response.body?.cancel()
  return response.status === 200
}
