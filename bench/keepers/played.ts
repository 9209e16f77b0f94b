/** A machine that is played: it proves itself, has the runner already, and speaks its words. Nothing ever runs on it. */
import type { ServerChannel } from 'ssh2'
import { Lines } from '../../src/dispatch/lines.ts'
import {
  type Entry,
  type Listed,
  longestLineBytes,
  type Refusal,
  type ToRunner,
  type Warrant,
} from '../../src/dispatch/protocol.ts'
import { isMisread, readAsked } from '../../src/runner/asked.ts'
import { nowMs } from './now.ts'
import { Session } from './session.ts'

/** The interval of a runner that is given no other. */
const usualBeatMs = 3000

export interface PlayedOptions {
  readonly secret: string
  /** The program that it has by now, as keepers look for it. */
  readonly program: { readonly name: string; readonly sha256: string }
}

/** What is wrong with a machine. */
export interface Troubles {
  /** Why a command cannot be run now, as an exit code. */
  readonly refuses?: (command: string) => number | undefined
  /** It says nothing any more. */
  readonly isSilent?: () => boolean
  /** As its runner says. */
  readonly broken?: () => string | undefined
  /** What happens to a container: entries, each with its time after the one before. Default: it ends as soon as it begins. */
  readonly course?: () => readonly { readonly afterMs: number; readonly entry: Entry }[]
}

interface Run {
  readonly warrant: Warrant
  readonly entries: Entry[]
}

const at = (): number => Date.now()

const usualCourse = () => [
  { afterMs: 0, entry: { kind: 'running', atMs: at() } as const },
  { afterMs: 0, entry: { kind: 'ended', atMs: at(), end: { exitCode: 0 } } as const },
]

export class Played {
  /** When each hello was obeyed. */
  readonly hellos: number[] = []
  /** When each container was to be started first, by its uuid. */
  readonly starts = new Map<string, number>()
  readonly #options: PlayedOptions
  readonly #troubles: Troubles
  /** Not acknowledged to their end. */
  readonly #runs = new Map<string, Run>()
  readonly #highest = new Map<string, number>()
  #epoch = 0
  #session: Session | undefined
  #isEnded = false

  constructor(options: PlayedOptions, troubles: Troubles = {}) {
    this.#options = options
    this.#troubles = troubles
  }

  /** What keepers run on a machine. */
  run(channel: ServerChannel, command: string): void {
    channel.on('error', () => {})
    if (this.#isSilent) return
    const refused = this.#troubles.refuses?.(command)
    if (refused !== undefined) exit(channel, refused)
    else if (command.includes(' runner attach'))
      this.#attach(channel, Number(/SKYLAB_RUNNER_BEAT_MS=(\d+)/.exec(command)?.[1] ?? usualBeatMs))
    else this.#answer(channel, command)
  }

  /** It is destroyed. */
  end(): void {
    this.#isEnded = true
    this.#session?.close()
  }

  get #isSilent(): boolean {
    return this.#isEnded || this.#troubles.isSilent?.() === true
  }

  #answer(channel: ServerChannel, command: string): void {
    const { secret, program } = this.#options
    const words = command.startsWith('cat ')
      ? secret
      : command.includes('skylab machine')
        ? `skylab machine ${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}\nskylab file ${program.name} ${program.sha256}  -`
        : 'skylab'
    channel.write(`${words}\n`)
    exit(channel, 0)
  }

  #attach(channel: ServerChannel, beatMs: number): void {
    const lines = new Lines(longestLineBytes)
    const beat = () => (this.#isSilent ? undefined : { broken: this.#troubles.broken?.() })
    const session = new Session(channel, beatMs, beat)
    channel.on('data', (chunk: Buffer) => {
      for (const line of this.#isSilent ? [] : lines.take(chunk)) {
        const asked = readAsked(String(line))
        if (isMisread(asked)) session.close()
        else this.#hear(session, asked)
      }
    })
    channel.on('close', () => session.close())
  }

  #hear(session: Session, asked: ToRunner): void {
    if (asked.type === 'hello') this.#hello(session, asked.epoch)
    else if (session !== this.#session) this.#refuse(session, 'epoch', this.#epoch)
    else if (asked.type === 'list') this.#list(session, asked.id)
    else if (asked.type === 'start') this.#start(session, asked)
    else if (asked.type === 'kill') this.#refuse(session, 'unknown', this.#epoch, asked.id)
    else this.#acknowledged(asked.uuid, asked.seq)
  }

  #hello(session: Session, epoch: number): void {
    const isOld = epoch < this.#epoch
    const refused = isOld ? session : this.#session
    if (refused && (isOld || refused !== session)) this.#refuse(refused, 'epoch', Math.max(epoch, this.#epoch))
    if (isOld) return
    this.#epoch = epoch
    this.#session = session
    this.hellos.push(nowMs())
    session.say({ type: 'welcome', epoch, version: 'played', highestRun: Math.max(0, ...this.#highest.values()) })
    session.beat()
  }

  #list(session: Session, id: number): void {
    const broken = this.#troubles.broken?.()
    const runs = [...this.#runs.values()]
    session.say({ type: 'listed', id, runs: runs.map(listed), ...(broken !== undefined && { broken }) })
    for (const { warrant, entries } of runs)
      for (const [index, entry] of entries.entries()) session.tell(warrant, index + 1, entry)
  }

  #start(session: Session, { type: _, id, key: __, ...warrant }: Extract<ToRunner, { type: 'start' }>): void {
    const { uuid, run } = warrant
    const highest = this.#highest.get(uuid) ?? 0
    const broken = this.#troubles.broken?.()
    if (run <= highest || broken !== undefined) {
      this.#refuse(session, broken === undefined ? 'run' : 'broken', highest, id)
      return
    }
    if (!this.starts.has(uuid)) this.starts.set(uuid, nowMs())
    this.#highest.set(uuid, run)
    const begun: Run = { warrant, entries: [] }
    this.#runs.set(uuid, begun)
    session.say({ type: 'started', id, uuid, run })
    this.#go(begun, (this.#troubles.course ?? usualCourse)())
  }

  #go(run: Run, [next, ...more]: ReturnType<NonNullable<Troubles['course']>>): void {
    if (!next || this.#isEnded) return
    const then = () => {
      if (this.#isSilent) return
      run.entries.push(next.entry)
      this.#session?.tell(run.warrant, run.entries.length, next.entry)
      this.#go(run, more)
    }
    if (next.afterMs === 0) then()
    else setTimeout(then, next.afterMs)
  }

  #acknowledged(uuid: string, seq: number): void {
    const run = this.#runs.get(uuid)
    if (run && seq >= run.entries.length && run.entries.at(-1)?.kind === 'ended') this.#runs.delete(uuid)
  }

  #refuse(session: Session, why: Refusal, highest: number, id?: number): void {
    const { secret } = this.#options
    session.say({ type: 'refused', ...(id !== undefined && { id }), why, message: 'refused', highest, secret })
    if (why === 'epoch') session.close()
  }
}

function listed({ warrant, entries }: Run): Listed {
  const [first] = entries
  const last = entries.at(-1)
  return {
    ...warrant,
    ...(first ? { state: 'running', startedMs: first.atMs } : { state: 'starting' }),
    ...(last?.kind === 'ended' && { state: 'ended', finishedMs: last.atMs, end: last.end }),
    seq: entries.length,
  }
}

function exit(channel: ServerChannel, code: number): void {
  channel.exit(code)
  channel.end()
}
