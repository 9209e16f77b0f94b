/** A day: commands of pages run one after another, each timed and judged. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/base/clock.ts'
import type { Progress } from '../process/progress.ts'
import { type Block, readBlocks } from './blocks.ts'
import { type Command, commandsOf } from './commands.ts'
import { firstLook, type Mistake, troubleshooting } from './mistakes.ts'
import { placed } from './places.ts'
import { whileUsersWork } from './plan.ts'
import type { Shell } from './shell.ts'
import { adaptSites, byHand } from './site.ts'
import { assertLabsRun, makeLabs, whileLabsAreMade } from './users.ts'
import type { World } from './world.ts'

/** The checkout of this documentation. */
const root = fileURLToPath(new URL('../..', import.meta.url))
const commandLimitMs = 240_000
const mistakeLimitMs = 120_000
const mistakePauseMs = 2000

export interface DoneCommand {
  readonly at: string
  /** The first line of the command. */
  readonly text: string
  readonly seconds: number
}

/** A command that did not do what its page says. */
export class Stumble extends Error {}

export class Day {
  readonly done: DoneCommand[] = []
  readonly notes: string[] = []
  readonly #world: World
  readonly #shell: Shell
  readonly #progress: Progress
  readonly #signal: AbortSignal

  constructor(world: World, shell: Shell, progress: Progress, signal: AbortSignal) {
    this.#world = world
    this.#shell = shell
    this.#progress = progress
    this.#signal = signal
  }

  /** Runs the commands of a page in order. */
  async page(page: string): Promise<void> {
    for (const blocks of byHeading(blocksOf(page))) {
      const { heading } = blocks[0]!
      const run = () => this.#all(blocks.flatMap(commandsOf))
      if (!whileUsersWork.includes(`${page}#${heading}`)) await run()
      else {
        const labs = await this.#ofUsers(whileLabsAreMade(this.#world, this.#signal, run))
        this.notes.push(`${page}#${heading}: ${labs} labs were made and deleted meanwhile`)
      }
    }
  }

  /** Makes a lab for each of these users; the labs stay. */
  labs(usernames: readonly string[]): Promise<void> {
    return this.#timed('labs of users', `made: ${usernames.join(', ')}`, makeLabs(this.#world, this.#signal, usernames))
  }

  /** Checks that the API knows their labs, and that these run. */
  labsRun(usernames: readonly string[]): Promise<void> {
    const looking = assertLabsRun(this.#world, this.#signal, usernames)
    return this.#timed('labs of users', `run: ${usernames.join(', ')}`, looking)
  }

  async #timed(at: string, text: string, work: Promise<void>): Promise<void> {
    const begunMs = systemClock.monotonicMs()
    await this.#ofUsers(work)
    this.#note({ at, text, seconds: (systemClock.monotonicMs() - begunMs) / 1000 })
  }

  /** Makes a mistake, takes the page's first look until it shows the expected words, and mends the mistake. */
  async mistake({ title, make, words, mend }: Mistake): Promise<void> {
    const own = (texts: readonly string[]) => this.#all(texts.map(text => ({ at: title, text, expects: [] })))
    await own(make)
    const looks = blocksOf(troubleshooting).filter(({ heading }) => heading === firstLook)
    const begunMs = systemClock.monotonicMs()
    const sinceMs = () => systemClock.monotonicMs() - begunMs
    for (;;) {
      const seen = await this.#look(looks.flatMap(commandsOf))
      const missing = words.filter(each => !seen.includes(each))
      if (missing.length === 0) break
      if (sinceMs() > mistakeLimitMs)
        throw new Stumble(`${title}: the first look does not show ${missing.join(', ')}\n${seen}`)
      await systemClock.sleep(mistakePauseMs, this.#signal)
    }
    this.#note({ at: title, text: `seen: ${words.join(', ')}`, seconds: sinceMs() / 1000 })
    await own(mend)
  }

  /** Fails the day when the lab of a user fails. */
  async #ofUsers<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      this.#signal.throwIfAborted()
      throw error instanceof Stumble ? error : new Stumble((error as Error).message)
    }
  }

  /** The output of the commands. They may fail: much is wrong at that moment. */
  async #look(commands: readonly Command[]): Promise<string> {
    let seen = ''
    for (const { text } of commands) {
      const { code, output } = await this.#shell.run(placed(text), commandLimitMs)
      if (code === null) throw new Stumble(`${text}\n${output}`)
      seen += output
    }
    return seen
  }

  async #all(commands: readonly Command[]): Promise<void> {
    for (const command of commands) {
      await this.#run(command)
      const more = byHand(command.text)
      if (more !== null) await this.#run({ at: 'by hand', text: more, expects: [] })
    }
  }

  async #run({ at, text, expects }: Command): Promise<void> {
    await adaptSites(this.#world.checkout, this.#world.site)
    const { code, output, seconds } = await this.#shell.run(placed(text), commandLimitMs)
    const missing = expects.filter(words => !output.includes(words))
    if (code === 0 && missing.length === 0) return this.#note({ at, text: text.split('\n')[0]!, seconds })
    const ended = code === null ? 'it did not end' : `it ended with ${code}`
    const why = code === 0 ? `its output lacks ${missing.join(', ')}` : ended
    throw new Stumble(`${at}: ${why}, after ${seconds.toFixed(1)} s\n  ${text}\n${output}`)
  }

  #note(command: DoneCommand): void {
    this.done.push(command)
    this.#progress.say(formatCommand(command))
  }
}

/** The blocks that the day runs. @throws when it is unclear whether to run some block */
export function blocksOf(page: string): readonly Block[] {
  const { blocks, problems } = readBlocks(page, readFileSync(join(root, page), 'utf8'))
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return blocks.filter(({ excuse }) => excuse === null)
}

/** Groups neighbours with the same heading. */
function byHeading(blocks: readonly Block[]): Block[][] {
  const lists: Block[][] = []
  for (const block of blocks) {
    const last = lists.at(-1)
    if (last !== undefined && last[0]!.heading === block.heading) last.push(block)
    else lists.push([block])
  }
  return lists
}

const shown = 90

function formatCommand({ at, text, seconds }: DoneCommand): string {
  const short = text.length > shown ? `${text.slice(0, shown - 1)}…` : text
  return `${seconds.toFixed(1).padStart(6)} s  ${at}  ${short}`
}

/** The seconds by page and by mistake, in the order of the day. */
export function formatDay(done: readonly DoneCommand[]): string {
  const sums = new Map<string, { commands: number; seconds: number }>()
  for (const { at, seconds } of done) {
    const part = at.replace(/:\d+$/, '')
    const { commands, seconds: former } = sums.get(part) ?? { commands: 0, seconds: 0 }
    sums.set(part, { commands: commands + 1, seconds: former + seconds })
  }
  const width = Math.max(...[...sums.keys()].map(part => part.length))
  const rows = [...sums].map(
    ([part, { commands, seconds }]) =>
      `${part.padEnd(width)}  ${String(commands).padStart(3)} commands  ${seconds.toFixed(1).padStart(6)} s`,
  )
  return rows.join('\n')
}
