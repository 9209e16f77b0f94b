/** An operator of containers, who runs commands of docs/dispatch-tasks.md, and an installation on the test cloud. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Assertion, expect, vi } from 'vitest'
import { readBlocks } from '../../../dev/day/blocks.ts'
import { commandsOf } from '../../../dev/day/commands.ts'
import { Shell } from '../../../dev/day/shell.ts'
import { searchPath } from '../../../dev/process/command.ts'
import { DispatchFleet, type DispatchFleetOptions } from './fleet.ts'
import { FleetKubectl } from './kubectl.ts'
import type { CloudSite } from './on-ec2.ts'

export const page = 'docs/dispatch-tasks.md'
const text = readFileSync(fileURLToPath(new URL(`../../../${page}`, import.meta.url)), 'utf8')
const { blocks, problems: unclear } = readBlocks(page, text)
export const problems: readonly string[] = unclear
export const headings: readonly string[] = [...new Set(blocks.map(({ heading }) => heading))]
/** The heading of commands that each operator runs first. */
export const before = 'before-all-tasks'
const commandMs = 60_000
const patience = { timeout: 60_000, interval: 50 }

/** As `expect.poll`, which tests side by side must not call. */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  check: (found: Assertion<void, Awaited<T>>) => void,
): Promise<void> {
  await vi.waitFor(async () => check(expect(await ask())), patience)
}

/** An operator with a shell, and an installation. */
export class Desk {
  readonly uuids = new Map<string, string>()
  /** All that commands have printed. */
  shown = ''
  readonly fleet: DispatchFleet
  readonly #kubectl: FleetKubectl
  readonly #shell: Shell
  readonly #audit: string

  static async open(site: CloudSite, options: DispatchFleetOptions): Promise<Desk> {
    const fleet = await DispatchFleet.start({ ...options, cloud: { ...options.cloud, TimeoutIdle: '1s' } })
    const desk = new Desk(site, fleet, await FleetKubectl.for(fleet))
    await desk.run(before)
    return desk
  }

  private constructor({ audit }: CloudSite, fleet: DispatchFleet, kubectl: FleetKubectl) {
    this.fleet = fleet
    this.#kubectl = kubectl
    this.#audit = audit
    const env = {
      PATH: [kubectl.programs, dirname(process.execPath), ...searchPath].join(':'),
      ...{ HOME: kubectl.cwd, LC_ALL: 'C.UTF-8' },
    }
    this.#shell = new Shell({ cwd: kubectl.cwd, env, folder: fleet.stateDir })
  }

  /** Runs all commands below a heading. @returns what they print */
  async run(heading: string): Promise<string> {
    const [first] = this.fleet.replicas
    let shown = ''
    for (const { at, text: written, expects } of blocks.filter(each => each.heading === heading).flatMap(commandsOf)) {
      const command = written
        .replaceAll('http://127.0.0.1:8080', first!.url)
        .replaceAll('http://127.0.0.1:8081', first!.monitoringUrl)
      const { code, output } = await this.#shell.run(command, commandMs)
      expect(code, `${at}: ${written}\n${output}`).toBe(0)
      for (const words of expects) expect(output, at).toContain(words)
      shown += output
    }
    this.shown += shown
    return shown
  }

  /** A container that ends once it is released. */
  async submit(name: string): Promise<void> {
    const command = ['sh', '-c', `while [ ! -e ${this.#go} ]; do sleep 0.1; done`]
    const body = {
      ...{ command, container_image: 'busybox', priority: 500 },
      runtime_constraints: { vcpus: 1, ram: 2 ** 30 },
    }
    const answer = await this.fleet.rest('ada', '/dispatch/v1/containers', { method: 'POST', body })
    expect(answer.status, JSON.stringify(answer.body)).toBe(201)
    this.uuids.set(name, (answer.body as { uuid: string }).uuid)
  }

  find(name: string) {
    return this.fleet.find(this.uuids.get(name)!)
  }

  /** Why it waits, as operators see it. */
  async why(name: string): Promise<string> {
    const path = `/arvados/v1/dispatch/container?container_uuid=${this.uuids.get(name)}`
    return JSON.stringify((await this.fleet.rest('management', path)).body)
  }

  async runs(name: string): Promise<void> {
    await eventually(
      async () => (await this.find(name)).state,
      found => found.toBe('Running'),
    )
  }

  async cancel(name: string): Promise<void> {
    await this.fleet.containers.change(this.uuids.get(name)!, undefined, { cancel: 'the task is over' })
  }

  release(): void {
    writeFileSync(this.#go, '')
  }

  get #go(): string {
    return join(this.#audit, `${this.fleet.name}.go`)
  }

  async close(): Promise<void> {
    if (!existsSync(this.#go)) this.release()
    this.#shell.close()
    await this.#kubectl.close()
    await this.fleet.stop()
  }
}
