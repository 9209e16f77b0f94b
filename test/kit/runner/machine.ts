/** A rented machine for tests: a state folder, and processes of its runner, which keepers attach to. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { systemClock } from '../../../src/base/clock.ts'
import { processIds } from '../../../src/base/proc.ts'
import { Attached, type AttachedOptions } from '../../../src/dispatch/attached.ts'
import type { FromRunner, RunSpec, Warrant } from '../../../src/dispatch/protocol.ts'
import { endGroups } from '../../../src/runner/engines/end-groups.ts'
import { Machine } from '../../../src/runner/state/machine.ts'
import { machineId } from '../../../src/runner/state/machine-id.ts'
import { folderVariable } from '../failpoints/arms.ts'
import { FailpointArms } from '../failpoints/failpoint-arms.ts'
import { runnerProgram } from './program.ts'

export type Told = Extract<FromRunner, { readonly type: 'entry' }>

export const secret = 'the secret of this machine'

/** As a channel of SSH: the end of its input ends no output that still comes. `Duplex.from` drops it. */
function streamOf({ stdin, stdout }: ChildProcess): Duplex {
  stdin!.on('error', () => {})
  const stream = new Duplex({
    read: () => void stdout!.resume(),
    write: (chunk, _, done) => void stdin!.write(chunk, () => done()),
    final: done => void stdin!.end(() => done()),
    destroy: (error, done) => {
      stdin!.destroy()
      stdout!.destroy()
      done(error)
    },
  })
  stdout!.on('data', chunk => void (stream.push(chunk) || stdout!.pause()))
  stdout!.on('end', () => stream.push(null))
  return stream
}

export interface TestMachineOptions {
  /** Guards that its runner does without. */
  readonly controls?: string
  readonly env?: Readonly<Record<string, string>>
  /** Where its state folder is made. */
  readonly parent?: string
}

export const specOf = (script: string, more: Partial<RunSpec> = {}): RunSpec => ({
  ...{ command: ['sh', '-c', script], image: '', environment: {}, cwd: '', mounts: {} },
  ...{ vcpus: 1, ramBytes: 0, maxRunSeconds: 0 },
  ...more,
})

export const uuidOf = (number: number): string => `zzzzz-dz642-${String(number).padStart(15, '0')}`

export const warrantOf = (uuid: string, run: number, spec: RunSpec): Warrant => ({
  uuid,
  run,
  owner: 'ada',
  spec,
  seal: 'seal',
})

export class TestMachine implements AsyncDisposable {
  /** Everything of it. */
  readonly folder: string
  readonly dir: string
  readonly failpoints: FailpointArms
  readonly program: string
  readonly #env: NodeJS.ProcessEnv
  readonly #attached: Connected[] = []

