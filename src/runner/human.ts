/** `skylab runner --list` and `--kill UUID`: for humans on the machine, and as Arvados' `crunch-run` prints them. */
import { existsSync } from 'node:fs'
import { systemClock } from '../base/clock.ts'
import { askToKill } from './control.ts'
import { Runs, type Standing } from './runs.ts'
import { Machine } from './state/machine.ts'
import type { RunnerOptions } from './state/options.ts'
import type { RunFolder } from './state/run-folder.ts'

const killAnswerMs = 5000

/** @returns `<uuid>`, `<uuid> stale` or `broken` in each line. It changes nothing */
export async function listLines(options: RunnerOptions): Promise<string[]> {
  const found = await standings(options)
  if (!found) return []
  const lines = found.runs.flatMap(({ folder, standing }) => {
    if (standing === 'held') return [folder.uuid]
    return standing === 'lost' || folder.ended()?.isStale ? [`${folder.uuid} stale`] : []
  })
  const isBroken = found.machine.broken() !== undefined || lines.some(line => line.endsWith(' stale'))
  return isBroken ? [...lines, 'broken'] : lines
}

/** Sends SIGTERM, and SIGKILL after the grace. A human's word needs no epoch. @returns what was done, or undefined: no such run */
export async function killByHand(uuid: string, options: RunnerOptions): Promise<string | undefined> {
  const found = await standings(options)
  const held = found?.runs.find(({ folder, standing }) => folder.uuid === uuid && standing === 'held')
  if (!found || !held) return undefined
  const { machine } = found
  const { run } = held.folder
  const isAsked = await askToKill(machine.lockName(uuid, run), machine.key, killAnswerMs)
  return isAsked ? `${uuid}: run ${run} was sent SIGTERM` : `${uuid}: run ${run} has ended`
}

interface Found {
  readonly machine: Machine
  readonly runs: readonly { readonly folder: RunFolder; readonly standing: Standing }[]
}

/** @returns undefined on a machine where no keeper was yet */
async function standings({ dir }: RunnerOptions): Promise<Found | undefined> {
  if (!existsSync(dir)) return undefined
  const machine = await Machine.open(dir)
  const runs = new Runs(machine, systemClock)
  const folders = runs.all().sort((a, b) => a.path.localeCompare(b.path))
  return {
    machine,
    runs: await Promise.all(folders.map(async folder => ({ folder, standing: await runs.standing(folder) }))),
  }
}
