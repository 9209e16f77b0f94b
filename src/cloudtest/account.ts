/** A test's acts in the account: it asks for a machine, finds it in the list, and ends all that has the test's own tag. */
import type { Clock } from '../base/clock.ts'
import { RetryLater } from '../base/errors.ts'
import type { CloudCall, Instance, Intent, PreResource } from '../clouds/driver.ts'
import { AtQuota, CloudRefused, IntentOver, NoCapacity, RateLimited, Unanswered } from '../clouds/errors.ts'
import type { Cloud } from '../machines/cloud.ts'
import { NotYet, type Steps } from './steps.ts'

export interface AccountOptions {
  readonly cloud: Cloud
  readonly clock: Clock
  readonly steps: Steps
  /** `TimeoutShutdown`: after it a machine that is still there is ended again. */
  readonly shutdownMs: number
  /** How long the end of a machine is waited for. */
  readonly endMs: number
  /** How long a machine may take to appear, after a call without an answer. */
  readonly lagMs: number
}

/** The machines and resources in the account with the test's tag. */
export interface Found {
  readonly machines: readonly Instance[]
  readonly interfaces: readonly PreResource[]
}

const pollMs = 1_000
const isLater = (error: unknown) => error instanceof RetryLater || error instanceof NotYet

export class Account {
  readonly #options: AccountOptions
  /** Since an answer was lost: there may be a machine that nobody knows. */
  #mayHaveMore = false
  #made: string | undefined

  constructor(options: AccountOptions) {
    this.#options = options
  }

  /** The id of the machine of the test, once it is known. */
  get made(): string | undefined {
    return this.#made
  }

  get mayHaveMore(): boolean {
    return this.#mayHaveMore
  }

  /** Whether the driver makes interfaces that outlive their machines. */
  get hasInterfaces(): boolean {
    return this.#options.cloud.driver.prepare !== undefined
  }

  /** All that has the test's tag and is not gone. */
  async look(signal: AbortSignal): Promise<Found> {
    const call = callOf(signal)
    const { cloud } = this.#options
    const listed = await cloud.list(call)
    const interfaces = await cloud.ask('orphans', call, driver => driver.orphans(call))
    return { machines: listed.filter(({ state }) => state !== 'gone'), interfaces }
  }

  /** As `look`, again until the cloud answers. */
  lookAgain(untilMs: number, signal: AbortSignal): Promise<Found> {
    return this.#options.steps.until(untilMs, signal, isLater, () => this.look(signal))
  }

  /** Asks with one token until there is an answer, which is the first one's. @throws in words where there is no machine */
  async create(intent: Intent, untilMs: number, signal: AbortSignal): Promise<Instance> {
    const { cloud, steps } = this.#options
    let place: string | undefined
    const note = (next: string) => {
      place = next
    }
    const call = { ...callOf(signal), note }
    return steps.until(untilMs, signal, isLater, async () => {
      if (this.#mayHaveMore && !cloud.driver.idempotentCreate) return this.#appeared(intent, signal)
      const wish = { ...intent, ...(place !== undefined && { place }) }
      const hadMore = this.#mayHaveMore
      try {
        const made = await cloud.call('create', call, async driver => {
          const prepared = (await driver.prepare?.(wish, call)) ?? []
          // From here on there may be a machine, whatever becomes of the answer.
          this.#mayHaveMore = true
          return driver.create(wish, prepared, call)
        })
        this.#know(made.id)
        return made
      } catch (error) {
        throw this.#heard(error, hadMore)
      }
    })
  }

  #know(id: string): void {
    this.#made = id
    this.#mayHaveMore = false
  }

