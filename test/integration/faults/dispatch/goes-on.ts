/** dispatch V8: no container is interrupted by what becomes of replicas, of the runner's version, and of the token. */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse, stringify } from 'yaml'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { builtProgram } from '../../../kit/program/program.ts'
import { testBed } from '../../../kit/testbed.ts'
import { isWhole } from '../points.ts'
import { Site, until } from './shared.ts'

/** The machines of containers that run, with who claimed each of them last. */
async function ownersOf(site: Site, uuids: readonly string[]): Promise<readonly (readonly [string, string])[]> {
  const names = await Promise.all(uuids.map(async uuid => (await site.machineOf(uuid)).name))
  return Promise.all(names.map(async name => [name, await site.owner(name)] as const))
}

async function takenOver(site: Site, before: readonly (readonly [string, string])[]): Promise<void> {
  for (const [name, token] of before) await until(async () => (await site.owner(name)) !== token).toBe(true)
}

async function killAll(site: Site): Promise<void> {
  const ends = site.fleet.replicas.map(({ ended }) => ended)
  for (const replica of site.fleet.replicas) replica.kill()
  await Promise.all(ends)
}

/** One after another, as a Deployment does it. */
async function rollOut({ fleet }: Site): Promise<void> {
  for (const replica of fleet.replicas) {
    const { ended } = replica
    replica.kill('SIGTERM')
    await ended
    await replica.ready()
  }
}

/** Changes the block `dispatch` of each replica's configuration. */
function configure({ fleet }: Site, change: (dispatch: { CloudVMs: object; previousTokenFiles?: string[] }) => void) {
  for (const index of fleet.replicas.keys()) {
    const file = join(fleet.stateDir, `skylab-${index + 1}.yaml`)
    const config = parse(readFileSync(file, 'utf8'))
    change(config.dispatch)
    writeFileSync(file, stringify(config), { mode: 0o600 })
  }
}

/** A build of the runner with another hash. */
async function renewRunner(site: Site): Promise<void> {
  const { program } = builtProgram(testBed().stateDir)
  const source = readFileSync(join(dirname(program), 'runner.cjs'), 'utf8').replace(/^#!.*\n/, '')
  const file = join(site.fleet.stateDir, 'runner-of-tomorrow.cjs')
  writeFileSync(file, `#!${process.execPath}\n// Another build.\n${source}`, { mode: 0o755 })
  configure(site, dispatch => Object.assign(dispatch.CloudVMs, { DeployRunnerBinary: file }))
  await rollOut(site)
}

/** Programs that all machines of this computer share, by their hash. */
const programs = ({ fleet }: Site): readonly string[] => {
  const folder = join(fleet.cloud.folder, 'programs')
  return existsSync(folder) ? readdirSync(folder).filter(name => name.startsWith('skylab~')) : []
}

async function renewToken(site: Site): Promise<void> {
  const { stateDir } = site.fleet
  const before = readFileSync(join(stateDir, 'dispatch.token'), 'utf8')
  writeFileSync(join(stateDir, 'former.token'), before, { mode: 0o600 })
  writeFileSync(join(stateDir, 'dispatch.token'), randomBytes(24).toString('hex'), { mode: 0o600 })
  configure(site, dispatch => Object.assign(dispatch, { previousTokenFiles: ['former.token'] }))
  await rollOut(site)
}

attack(
  'dispatch V8 goes on',
  async (trial: Trial) => {
    const site = await Site.start(trial, { replicas: isWhole ? 3 : 2 })
    const uuids = [await site.submit(), await site.submit({ vcpus: 2 })]
    for (const uuid of uuids) await site.begun(uuid)
    const pids = uuids.map(uuid => site.witness.begins(uuid)[0]!.pid)
    const blows: readonly [string, (site: Site) => Promise<void>][] = [
      ['all replicas killed', killAll],
      ['a new runner', renewRunner],
      ['a new token', renewToken],
    ]
    for (const [name, strike] of isWhole ? blows : blows.slice(0, 1)) {
      trial.injected()
      const before = await ownersOf(site, uuids)
      await strike(site)
      await takenOver(site, before)
      trial.landed()
      // And more is dispatched.
      const other = await site.submit()
      await site.running(other)
      site.witness.letGo(other)
      await until(() => site.stateOf(other)).toBe('Complete')
      for (const [index, uuid] of uuids.entries()) {
        await until(async () => ['Running', ...over].includes((await site.stateOf(uuid)) ?? '')).toBe(true)
        const isOver = over.includes((await site.stateOf(uuid)) ?? '')
        if (isOver || site.witness.begins(uuid).length > 1 || !isAlive(pids[index]!))
          trial.violation(`V8 after ${name}, ${uuid} was interrupted`)
      }
    }
    trial.figure('runners', programs(site).length)
    if (isWhole && programs(site).length < 2) throw new Error('the new runner was not installed')
    await site.judge()
  },
  { concurrent: true },
)

const over: readonly string[] = ['Complete', 'Cancelled']
const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`)
