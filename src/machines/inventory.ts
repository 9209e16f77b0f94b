/**
 * Compares a machine's runs with its record in Redis, before anything is started or reported. Redis may have lost or forgotten
 * runs of the machine. The machine obeys this channel alone by now, so a run that its list lacks does not run, and nothing that
 * was sent before can begin it.
 */
import type { MachineRuns } from '../dispatch/attached.ts'
import { sentOf } from '../dispatch/container.ts'
import type { FoundRun } from '../store/dispatch/keeping-words.ts'
import { gatewayOf } from './gateway.ts'
import type { MachineContext } from './shape.ts'

/** A list has no more either. */
const noLimit = Number.MAX_SAFE_INTEGER

export interface Inventory {
  /** Runs that their container has no more: they are ended, and not reported. */
  readonly strays: readonly FoundRun[]
  /** All of the rest is in the records. */
  readonly isWhole: boolean
}

export async function takeInventory(context: MachineContext, { runs }: MachineRuns): Promise<Inventory> {
  const { parts, keeping } = context
  const found: FoundRun[] = []
  const { address } = (await keeping.read()).brief
  for (const listed of runs) {
    const run = parts.found(listed)
    if (run) found.push({ ...run, gateway: gatewayOf(address, listed) })
    // In no words of the machine, and so once for each machine: it may invent as many as it wants.
    else await context.report([['error', 'The machine shows runs that are not ours']])
  }
  const strays: FoundRun[] = []
  const sent = sentOf((await keeping.read()).brief)
  // The end of a run of the record waits for its turn in the spool: after it, output that the machine still has would be nobody's.
  for (const run of found.filter(({ end }) => end).filter(isNotOf(sent)))
    if ((await keeping.adopt(run)) === 'other') strays.push(run)
  const live = found.filter(({ end }) => !end)
  let isWhole = true
  for (const run of live) {
    let answer = await keeping.adopt(run)
    if (answer === 'busy') {
      await makeRoom(context, found, live)
      // It runs, whatever the configuration says by now: the limit may be lower than when it was assigned.
      answer = await keeping.adopt(run, noLimit)
    }
    if (answer === 'other') strays.push(run)
    if (answer !== 'busy' && answer !== 'ahead') continue
    isWhole = false
    await context.report([['error', `The machine runs what the records do not allow (${answer})`]])
  }
  return { strays, isWhole }
}

/**
 * Running containers need the places of those that do not run: these have ended, or are free. Where there are places enough, a run
 * that the machine lacks is started again under the same number, and the machine may still know its end.
 */
async function makeRoom({ keeping }: MachineContext, found: readonly FoundRun[], live: readonly FoundRun[]) {
  for (const { uuid, run } of sentOf((await keeping.read()).brief).filter(isNotOf(live))) {
    const ended = found.find(each => each.uuid === uuid && each.run === run)
    if (ended) await keeping.adopt(ended)
    else await keeping.tell(uuid, run, { what: 'lacks' })
  }
}

interface Run {
  readonly uuid: string
  readonly run: number
}

const isNotOf =
  (all: readonly Run[]) =>
  ({ uuid, run }: Run): boolean =>
    !all.some(each => each.uuid === uuid && each.run === run)