  private constructor(folder: string, program: string, env: Readonly<Record<string, string>>) {
    this.folder = folder
    this.program = program
    this.dir = join(folder, 'state')
    mkdirSync(this.dir)
    this.failpoints = new FailpointArms(join(folder, 'failpoints'))
    writeFileSync(join(folder, 'secret'), `${secret}\n`)
    this.#env = {
      PATH: process.env.PATH,
      SKYLAB_RUNNER_DIR: this.dir,
      SKYLAB_INSTANCE_SECRET_FILE: join(folder, 'secret'),
      SKYLAB_RUNNER_ENGINE: 'process',
      SKYLAB_RUNNER_GRACE_MS: '500',
      [folderVariable]: this.failpoints.folder,
      ...env,
    }
  }

  static async make({ controls = '', env = {}, parent = tmpdir() }: TestMachineOptions = {}): Promise<TestMachine> {
    const program = await runnerProgram(controls)
    return new TestMachine(mkdtempSync(join(parent, 'skylab-machine-')), program, env)
  }

  get id(): string {
    return machineId(this.dir)
  }

  /** Starts `attach`, without a word. */
  spawn(): ChildProcess {
    return spawn(process.execPath, [this.program, 'runner', 'attach'], {
      env: this.#env,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
  }

  connect(options: Partial<AttachedOptions> = {}): Connected {
    const connected = new Connected(this.spawn(), options)
    this.#attached.push(connected)
    return connected
  }

  /** A connection that may act. */
  async attach(epoch: number, options: Partial<AttachedOptions> = {}): Promise<Connected> {
    const connected = this.connect(options)
    await connected.keeper.hello(epoch)
    // Entries come after the first list.
    await connected.keeper.list()
    return connected
  }

  /** Stops the process of a connection, but not inside the gate: there it would keep all others out. */
  halt({ child }: Connected): Promise<unknown> {
    return Machine.openMade(this.dir).gate.pass(async () => child.kill('SIGSTOP'))
  }

  /** The command for humans. */
  async human(...args: string[]): Promise<{ readonly out: string; readonly code: number }> {
    try {
      const { stdout } = await promisify(execFile)(process.execPath, [this.program, 'runner', ...args], {
        env: this.#env,
      })
      return { out: stdout, code: 0 }
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
      return { out: stdout + stderr, code }
    }
  }

  /** The processes of this machine, by their environment or their working folder, with their command lines. */
  processes(): { readonly pid: number; readonly line: string }[] {
    return processIds().flatMap(pid => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        const isOurs = environment.includes(this.folder) || readlinkSync(`/proc/${pid}/cwd`).startsWith(this.folder)
        return isOurs && line !== '' ? [{ pid, line }] : []
      } catch {
        return []
      }
    })
  }

  supervisorOf(uuid: string): number {
    const found = this.processes().find(({ line }) => line.includes(`supervise ${uuid}`))
    if (!found) throw new Error(`no supervisor of ${uuid}`)
    return found.pid
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.failpoints.letGo()
    for (const { child } of this.#attached) child.kill('SIGKILL')
    for (let left = this.processes(); left.length > 0; left = this.processes()) {
      for (const { pid } of left) tryKill(pid)
      await systemClock.sleep(20)
    }
    await endGroups(this.id)
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

/** One connection of a keeper, with all entries that it got. */
export class Connected {
  readonly child: ChildProcess
  readonly keeper: Attached
  readonly told: Told[] = []
  readonly beats: FromRunner[] = []
  readonly closed: Promise<Error | undefined>
  readonly exited: Promise<unknown>
  readonly stderr: Promise<string>
  #isClosed = false
  #heard: () => void = () => {}

  constructor(child: ChildProcess, options: Partial<AttachedOptions>) {
    this.child = child
    this.exited = once(child, 'exit')
    this.stderr = text(child.stderr!)
    child.stdin!.on('error', () => {})
    const closed = Promise.withResolvers<Error | undefined>()
    this.closed = closed.promise
    this.keeper = new Attached({
      stream: streamOf(child),
      clock: systemClock,
      secret,
      onEntry: told => {
        this.told.push(told)
        this.#heard()
      },
      onBeat: beat => {
        this.beats.push(beat)
        this.#heard()
      },
      onClosed: error => {
        this.#isClosed = true
        closed.resolve(error)
        this.#heard()
      },
      ...options,
    })
  }

  /** Resolves once `look` finds something in the entries so far. Rejects when the channel is closed before. */
  async until<T>(look: (told: readonly Told[]) => T | undefined): Promise<T> {
    for (;;) {
      const found = look(this.told)
      if (found !== undefined && found !== false) return found
      if (this.#isClosed) throw new Error(`closed: ${await this.closed}; ${await this.stderr}`)
      await new Promise<void>(resolve => {
        this.#heard = resolve
      })
    }
  }

  /** The last entry of a run. */
  end(uuid: string, run: number): Promise<Told> {
    return this.until(told => told.find(each => each.uuid === uuid && each.run === run && each.entry.kind === 'ended'))
  }

  running(uuid: string, run: number): Promise<Told> {
    return this.until(told =>
      told.find(each => each.uuid === uuid && each.run === run && each.entry.kind === 'running'),
    )
  }

  output(uuid: string, run: number): string {
    return outputOf(this.told.filter(told => told.uuid === uuid && told.run === run))
  }

  bytes(uuid: string, run: number): Buffer {
    return bytesOf(this.told.filter(told => told.uuid === uuid && told.run === run))
  }

  ack({ uuid, run, seq }: Told): void {
    this.keeper.ack(uuid, run, seq)
  }
}

const bytesOf = (told: readonly Told[]): Buffer =>
  Buffer.concat(told.map(({ entry }) => Buffer.from(entry.kind === 'output' ? entry.base64 : '', 'base64')))

export const outputOf = (told: readonly Told[]): string => bytesOf(told).toString()

/** Resolves once a file is there. */
export async function appears(file: string): Promise<void> {
  while (!existsSync(file)) await systemClock.sleep(10)
}
