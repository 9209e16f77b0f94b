/** What the attacks on the dispatch share: a fleet with witnesses, and its judgement at rest. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { ApiError, RetryLater } from '../../../../src/base/errors.ts'
import { files } from '../../../../src/clouds/loopback/folder.ts'
import type { Trial } from '../../../kit/attack/attack.ts'
import { DispatchFleet, type DispatchFleetOptions, type Wish } from '../../../kit/dispatch/fleet.ts'
import { type Expected, type Found, Witness } from '../../../kit/dispatch/witness.ts'

export const patience = { timeout: 120_000, interval: 50 }
type Checks = {
  readonly [Name in 'toBe' | 'toEqual' | 'toContain' | 'toBeGreaterThan']: (other: unknown) => Promise<void>
}

/** As `expect.poll`, which a test that runs beside others cannot use. */
export function until(what: () => unknown): Checks {
  const check = (name: keyof Checks) => (other: unknown) =>
    vi.waitFor(async () => expect(await what())[name as 'toBe'](other), patience)
  return {
    ...{ toBe: check('toBe'), toEqual: check('toEqual'), toContain: check('toContain') },
    toBeGreaterThan: check('toBeGreaterThan'),
  }
}

/** Until the compare is over. */
export async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!/compare/.test((error as Error).message)) throw error
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
}

export class Site {
  readonly fleet: DispatchFleet
  readonly witness: Witness
  readonly #trial: Trial
  readonly #expected = new Map<string, Expected>()

  private constructor(trial: Trial, fleet: DispatchFleet) {
    this.#trial = trial
    this.fleet = fleet
    this.witness = new Witness(fleet.stateDir)
  }

  static async start(trial: Trial, options: DispatchFleetOptions = {}): Promise<Site> {
    const fleet = await DispatchFleet.start(options)
    trial.figure('fleet', fleet.name)
    trial.context.onTestFinished(() => fleet.stop(), 120_000)
    return new Site(trial, fleet)
  }

  async submit(
    more: Partial<Expected> & Pick<Wish, 'mostRuns' | 'vcpus' | 'priority'> & { readonly seconds?: number } = {},
  ): Promise<string> {
    const { mostRuns = 10, vcpus = 1, priority = 500, seconds, ...expected } = more
    const uuid = await this.fleet.submit({ command: this.witness.command(seconds), mostRuns, vcpus, priority })
    this.expect({ ...expected, uuid })
    return uuid
  }

  /** Changes what a container's end is to be. */
  expect(expected: Expected): void {
    this.#expected.set(expected.uuid, { ...this.#expected.get(expected.uuid), ...expected })
  }

  /** Its record; undefined where there is none, or a compare is needed first. */
  async found(uuid: string) {
    try {
      return (await this.fleet.containers.find(uuid)) ?? undefined
    } catch (error) {
      if (error instanceof RetryLater || (error instanceof ApiError && error.status === 503)) return undefined
      throw error
    }
  }

  async stateOf(uuid: string): Promise<string | undefined> {
    return (await this.found(uuid))?.state
  }

  /** Or it has ended, which the judge looks at. */
  async begun(uuid: string, times = 1): Promise<void> {
    const isOver = async () => ['Complete', 'Cancelled'].includes((await this.stateOf(uuid)) ?? '')
    await until(async () => this.witness.begins(uuid).length >= times || (await isOver())).toBe(true)
  }

  async running(uuid: string): Promise<void> {
    await until(() => this.stateOf(uuid)).toBe('Running')
  }

  /** The machine that has this container. */
  async machineOf(uuid: string) {
    const brief = (await this.fleet.list()).find(({ containers }) => containers.some(each => each.uuid === uuid))
    if (!brief) throw new Error(`no machine has ${uuid}`)
    return brief
  }

  /** Machines of the cloud that have not ended. */
  async live(): Promise<string[]> {
    return (await this.fleet.cloud.all()).filter(({ state }) => state !== 'gone').map(({ id }) => id)
  }

  /** By machine, the token of who claimed it last; '' for one that has ended. */
  async owners(): Promise<ReadonlyMap<string, string>> {
    const names = (await this.fleet.list()).map(({ name }) => name)
    return new Map(await Promise.all(names.map(async name => [name, await this.owner(name)] as const)))
  }

  async owner(name: string): Promise<string> {
    return (await this.fleet.client.hget(`{${this.fleet.name}}:instance:${name}`, 'token')) ?? ''
  }

  /** What an operator asks of the management API, until the records are compared. */
  async manage(path: string, query: Readonly<Record<string, string>>): Promise<void> {
    const asked = async () => {
      const target = `/arvados/v1/dispatch/${path}?${new URLSearchParams(query)}`
      const { status } = await this.fleet.rest('management', target, { method: 'POST' })
      return status
    }
    await vi.waitFor(async () => expect([200, 202]).toContain(await asked()), patience)
  }

  /** A number of the metrics, over all labels, and all replicas or one. */
  async metric(name: string, index?: number): Promise<number> {
    const of = this.fleet.replicas.filter((_, i) => index === undefined || i === index)
    const texts = await Promise.all(
      of.map(async ({ monitoringUrl }) => (await fetch(`${monitoringUrl}/metrics`)).text()),
    )
    const lines = texts.flatMap(text => text.split('\n')).filter(line => line.startsWith(name))
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  /** What a replica has logged of a machine. */
  logged(replica: string, machine: string): readonly string[] {
    const lines = readFileSync(join(this.fleet.stateDir, 'log', `${replica}.log`), 'utf8').split('\n')
    return lines.filter(line => line.includes(`"instance:${machine}"`)).map(line => String(JSON.parse(line).msg))
  }

  /** Lets all go, waits until nothing is left, and judges. */
  async judge(): Promise<void> {
    const { fleet, witness } = this
    witness.letGo()
    const open = () => [...this.#expected.values()].filter(({ as }) => as !== 'lost' && as !== 'any')
    const unended = async () => {
      const states = await Promise.all(open().map(async ({ uuid }) => [uuid, await this.stateOf(uuid)] as const))
      return states.filter(([, state]) => state !== 'Complete' && state !== 'Cancelled')
    }
    try {
      await until(unended).toEqual([])
      await until(() => fleet.list().catch(() => 'comparing')).toEqual([])
    } finally {
      const found = new Map<string, Found>()
      for (const uuid of this.#expected.keys()) found.set(uuid, await this.found(uuid))
      for (const words of witness.judge([...this.#expected.values()], found)) this.#trial.violation(words)
      for (const id of await this.live()) this.#trial.violation(`V3 leaked: ${id}`)
      for (const words of await fleet.broken()) this.#trial.violation(`a rule of the keys: ${words}`)
      this.#trial.figure('begins', witness.lines().filter(({ kind }) => kind === 'begin').length)
      this.#trial.figure('containers', this.#expected.size)
    }
  }
}

/** Of a machine's SSH server. Its supervisors and containers go on when it stops. */
export const serverOf = (site: Site, instance: string): number =>
  Number(readFileSync(site.fleet.cloud.pathOf(instance, files.process), 'utf8').split(' ')[0])
