/**
 * What a machine has, compared with what Redis has of it, before anything is started or told. Redis may have lost or forgotten
 * what runs there. The machine obeys this channel alone by now, so what its list lacks does not run, and cannot begin by
 * anything that was sent before.
 */
import type { MachineRuns } from '../dispatch/attached.ts'
import type { FoundRun } from '../store/dispatch/keeping-words.ts'
import { gatewayOf } from './gateway.ts'
import type { MachineContext } from './shape.ts'

export interface Inventory {
  /** Runs that their container has no more: to be ended, and told to nobody. */
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
  const live = found.filter(({ end }) => !end)
  // What has ended takes no machine, and what is lacking frees one: then there is a place for what runs.
  const strays: FoundRun[] = []
  const ended = await endedOf(context, found, live)
  for (const run of ended) if ((await keeping.adopt(run)) === 'other') strays.push(run)
  await freeLacking(context, found, live)
  let isWhole = true
  for (const run of live) {
    const answer = await keeping.adopt(run)
    if (answer === 'other') strays.push(run)
    if (answer !== 'busy' && answer !== 'ahead') continue
    isWhole = false
    await context.report([['error', `The machine runs what the records do not allow (${answer})`]])
  }
  return { strays, isWhole }
}

/**
 * Runs whose end is written at once. Where nothing else runs, the end of the record's own run waits for its turn in the spool:
 * after it, output that the machine still has would be that of nobody.
 */
async function endedOf({ keeping }: MachineContext, found: readonly FoundRun[], live: readonly FoundRun[]) {
  const ended = found.filter(({ end }) => end)
  if (ended.length === 0 || live.length > 0) return ended
  const { container } = (await keeping.read()).brief
  return ended.filter(({ uuid, run }) => uuid !== container?.uuid || run !== container.run)
}

/** Where something else runs, the container of the record does not: it is free. Else it is started again, under the same run. */
async function freeLacking({ keeping }: MachineContext, found: readonly FoundRun[], live: readonly FoundRun[]) {
  const { container } = (await keeping.read()).brief
  if (!container?.run || live.length === 0) return
  const isThere = found.some(({ uuid, run }) => uuid === container.uuid && run === container.run)
  if (!isThere) await keeping.tell(container.uuid, container.run, { what: 'lacks' })
}
