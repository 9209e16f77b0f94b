/**
 * Many LNamespaces declared at once: three replicas, and a bare loop that writes the same, each on a new cluster.
 * docs/bench.md explains the result.
 *   npm run bench -- tenants [--tenants 200] [--pairs 1] [--platform] [--kill] [--one-sudoer] [--edits 100] [--rest MINUTES]
 *     [--replicas 3] [--profile FOLDER]
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Progress } from '../../dev/process/progress.ts'
import { setup } from '../../dev/setup/setup.ts'
import { machine } from '../measure/machine.ts'
import { type HalfOptions, loopHalf, skylabHalf } from './halves.ts'
import { lanes } from './make.ts'
import { type Done, report } from './report.ts'

export async function tenantsBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const options = readOptions(args)
  const { tenants, platform, replicas, pairs } = options
  const tools = await setup(['cluster', 'redis', 'kubectl'], progress, signal)
  const conditions = { tenants, platform, replicas, pairs, loop_in_flight: lanes, ...machine() }
  const done = await halvesOf(options, { ...options, oneSudoer: false, kill: false, tools, progress, signal })
  return { bench: 'tenants', conditions, ...report(done, tenants) }
}

interface Options {
  readonly tenants: number
  readonly pairs: number
  readonly platform: boolean
  readonly killed: boolean
  readonly shared: boolean
  readonly edits: number
  readonly rest: number
  readonly replicas: number
  readonly profile: string | undefined
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      tenants: { type: 'string', default: '200' },
      pairs: { type: 'string', default: '1' },
      replicas: { type: 'string', default: '3' },
      edits: { type: 'string', default: '100' },
      rest: { type: 'string', default: '0' },
      platform: { type: 'boolean', default: false },
      kill: { type: 'boolean', default: false },
      'one-sudoer': { type: 'boolean', default: false },
      profile: { type: 'string' },
    },
  })
  const { platform, kill: killed, 'one-sudoer': shared, profile } = values
  const [tenants, pairs, replicas] = [Number(values.tenants), Number(values.pairs), Number(values.replicas)]
  const [edits, rest] = [Number(values.edits), Number.parseFloat(values.rest)]
  return { tenants, pairs, replicas, edits, rest, platform, killed, shared, profile }
}

/** Edits and rest are measured in the last half of the replicas. */
async function halvesOf({ pairs, killed, shared, edits, rest, profile }: Options, common: HalfOptions): Promise<Done> {
  const { progress } = common
  const plain = { ...common, edits: 0, rest: 0, profile: undefined }
  const done: Done = { pairs: [], killed: [], shared: [] }
  for (let number = 1; number <= pairs; number++) {
    const last = number === pairs && { edits, rest }
    const folder = profile === undefined ? undefined : join(profile, `${number}`)
    const ours = () => progress.part(`skylab ${number}`, () => skylabHalf({ ...plain, profile: folder, ...last }))
    const early = number % 2 === 1 ? await ours() : undefined
    const loop = await progress.part(`loop ${number}`, () => loopHalf(plain))
    done.pairs.push({ skylab: early ?? (await ours()), loop })
    if (killed) done.killed.push(await progress.part(`killed ${number}`, () => skylabHalf({ ...plain, kill: true })))
    if (shared) {
      const half = () => skylabHalf({ ...plain, oneSudoer: true })
      done.shared.push(await progress.part(`one sudoer ${number}`, half))
    }
  }
  return done
}
