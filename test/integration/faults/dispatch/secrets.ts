/** dispatch V13: no secret is an argument of a process, nor in Redis, a log, an event, an answer or a metric. */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { files } from '../../../../src/clouds/loopback/folder.ts'
import { machineMark } from '../../../../src/clouds/loopback/processes.ts'
import { attack } from '../../../kit/attack/attack.ts'
import { Site, until } from './shared.ts'

const read = (path: string): string => {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** Reads the arguments of all processes of this computer, again and again. */
class Onlookers {
  /** Arguments with one of the secrets. */
  readonly seen = new Set<string>()
  /** Processes of machines whose arguments were read. */
  readonly machines = new Set<string>()
  #ends = false
  readonly #work: Promise<void>

  constructor(secrets: () => ReadonlyMap<string, string>) {
    this.#work = this.#look(secrets)
  }

  async #look(secrets: () => ReadonlyMap<string, string>): Promise<void> {
    while (!this.#ends) {
      for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
        const words = read(`/proc/${pid}/cmdline`)
        if (words.includes('runner') && read(`/proc/${pid}/environ`).includes(`${machineMark}=`)) this.machines.add(pid)
        for (const [name, secret] of secrets())
          if (words.includes(secret)) this.seen.add(`${name} in ${words.slice(0, 60)}`)
      }
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }

  async end(): Promise<void> {
    this.#ends = true
    await this.#work
  }
}

/** Files of a folder, and of those in it, but links. */
function textsIn(folder: string): string {
  const entries = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : []
  return entries
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => read(join(parentPath, name)))
    .join('\n')
}

async function dumpOf({ fleet: { client } }: Site): Promise<string> {
  await client.config('SET', 'rdbcompression', 'no')
  const keys = await client.keys('*')
  const dumps = await Promise.all(keys.map(key => client.dumpBuffer(key)))
  return [...keys, ...dumps.map(each => each?.toString('latin1') ?? '')].join('\n')
}

const secretsOf = (stateDir: string): [string, string][] => [
  ...['dispatch.token', 'management.token', 'sealing.key'].map(
    name => [name, read(join(stateDir, name)).trim()] as [string, string],
  ),
  // Its longest line: the others are the same in all keys.
  ['dispatch.key', read(join(stateDir, 'dispatch.key')).split('\n').at(-3) ?? ''],
]

attack(
  'dispatch V13 secrets',
  async trial => {
    const site = await Site.start(trial)
    const { fleet, witness } = site
    const value = randomBytes(16).toString('hex')
    const secrets = new Map([...secretsOf(fleet.stateDir), ['a secret variable', value] as const])
    for (const [name, secret] of secrets) if (secret.length < 16) throw new Error(`${name} is no secret`)
    const onlookers = new Onlookers(() => secrets)
    trial.injected(2)
    const { status, body } = await fleet.rest('ada', '/dispatch/v1/containers', {
      method: 'POST',
      body: {
        ...{ command: witness.command(), container_image: 'busybox', secret_environment: { PASSWORD: value } },
        ...{ runtime_constraints: { vcpus: 1, ram: 2 ** 30 }, priority: 500 },
      },
    })
    if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`)
    const { uuid } = body as { uuid: string }
    site.expect({ uuid })
    await site.begun(uuid)
    await site.running(uuid)
    const { instance } = await site.machineOf(uuid)
    secrets.set("a machine's secret", read(fleet.cloud.pathOf(instance, files.secret)).trim())
    const { pid } = witness.begins(uuid)[0]!
    // It has it, so there is something to find.
    if (read(`/proc/${pid}/environ`).includes(value))
      trial.landed()
      // A keeper attaches once more.
    ;(await fleet.keeper())?.kill()
    const owner = await site.owner((await site.machineOf(uuid)).name)
    await until(async () => (await site.owner((await site.machineOf(uuid)).name)) !== owner).toBe(true)
    await site.running(uuid)

    const ask = async (who: 'ada' | 'management', path: string) =>
      JSON.stringify((await fleet.rest(who, path, {}, 0)).body)
    for (const replica of fleet.replicas) await replica.ready()
    const places: Record<string, string> = {
      Redis: await dumpOf(site),
      logs: fleet.log(),
      'the log of the machine': read(fleet.cloud.pathOf(instance, files.log)),
      tags: textsIn(fleet.cloud.pathOf(instance, files.tags)),
      record: await ask('ada', `/dispatch/v1/containers/${uuid}`),
      'the management API':
        (await ask('management', '/arvados/v1/dispatch/instances')) +
        (await ask('management', '/arvados/v1/dispatch/containers')),
      metrics: (
        await Promise.all(fleet.replicas.map(async each => (await fetch(`${each.monitoringUrl}/metrics`)).text()))
      ).join('\n'),
    }
    witness.letGo(uuid)
    await until(() => site.stateOf(uuid)).toBe('Complete')
    places.events = await ask('ada', `/dispatch/v1/containers/${uuid}/events`)
    places.output = await fleet.output(uuid)
    await onlookers.end()
    for (const words of onlookers.seen) trial.violation(`V13 an argument: ${words}`)
    for (const [place, text] of Object.entries(places)) {
      for (const [name, secret] of secrets) {
        // Tags outlive Redis, so that a machine can prove itself to those who know nothing else of it.
        const isMeant = place === 'tags' && name === "a machine's secret"
        if (!isMeant && text.includes(secret)) trial.violation(`V13 ${name} is in ${place}`)
      }
    }
    if (onlookers.machines.size > 1) trial.landed()
    trial.figure('processes', onlookers.machines.size)
    await site.judge()
  },
  { concurrent: true },
)
