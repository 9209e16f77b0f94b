/**
 * Random histories of keepers on two machines, beside a model of what Redis would have. Keepers are taken over while they are
 * about to send, and wake later: V1, runs of a container never overlap.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RefusedByRunner } from '../../../src/dispatch/attached.ts'
import type { Warrant } from '../../../src/dispatch/protocol.ts'
import { audited, readAudit } from './audit.ts'
import { type Connected, specOf, TestMachine, uuidOf, warrantOf } from './machine.ts'

export interface HistoryOptions {
  readonly steps: number
  readonly random: () => number
  readonly controls?: string
}

export interface HistoryResult {
  readonly violations: readonly string[]
  /** Starts that were refused because of a newer hello, or a higher run. */
  readonly refused: Readonly<Record<'epoch' | 'run', number>>
  readonly begins: number
}

/** A machine, and the connection whose epoch Redis has. */
interface Site {
  readonly machine: TestMachine
  keeper: Connected
}

/** What Redis has of a container. `free`: by proof nothing of it runs. */
interface Wish {
  readonly uuid: string
  warrant: Warrant | undefined
  site: Site | undefined
  isFree: boolean
}

/** A start that its keeper did not send yet, or has sent to a process that is stopped. */
interface Late {
  readonly wish: Wish
  readonly site: Site
  readonly warrant: Warrant
  readonly keeper: Connected
}

type Outcome = 'started' | 'unanswered' | RefusedByRunner['why']

