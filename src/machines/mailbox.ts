/**
 * Writes the machine's entries about its runs to Redis, in order, and acknowledges them after that. The machine sends entries
 * that were not acknowledged again over the next channel, so nothing is lost while nobody listens.
 */
import { type Entry, mostRuns } from '../dispatch/protocol.ts'
import { Unreachable } from '../ssh/errors.ts'
import type { Told } from '../store/dispatch/keeping.ts'
import { gatewayOf } from './gateway.ts'
import type { RunnerLink } from './ports.ts'
import type { MachineContext } from './shape.ts'

interface Letter {
  readonly uuid: string
  readonly run: number
  readonly seq: number
  readonly entry: Entry
  /** When it came, by our clock: that of the machine may say anything. */
  readonly cameMs: number
}

/** Entries of output in one write. */
const batch = 64
/** Entries that wait in memory, of at most 32 KiB each. A replica may keep a thousand machines. */
const mostLetters = 128

export class Mailbox {
  readonly #context: MachineContext
  readonly #onTold: () => void
  #letters: Letter[] = []
  #room: PromiseWithResolvers<void> | undefined
  /** Undefined until the machine's runs are known: before that, nothing is written. */
  #link: RunnerLink | undefined
  #address = ''
  #working: Promise<void> | undefined
  /** The first of the entries that are being written. */
  #telling: Letter | undefined
  #defect: unknown
  readonly #strays = new Set<string>()
  readonly #off: () => void

  constructor(context: MachineContext, onTold: () => void) {
    this.#context = context
    this.#onTold = onTold
    this.#off = context.parts.sight.listens(() => this.#waitedMs() / 1000)
  }

  /** A new channel is made: entries that were not acknowledged come again. */
  reset(): void {
    this.#letters = []
    this.#free()
    this.#link = undefined
    this.#strays.clear()
  }

  /** Tells from now on. @param address of the machine, as we see it */
  open(link: RunnerLink, address: string): void {
    this.#link = link
    this.#address = address
    this.#begin()
  }

  /** From now on entries of this run are acknowledged, and not written. */
  forget(uuid: string, run: number): void {
    this.#strays.add(`${uuid} ${run}`)
    // A machine that invents runs gets another channel, which begins with none.
    if (this.#strays.size > mostRuns) throw new Unreachable('the machine tells of too many runs')
  }

  /** @returns a promise where so much waits that nothing more is to be taken */
  put(uuid: string, run: number, seq: number, entry: Entry): void | Promise<void> {
    this.#letters.push({ uuid, run, seq, entry, cameMs: this.#context.clock.monotonicMs() })
    this.#begin()
    if (this.#letters.length < mostLetters) return
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  #free(): void {
    this.#room?.resolve()
    this.#room = undefined
  }

  /** @throws what kept it from telling */
  check(): void {
    if (this.#defect !== undefined) throw this.#defect
  }

  async close(): Promise<void> {
    this.#letters = []
    this.#free()
    await this.#working
    this.#off()
  }

  #waitedMs(): number {
    const oldest = this.#telling ?? this.#letters[0]
    return oldest ? this.#context.clock.monotonicMs() - oldest.cameMs : 0
  }

  #begin(): void {
    if (!this.#link || this.#letters.length === 0) return
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined
      this.#begin()
    })
  }

  async #work(): Promise<void> {
    try {
      for (let letters = this.#take(); letters.length > 0; letters = this.#take()) {
        this.#telling = letters[0]
        await this.#tell(letters)
      }
    } catch (error) {
      this.#letters = []
      if (error instanceof Unreachable) return this.#link?.close()
      this.#defect = error
      this.#onTold()
    } finally {
      this.#telling = undefined
    }
  }

  /** The next letters that one write can tell: output of one run, or a single other one. */
  #take(): readonly Letter[] {
    const [first] = this.#letters
    if (!first || !this.#link) return []
    const isAlike = ({ uuid, run, entry }: Letter) =>
      isOutput(entry) && isOutput(first.entry) && uuid === first.uuid && run === first.run
    const end = this.#letters.slice(0, batch).findIndex(letter => !isAlike(letter))
    if (this.#letters.length < mostLetters) this.#free()
    return this.#letters.splice(0, Math.max(1, end === -1 ? Math.min(batch, this.#letters.length) : end))
  }

  async #tell(letters: readonly Letter[]): Promise<void> {
    const { keeping } = this.#context
    const link = this.#link
    const { uuid, run, entry, seq } = letters.at(-1)!
    if (!this.#strays.has(`${uuid} ${run}`)) {
      const told = isOutput(entry)
        ? await keeping.appendLog(uuid, run, letters.map(placed))
        : await keeping.tell(uuid, run, this.#wordOf(entry))
      if (told === 'other') this.forget(uuid, run)
    }
    link?.ack(uuid, run, seq)
    if (!isOutput(entry)) this.#onTold()
  }

  #wordOf(entry: Exclude<Entry, Output>): Told {
    const { atMs } = entry
    if (entry.kind === 'ended') return { what: 'ended', atMs, ...entry.end }
    const { address = '', pin = '' } = gatewayOf(this.#address, entry) ?? {}
    return { what: 'running', atMs, gatewayAddress: address, gatewayPin: pin }
  }
}

type Output = Extract<Entry, { kind: 'output' | 'lost' }>

const isOutput = (entry: Entry): entry is Output => entry.kind === 'output' || entry.kind === 'lost'

const placed = ({ seq, entry }: Letter) => [seq, entry as Output] as const
