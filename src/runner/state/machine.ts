/**
 * The state folder of a machine: the fence, the key of supervisors, whether the machine is broken, and what was run. One file
 * has the first three, in pages that exist from the beginning: a full disk must not keep a newer keeper out.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asNumber, asObject, asText } from '../../base/json.ts'
import { Gate } from './locks.ts'
import { machineId } from './machine-id.ts'
import { Past } from './past.ts'
import { Slots } from './slots.ts'

/** Only the last connection that said hello with the highest epoch may act. */
export interface Fence {
  /** 0 before the first hello. */
  readonly epoch: number
  readonly connection: string
}

/** The fence is written into its two pages by turns, so that a torn write leaves the one before. */
const fencePages = [0, 1] as const
const keyPage = 2
const brokenPage = 3
const pages = 4

export class Machine {
  readonly dir: string
  /** Distinguishes machines that share a network namespace. */
  readonly id: string
  readonly gate: Gate
  readonly past: Past
  /** Shared by all processes of this machine's runner, so that strangers cannot speak to supervisors. */
  readonly key: string

  private constructor(dir: string, key: string) {
    this.dir = dir
    this.id = machineId(dir)
    this.gate = new Gate(gateName(this.id))
    this.past = new Past(join(dir, 'past'))
    this.key = key
  }

  /** Opens the folder, and makes it at first. */
  static async open(dir: string): Promise<Machine> {
    mkdirSync(join(dir, 'runs'), { recursive: true, mode: 0o700 })
    const file = fileOf(dir)
    if (!existsSync(file)) await new Gate(gateName(machineId(dir))).pass(async () => existsSync(file) || makeFile(file))
    return Machine.openMade(dir)
  }

  /** Opens a folder that another process has made, also while that is inside the gate. */
  static openMade(dir: string): Machine {
    const file = fileOf(dir)
    const key = Slots.with(file, slots => asText(asObject(slots.read(keyPage)).key))
    if (key === '') throw new Error(`${file} has no key`)
    return new Machine(dir, key)
  }

  get runsDir(): string {
    return join(this.dir, 'runs')
  }

  /** Changes with each hello. */
  get file(): string {
    return fileOf(this.dir)
  }

  lockName(uuid: string, run: number): string {
    return `skylab-${this.id}-${uuid}.${run}`
  }

  /** @throws when no page can be read: nobody may act then */
  fence(): Fence {
    return Slots.with(this.file, slots => latest(slots).fence)
  }

  /** To be called inside the gate. */
  setFence(fence: Fence): void {
    Slots.with(this.file, slots => {
      const { page, turn } = latest(slots)
      slots.write(1 - page, { ...fence, turn: turn + 1 }, { lasting: true })
    })
  }

  /** Why it can start nothing. An operator may say so too, by a file `broken`. */
  broken(): string | undefined {
    const said = Slots.with(this.file, slots => asText(asObject(slots.read(brokenPage)).reason))
    if (said !== '') return said
    const file = join(this.dir, 'broken')
    return existsSync(file) ? firstLine(file) || 'an operator said so' : undefined
  }

  setBroken(reason: string): void {
    Slots.with(this.file, slots => slots.write(brokenPage, { reason }, { lasting: true }))
  }
}

const fileOf = (dir: string) => join(dir, 'machine')

const firstLine = (file: string) => readFileSync(file, 'utf8').slice(0, 500).split('\n')[0]

const gateName = (id: string) => `skylab-${id}-gate`

function makeFile(file: string): void {
  const key = randomBytes(32).toString('hex')
  Slots.create(file, pages, { [fencePages[0]]: { epoch: 0, connection: '', turn: 0 }, [keyPage]: { key } })
}

/** @throws when no page can be read */
function latest(slots: Slots): { readonly page: number; readonly turn: number; readonly fence: Fence } {
  const read = fencePages.flatMap(page => {
    const { epoch, connection, turn } = asObject(slots.read(page))
    const fence = { epoch: asNumber(epoch), connection: asText(connection) }
    return Number.isSafeInteger(epoch) ? [{ page, turn: asNumber(turn), fence }] : []
  })
  const [last] = read.sort((a, b) => b.turn - a.turn)
  if (!last) throw new Error('the fence cannot be read')
  return last
}
