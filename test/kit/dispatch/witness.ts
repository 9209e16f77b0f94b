/**
 * What containers themselves write, and the judge of it. A container holds a lock for as long as one of its processes lives, so
 * whoever comes second sees the first, and at rest the kernel says who still runs.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ContainerState } from '../../../src/dispatch/container.ts'

interface Line {
  readonly kind: 'begin' | 'end' | 'overlap'
  readonly uuid: string
  readonly run: number
  readonly pid: number
  readonly atMs: number
}

/** A container as its record has it at rest; undefined where there is none. */
export type Found = { readonly state: ContainerState; readonly run: number; readonly runs: number } | undefined

export interface Expected {
  readonly uuid: string
  /** Default: `Complete`. `lost`: it waited only, and Redis was emptied. */
  readonly as?: 'Complete' | 'Cancelled' | 'lost' | 'any'
  /** How often a blow may have ended a run of it. Default 0: it is never restarted. */
  readonly restarts?: number
}

export class Witness {
  readonly folder: string

  constructor(stateDir: string) {
    this.folder = join(stateDir, 'witness')
    mkdirSync(this.folder)
  }

  /** A command that runs for some seconds, or until it is let go. */
  command(seconds?: number): readonly string[] {
    const { folder } = this
    const letGo = `until [ -e ${folder}/go ] || [ -e ${folder}/$SKYLAB_CONTAINER_UUID.go ]; do sleep 0.1; done`
    const say = (kind: Line['kind']) =>
      `echo "${kind} $SKYLAB_CONTAINER_UUID $SKYLAB_CONTAINER_RUN $$ $(date +%s%3N)" >> ${folder}/log`
    return [
      ...['sh', '-c'],
      `exec 9>>${folder}/$SKYLAB_CONTAINER_UUID.lock
flock -n 9 || ${say('overlap')}
${say('begin')}
echo "$SKYLAB_CONTAINER_UUID"
${seconds === undefined ? letGo : `sleep ${seconds}`}
${say('end')}`,
    ]
  }

  /** @param uuid default: all, also those that begin later */
  letGo(uuid?: string): void {
    writeFileSync(join(this.folder, uuid === undefined ? 'go' : `${uuid}.go`), '')
  }

  lines(): readonly Line[] {
    const file = join(this.folder, 'log')
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    return text
      .split('\n')
      .filter(Boolean)
      .map(line => {
        const [kind, uuid = '', run, pid, atMs] = line.split(' ')
        return { kind: kind as Line['kind'], uuid, run: Number(run), pid: Number(pid), atMs: Number(atMs) }
      })
  }

  begins(uuid: string): readonly Line[] {
    return this.lines().filter(line => line.kind === 'begin' && line.uuid === uuid)
  }

  /** Containers of which a process lives, as the kernel says. */
  alive(): readonly string[] {
    const locks = readdirSync(this.folder).filter(name => name.endsWith('.lock'))
    return locks
      .filter(name => spawnSync('flock', ['-n', join(this.folder, name), 'true']).status !== 0)
      .map(name => name.slice(0, -'.lock'.length))
  }

  /** What was broken, of V1, V2 and V12. */
  judge(expected: readonly Expected[], found: ReadonlyMap<string, Found>): readonly string[] {
    const lines = this.lines()
    const overlaps = lines
      .filter(({ kind }) => kind === 'overlap')
      .map(({ uuid, run }) => `V1 overlap: run ${run} of ${uuid}`)
    const known = new Set(expected.map(({ uuid }) => uuid))
    const strangers = lines.filter(({ uuid }) => !known.has(uuid)).map(({ uuid }) => `V14 a stranger ran: ${uuid}`)
    const alive = this.alive().map(uuid => `V3 left running: ${uuid}`)
    return [
      ...overlaps,
      ...strangers,
      ...alive,
      ...expected.flatMap(each => judgeOne(each, lines, found.get(each.uuid))),
    ]
  }
}

function judgeOne({ uuid, as = 'Complete', restarts = 0 }: Expected, all: readonly Line[], found: Found): string[] {
  const broken: string[] = []
  const of = (kind: Line['kind']) => all.filter(line => line.uuid === uuid && line.kind === kind)
  const begun = of('begin')
  if (begun.length > 1 + restarts) broken.push(`V12 restarted: ${uuid} began ${begun.length} times`)
  const runs = begun.map(({ run }) => run)
  if (new Set(runs).size < runs.length) broken.push(`V1 one run began twice: ${uuid}`)
  if (runs.some((run, i) => i > 0 && run < runs[i - 1]!)) broken.push(`V1 an older run began later: ${uuid}`)
  if (!found) return as === 'lost' || as === 'any' ? broken : [...broken, `V2 lost: ${uuid}`]
  if (as === 'any') return broken
  if (as !== 'lost' && found.state !== as) broken.push(`V2 ${uuid} is ${found.state}, not ${as}`)
  if (found.state === 'Complete' && !of('end').some(({ run }) => run === found.run))
    broken.push(`V2 ${uuid} is Complete without an end of run ${found.run}`)
  return broken
}
