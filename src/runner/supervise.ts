/**
 * `skylab runner supervise` (internal): one process for each run, which needs nobody. Its starter says `go` once it has proved
 * that it holds the lock; without that word nothing ever runs.
 */
import { createInterface } from 'node:readline'
import { type Clock, systemClock } from '../base/clock.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Gateway, RunEnd, Warrant } from '../dispatch/protocol.ts'
import { Control } from './control.ts'
import { Cgroup } from './engines/cgroups.ts'
import type { Engine, Running } from './engines/engine.ts'
import { engineOf } from './engines/engines.ts'
import { words } from './launch.ts'
import { allRead } from './patience.ts'
import { Machine } from './state/machine.ts'
import type { RunnerOptions } from './state/options.ts'
import { type Begun, RunFolder } from './state/run-folder.ts'
import { Spool } from './state/spool.ts'
import type { RunTunnel } from './tunnel/tunnel.ts'

const longestReason = 1000
const againMs = 1000

/** @returns the exit code, for the log */
export async function supervise(uuid: string, run: number, options: RunnerOptions): Promise<number> {
  // Its starter may die.
  process.stdout.on('error', () => {})
  const machine = Machine.openMade(options.dir)
  const folder = new RunFolder(machine.runsDir, uuid, run)
  const warrant = folder.warrant()
  if (!warrant) return 1
  const supervisor = new Supervisor({ machine, folder, warrant, options, clock: systemClock })
  if (!(await supervisor.take())) return 1
  await failpoint('runner.supervise.locked')
  process.stdout.write(`${words.locked}\n`)
  if (!(await isToldToGo())) return 1
  // The session of its starter, and a machine that goes down.
  process.on('SIGHUP', () => {})
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => supervisor.kill())
  await supervisor.begin(() => process.stdout.write(`${words.begun}\n`))
  return 0
}

async function isToldToGo(): Promise<boolean> {
  for await (const line of createInterface({ input: process.stdin })) return line === words.go
  return false
}

interface SupervisorParts {
  readonly machine: Machine
  readonly folder: RunFolder
  readonly warrant: Warrant
  readonly options: RunnerOptions
  readonly clock: Clock
}

class Supervisor {
  readonly #parts: SupervisorParts
  readonly #control: Control
  readonly #spool: Spool
  #engine: Engine | undefined
  #tunnel: RunTunnel | undefined
  /** Set by the first reason to end it. */
  #ending: { readonly isTimedOut: boolean } | undefined
  #hasEnded = false
  #cancelTimers: (() => void)[] = []

  constructor(parts: SupervisorParts) {
    this.#parts = parts
    const { machine, folder, options, clock } = parts
    this.#spool = new Spool({ folder, clock, mostBytes: options.spoolBytes, onWritten: seq => this.#control.tell(seq) })
    this.#control = new Control({
      name: machine.lockName(folder.uuid, folder.run),
      key: machine.key,
      seq: () => this.#spool.seq,
      onKill: () => this.kill(),
    })
  }

  take(): Promise<boolean> {
    return this.#control.take()
  }

  /** @param onBegun called once the folder says that something may run */
  async begin(onBegun: () => void): Promise<void> {
    const { machine, folder, warrant, options, clock } = this.#parts
    const group =
      options.engine === 'process'
        ? Cgroup.make(options.cgroups, machine.id, `${folder.uuid}.${folder.run}`)
        : undefined
    const begun: Begun = { engine: options.engine, ...(group && { cgroup: group.path }) }
    folder.setBegun(begun)
    onBegun()
    await failpoint('runner.supervise.begun')
    const { engine, pullMs } = options
    this.#engine = engineOf({ warrant, folder, machineId: machine.id, clock, engine, begun, pullMs })
    const end = await this.#run(this.#engine)
    await failpoint('runner.supervise.before-end')
    this.#hasEnded = true
    for (const cancel of this.#cancelTimers) cancel()
    this.#spool.ended(end)
    await failpoint('runner.supervise.ended')
    await this.#engine.clean().catch(() => {})
    this.#control.free()
  }

  /** SIGTERM now, and at each further call; SIGKILL after the grace, again and again until nothing is left. */
  kill(isTimedOut = false): void {
    const isFirst = this.#ending === undefined
    this.#ending ??= { isTimedOut }
    this.#try(this.#engine?.terminate())
    if (isFirst) this.#after(this.#parts.options.graceMs, () => void this.#destroy())
  }

  /** An engine may refuse it now, for example while a container begins. */
  async #destroy(): Promise<void> {
    const isDone = await this.#engine?.destroy().catch(logged)
    if (!isDone && !this.#hasEnded) this.#after(againMs, () => void this.#destroy())
  }

  async #run(engine: Engine): Promise<RunEnd> {
    const end = await this.#runToEnd(engine)
    if (!this.#ending) return end
    const { isTimedOut } = this.#ending
    return { ...end, reason: isTimedOut ? 'it ran too long' : 'killed', ...(isTimedOut && { timedOut: true }) }
  }

  async #runToEnd(engine: Engine): Promise<RunEnd> {
    if (this.#ending) return {}
    let running: Running
    const gateway = await this.#openTunnel(engine)
    try {
      running = await engine.start()
    } catch (error) {
      return asEnd(error)
    }
    await failpoint('runner.supervise.started')
    this.#spool.started(running.process, gateway)
    if (this.#ending) this.#try(engine.terminate())
    const { machine, folder, warrant, clock } = this.#parts
    const { maxRunSeconds } = warrant.spec
    if (maxRunSeconds > 0) this.#after(maxRunSeconds * 1000, () => this.kill(true))
    running.stdout.on('data', bytes => this.#spool.output('stdout', bytes))
    running.stderr.on('data', bytes => this.#spool.output('stderr', bytes))
    const end = await running.done.catch(asEnd)
    // From here on nobody begins another process, which would outlive it.
    this.#tunnel?.close()
    await this.#nothingIsLeft(engine)
    await allRead([running.stdout, running.stderr], clock, () =>
      machine.setBroken(`a process of ${folder.uuid} may be left: its output is still open`),
    )
    return end
  }

  /** A container without a tunnel is better than none. */
  async #openTunnel(engine: Engine): Promise<Gateway | undefined> {
    const { folder } = this.#parts
    try {
      const { RunTunnel } = await import('./tunnel/tunnel.ts')
      this.#tunnel = RunTunnel.of(folder, engine)
      return await this.#tunnel?.listen()
    } catch (error) {
      process.stderr.write(`no tunnel: ${(error as Error).message}\n`)
      return undefined
    }
  }

  /** Others of its processes may be left. None must outlive the end that is reported, so this tries for ever. */
  async #nothingIsLeft(engine: Engine): Promise<void> {
    while (!(await engine.destroy().catch(() => false))) {
      this.#parts.machine.setBroken(`processes of ${this.#parts.folder.uuid} could not be killed`)
      await this.#parts.clock.sleep(againMs)
    }
  }

  #after(ms: number, ring: () => void): void {
    this.#cancelTimers.push(this.#parts.clock.after(ms, ring))
  }

  /** If the engine fails now, the next kill tries again, and so does the end. */
  #try(work: Promise<unknown> | undefined): void {
    work?.catch(logged)
  }
}

const logged = (error: unknown) => void process.stderr.write(`${(error as Error).message}\n`)

const asEnd = (error: unknown): RunEnd => ({ reason: (error as Error).message.slice(0, longestReason) })
