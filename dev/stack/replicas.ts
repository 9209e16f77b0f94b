/** Replicas of the controller: real `skylab serve` processes, restarted when they end, as by a Deployment. */
import { fileURLToPath } from 'node:url'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { nodeEnv } from '../image/node-options.ts'
import { waitUntil } from '../process/api-client.ts'
import { freePort } from '../process/ports.ts'
import { type StartedProcess, startProcess, stopProcess } from '../process/process.ts'
import { aborted } from '../process/program.ts'
import { logTail } from '../process/server.ts'

const source = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** The delay before a node restarts a Deployment's container. */
const restartDelayMs = 2000
const readyLimitMs = 60_000
/** Longer than the replicas' own limit for ending (`times.drainSeconds`). */
const stopGraceMs = 30_000

export interface ReplicaOptions {
  readonly stateDir: string
  /** The configuration file for `skylab serve`. */
  readonly configFile: string
  /** Name of the process, of its log and, by SKYLAB_REPLICA, of the replica. */
  readonly name: string
  /** Default: a free port. */
  readonly port?: number | undefined
  /** Port of readiness and metrics. Default: a free port. */
  readonly monitoringPort?: number | undefined
  /** Variables added to the replica's environment. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Whether it is restarted 2 s after it ended. Default true. */
  readonly restart?: boolean | undefined
  /** The file to run, for example a bundle's. Default: this checkout's source. */
  readonly program?: string | undefined
  /** More options of Node, after those of the image. */
  readonly nodeArgs?: readonly string[] | undefined
  /** Called for an unexpected end and for the restart. */
  readonly say?: ((words: string) => void) | undefined
  readonly clock?: Clock | undefined
}

/** One replica on loopback. It keeps its ports and name over restarts. */
export class Replica {
  readonly name: string
  readonly port: number
  readonly monitoringPort: number
  readonly url: string
  /** URL of readiness and metrics. */
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

  /** Starts a replica without waiting until it is ready. */
  static async start(options: ReplicaOptions): Promise<Replica> {
    const { port = await freePort(), monitoringPort = await freePort() } = options
    const replica = new Replica(options, port, monitoringPort)
    await replica.#start()
    replica.#supervision = replica.#supervise()
    return replica
  }

  /** Pid of the current process, or of the last one. */
  get pid(): number {
    return this.#process!.pid
  }

  /** Resolves with the exit code, or with the signal's name, when the current process ends. */
  get ended(): Promise<number | NodeJS.Signals> {
    return this.#process!.ended
  }

  /** Waits until `/readyz` answers 200. Fails with the end of its log when it ended before it was ever ready. */
  async ready(signal?: AbortSignal, limitMs = readyLimitMs): Promise<void> {
    const check = () => {
      if (this.#endedUnready) throw new Error(`${this.name} has ended:\n${logTail(this.#options.stateDir, this.name)}`)
    }
    await waitUntil(() => isReady(this.monitoringUrl), { what: this.name, limitMs, signal, check })
    this.#everReady = true
  }

  /** Sends a signal to the current process: SIGKILL for a crash, SIGSTOP for a hanging machine. */
  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    process.kill(this.pid, signal)
  }

  /** Ends it without a restart: with SIGTERM, and after the grace with SIGKILL. */
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
        ...nodeEnv,
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
      this.#options.say?.(`${this.name} has ended (${how}); restart in ${restartDelayMs / 1000} s`)
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
