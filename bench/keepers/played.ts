/** A machine that is played: it proves itself, has the runner already, and speaks its words. Nothing ever runs on it. */
import { loadavg } from 'node:os'
import type { ServerChannel } from 'ssh2'
import { Lines } from '../../src/dispatch/lines.ts'
import {
  type Entry,
  type FromRunner,
  longestLineBytes,
  type Refusal,
  type ToRunner,
  type Warrant,
} from '../../src/dispatch/protocol.ts'
import { isMisread, readAsked } from '../../src/runner/asked.ts'
import { nowMs } from './now.ts'

/** Of a runner that is not told another. */
const usualBeatMs = 3000

export interface PlayedOptions {
  readonly secret: string
  /** The program that it has by now, as keepers look for it. */
  readonly program: { readonly name: string; readonly sha256: string }
}

/** A container ends as soon as it has begun. */
interface Run {
  readonly warrant: Warrant
  readonly atMs: number
}

export class Played {
  /** When each hello was obeyed. */
  readonly hellos: number[] = []
  /** When each container was to be started first, by its uuid. */
  readonly starts = new Map<string, number>()
  readonly #options: PlayedOptions
  /** Not acknowledged to their end. */
  readonly #runs = new Map<string, Run>()
  readonly #highest = new Map<string, number>()
  #epoch = 0
  #session: Session | undefined

  constructor(options: PlayedOptions) {
    this.#options = options
  }

  /** What keepers run on a machine. */
  run(channel: ServerChannel, command: string): void {
    channel.on('error', () => {})
    if (command.includes(' runner attach'))
      this.#attach(channel, Number(/SKYLAB_RUNNER_BEAT_MS=(\d+)/.exec(command)?.[1] ?? usualBeatMs))
    else this.#answer(channel, command)
  }

  #answer(channel: ServerChannel, command: string): void {
    const { secret, program } = this.#options
    const words = command.startsWith('cat ')
      ? secret
      : command.includes('skylab machine')
        ? `skylab machine ${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}\nskylab file ${program.name} ${program.sha256}  -`
        : 'skylab'
    channel.write(`${words}\n`)
    channel.exit(0)
    channel.end()
  }

  #attach(channel: ServerChannel, beatMs: number): void {
    const lines = new Lines(longestLineBytes)
    const session = new Session(channel, beatMs)
    channel.on('data', (chunk: Buffer) => {
      for (const line of lines.take(chunk)) {
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
    // The second entry is the end.
    else if (asked.seq >= 2) this.#runs.delete(asked.uuid)
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
    const runs = [...this.#runs.values()].map(({ warrant, atMs }) => ({
      ...{ ...warrant, state: 'ended' as const, startedMs: atMs, finishedMs: atMs, end: { exitCode: 0 }, seq: 2 },
    }))
    session.say({ type: 'listed', id, runs })
    for (const run of this.#runs.values()) tell(session, run)
  }

  #start(session: Session, { type: _, id, key: __, ...warrant }: Extract<ToRunner, { type: 'start' }>): void {
    const { uuid, run } = warrant
    const highest = this.#highest.get(uuid) ?? 0
    if (run <= highest) {
      this.#refuse(session, 'run', highest, id)
      return
    }
    if (!this.starts.has(uuid)) this.starts.set(uuid, nowMs())
    this.#highest.set(uuid, run)
    const begun = { warrant, atMs: Date.now() }
    this.#runs.set(uuid, begun)
    session.say({ type: 'started', id, uuid, run })
    tell(session, begun)
  }

  #refuse(session: Session, why: Refusal, highest: number, id?: number): void {
    const { secret } = this.#options
    session.say({ type: 'refused', ...(id !== undefined && { id }), why, message: 'refused', highest, secret })
    if (why === 'epoch') session.close()
  }
}

function tell(session: Session, { warrant: { uuid, run }, atMs }: Run): void {
  const entries: Entry[] = [
    { kind: 'running', atMs },
    { kind: 'ended', atMs, end: { exitCode: 0 } },
  ]
  for (const [index, entry] of entries.entries()) session.say({ type: 'entry', uuid, run, seq: index + 1, entry })
}

/** One channel of a keeper. */
class Session {
  readonly #channel: ServerChannel
  readonly #beatMs: number
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(channel: ServerChannel, beatMs: number) {
    this.#channel = channel
    this.#beatMs = beatMs
  }

  say(words: FromRunner): void {
    if (!this.#isClosed) this.#channel.write(`${JSON.stringify(words)}\n`)
  }

  beat(): void {
    this.#timer ??= setInterval(() => this.say({ type: 'beat', atMs: Date.now(), load: loadavg()[0]! }), this.#beatMs)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#channel.exit(0)
    this.#channel.end()
  }
}