export async function runHistory(options: HistoryOptions): Promise<HistoryResult> {
  const folder = mkdtempSync(join(tmpdir(), 'skylab-history-'))
  const history = new History(folder, options)
  try {
    await history.begin()
    for (let step = 0; step < options.steps && !history.isRed; step++) await history.step()
    await history.end()
    return history.result()
  } finally {
    await history.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

class History {
  readonly #audit: string
  readonly #folder: string
  readonly #options: HistoryOptions
  readonly #sites: Site[] = []
  readonly #wishes: Wish[] = [1, 2].map(number => ({
    uuid: uuidOf(number),
    warrant: undefined,
    site: undefined,
    isFree: true,
  }))
  readonly #late: Late[] = []
  /** That began, by machine. */
  readonly #begun: { readonly site: Site; readonly warrant: Warrant }[] = []
  readonly #violations: string[] = []
  readonly #refused = { epoch: 0, run: 0 }
  #last = 0

  constructor(folder: string, options: HistoryOptions) {
    this.#folder = folder
    this.#audit = join(folder, 'audit')
    this.#options = options
    mkdirSync(this.#audit)
  }

  async begin(): Promise<void> {
    const { controls = '' } = this.#options
    for (const _ of [1, 2]) {
      const machine = await TestMachine.make({ controls, parent: this.#folder, env: { SKYLAB_RUNNER_GRACE_MS: '100' } })
      this.#sites.push({ machine, keeper: await machine.attach(this.#draw()) })
    }
  }

  async step(): Promise<void> {
    const choice = this.#options.random()
    const wish = this.#one(this.#wishes)
    const site = this.#one(this.#sites)
    if (choice < 0.3) await this.#assign(wish, site)
    else if (choice < 0.45) await this.#takeOver(site)
    else if (choice < 0.55) await this.#takeOverAmid(site)
    else if (choice < 0.7) await this.#wake()
    else if (choice < 0.8) await this.#sendAgain()
    else if (choice < 0.9) await this.#kill(wish)
    else {
      site.keeper.child.kill('SIGKILL')
      await this.#takeOver(site)
    }
  }

  get isRed(): boolean {
    return this.result().violations.length > 0
  }

  /** All that is late comes now. */
  async end(): Promise<void> {
    while (this.#late.length > 0) await this.#wake()
    for (const site of this.#sites) await this.#takeOver(site)
  }

  async stop(): Promise<void> {
    for (const { machine } of this.#sites) await machine[Symbol.asyncDispose]()
  }

  result(): HistoryResult {
    const { overlaps, begins } = readAudit(this.#audit)
    const twice = begins.filter((begin, index) => begins.indexOf(begin) !== index)
    return {
      violations: [
        ...this.#violations,
        ...overlaps.map(overlap => `overlap: ${overlap}`),
        ...twice.map(begin => `began twice: ${begin}`),
      ],
      refused: this.#refused,
      begins: begins.length,
    }
  }

  /** A free container gets a run on a machine; its keeper sends the start now, or is stopped just before. */
  async #assign(wish: Wish, site: Site): Promise<void> {
    if (!wish.isFree) return
    const warrant = warrantOf(
      wish.uuid,
      this.#draw(),
      specOf(audited(this.#audit, this.#options.random() < 0.5 ? 0.3 : 60)),
    )
    Object.assign(wish, { warrant, site, isFree: false })
    const late = { wish, site, warrant, keeper: site.keeper }
    if (this.#options.random() < 0.4) this.#late.push(late)
    else await this.#send(late)
  }

  async #send(late: Late): Promise<void> {
    const { wish, site, warrant, keeper } = late
    const wasCurrent = keeper === site.keeper
    const outcome = await outcomeOf(keeper.keeper.start(warrant))
    if (outcome === 'epoch' || outcome === 'run') this.#refused[outcome] += 1
    if (outcome === 'started') {
      this.#begun.push({ site, warrant })
      // A start of an older connection may be the first: then the newer hello waits, and its list has this run.
      if (!wasCurrent) this.#violations.push(`a start of run ${warrant.run} was not refused after a newer hello`)
    } else if (outcome !== 'unanswered' && wish.warrant === warrant && keeper === site.keeper) wish.isFree = true
  }

  async #wake(): Promise<void> {
    const [late] = this.#late.splice(Math.floor(this.#options.random() * this.#late.length), 1)
    if (late) await this.#send(late)
  }

  /** A new keeper claims the machine, and believes the runner's list alone. */
  async #takeOver(site: Site): Promise<void> {
    site.keeper = await site.machine.attach(this.#draw())
    await this.#believe(site)
  }

  /** The old process is stopped with a start in its pipe, and wakes after the list. */
  async #takeOverAmid(site: Site): Promise<void> {
    const wish = this.#wishes.find(({ isFree }) => isFree)
    const old = site.keeper
    await site.machine.halt(old)
    let sent: Promise<Outcome> | undefined
    if (wish) {
      const warrant = warrantOf(wish.uuid, this.#draw(), specOf(audited(this.#audit, 60)))
      Object.assign(wish, { warrant, site, isFree: false })
      sent = outcomeOf(old.keeper.start(warrant))
    }
    await this.#takeOver(site)
    // Meanwhile another machine may get it.
    if (wish?.isFree) await this.#assign(wish, this.#one(this.#sites))
    old.child.kill('SIGCONT')
    const outcome = await sent
    if (outcome === 'epoch') this.#refused.epoch += 1
    if (outcome === 'started') this.#violations.push('a start in the pipe of a stopped process was not refused')
  }

  async #believe(site: Site): Promise<void> {
    const { runs } = await site.keeper.keeper.list()
    for (const wish of this.#wishes.filter(each => each.site === site && !each.isFree)) {
      const listed = runs.find(({ uuid, run }) => uuid === wish.uuid && run === wish.warrant!.run)
      const began = this.#begun.some(({ warrant }) => warrant === wish.warrant)
      if (!listed && began) this.#violations.push(`run ${wish.warrant!.run} was lost`)
      if (!listed || listed.end) wish.isFree = true
    }
    for (const { uuid, run, end, seq } of runs) if (end) site.keeper.keeper.ack(uuid, run, seq)
  }

  /** A start of the past comes again, by the present keeper: as after a Redis that went back. */
  async #sendAgain(): Promise<void> {
    const old = this.#begun.filter(({ warrant }) => this.#wishes.every(wish => wish.warrant !== warrant))
    if (old.length === 0) return
    const { site, warrant } = this.#one(old)
    const outcome = await outcomeOf(site.keeper.keeper.start(warrant))
    if (outcome === 'run') this.#refused.run += 1
    const isListed = async () =>
      (await site.keeper.keeper.list()).runs.some(({ uuid, run }) => uuid === warrant.uuid && run === warrant.run)
    // The same answer is right as long as its end is not acknowledged.
    if (outcome === 'started' && !(await isListed()))
      this.#violations.push(`run ${warrant.run} was not refused after its end`)
  }

  async #kill(wish: Wish): Promise<void> {
    const { site, warrant } = wish
    if (!site || !warrant || wish.isFree || !this.#begun.some(each => each.warrant === warrant)) return
    const { keeper } = site
    const outcome = await outcomeOf(keeper.keeper.kill(warrant.uuid, warrant.run))
    if (outcome !== 'started') return
    const { seq } = await keeper.end(warrant.uuid, warrant.run)
    keeper.keeper.ack(warrant.uuid, warrant.run, seq)
    wish.isFree = true
  }

  #draw(): number {
    this.#last += 1
    return this.#last
  }

  #one<T>(all: readonly T[]): T {
    return all[Math.floor(this.#options.random() * all.length)]!
  }
}

const outcomeOf = (work: Promise<void>): Promise<Outcome> =>
  work.then(
    () => 'started',
    error => (error instanceof RefusedByRunner ? error.why : 'unanswered'),
  )