  /** A refusal says that this call has made none; an earlier one, whose answer was lost, may have. */
  #heard(error: unknown, hadMore: boolean): unknown {
    const { message } = error as Error
    if (error instanceof Unanswered) return new NotYet(message)
    const word = refusals.find(([kind]) => error instanceof kind)?.[1]
    if (word !== undefined || error instanceof RateLimited) this.#mayHaveMore = hadMore
    if (word !== undefined) return new Error(`${word}: ${message}`)
    return error instanceof RateLimited ? new NotYet(message) : error
  }

  async #appeared({ tags }: Intent, signal: AbortSignal): Promise<Instance> {
    const { machines } = await this.look(signal)
    const found = machines.find(each => Object.entries(tags).every(([name, value]) => each.tags[name] === value))
    if (!found) throw new NotYet('the cloud has not answered, and lists no such machine')
    this.#know(found.id)
    return found
  }

  /** Waits until the list has it running, with its address and all of its tags. */
  async listed(id: string, tags: Intent['tags'], untilMs: number, signal: AbortSignal): Promise<Instance> {
    const { cloud, steps } = this.#options
    return steps.until(untilMs, signal, isLater, async () => {
      const found = (await cloud.list(callOf(signal))).find(each => each.id === id)
      if (!found) throw new NotYet('the cloud does not list it')
      if (found.state === 'gone' || found.state === 'stopping')
        throw new Error(`the cloud has ended it (${found.state})`)
      if (found.state !== 'running' || found.address === undefined)
        throw new NotYet(`it is ${found.state}${found.address === undefined ? ', without an address' : ''}`)
      // Their values may be secrets.
      const missing = Object.keys(tags).filter(name => found.tags[name] !== tags[name])
      if (missing.length > 0) throw new NotYet(`it lacks tags, or has others: ${missing.join(', ')}`)
      return found
    })
  }

  /** Ends machines, and waits for the proof. @returns those that are not gone in time, with what the cloud said last */
  async end(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const { clock, endMs, shutdownMs } = this.#options
    const left = new Map(ids.map(id => [id, 'nothing yet']))
    const untilMs = clock.monotonicMs() + endMs
    for (let againMs = 0; left.size > 0 && clock.monotonicMs() < untilMs && !signal.aborted; ) {
      const isDue = clock.monotonicMs() >= againMs
      if (isDue) againMs = clock.monotonicMs() + shutdownMs
      for (const id of [...left.keys()]) {
        const words = await this.#endOne(id, isDue, signal)
        if (words === undefined) left.delete(id)
        else left.set(id, words)
      }
      if (left.size > 0) await clock.sleep(Math.min(pollMs, shutdownMs), signal).catch(() => {})
    }
    return left
  }

  /** @returns undefined once it is gone, else what the cloud says */
  async #endOne(id: string, isDue: boolean, signal: AbortSignal): Promise<string | undefined> {
    const { cloud, steps } = this.#options
    const call = callOf(signal)
    try {
      if (isDue) await cloud.call('destroy', call, driver => driver.destroy(id, call))
      const found = await cloud.call('find', call, driver => driver.find(id, call))
      if (found !== 'unknown' && found.state === 'gone') return undefined
      const words = found === 'unknown' ? 'it is not shown, which is no proof' : `it is still ${found.state}`
      steps.news(`${id}: ${words}`)
      return words
    } catch (error) {
      steps.news(`${id}: ${(error as Error).message}`)
      return (error as Error).message
    }
  }

  /** Removes interfaces that no machine has. @returns those that are left, with what the cloud said last */
  async remove(interfaces: readonly PreResource[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const { cloud } = this.#options
    const call = callOf(signal)
    const left = new Map<string, string>()
    for (const each of interfaces) {
      const asked = cloud.call('remove', call, driver => driver.remove(each, call))
      await asked.catch(error => void left.set(each.id, (error as Error).message))
    }
    return left
  }

  /** The machine of the test; after a lost answer, what shows up in time. */
  async own(signal: AbortSignal): Promise<readonly string[]> {
    if (this.#made !== undefined) return [this.#made]
    if (!this.#mayHaveMore) return []
    const { clock, steps, lagMs } = this.#options
    const look = async () => {
      const { machines } = await this.look(signal)
      if (machines.length === 0) throw new NotYet('no machine of the lost answer has appeared')
      return machines.map(({ id }) => id)
    }
    return steps.until(clock.monotonicMs() + lagMs, signal, isLater, look).catch(() => [])
  }
}

const callOf = (signal: AbortSignal): CloudCall => ({ signal, agent: 'cloudtest' })

const refusals: readonly (readonly [new (...args: never[]) => Error, string])[] = [
  [AtQuota, 'the account is at its quota'],
  [NoCapacity, 'the cloud has no machine of this type now'],
  [CloudRefused, 'the cloud refuses'],
  [IntentOver, 'the machine has ended'],
]
