/**
 * The steps that end a machine, and wait for the proof. A yes of the cloud is no proof, nor is a machine that nobody can
 * reach: only a cloud that shows it as gone frees its containers.
 */
import { RetryLater } from '../base/errors.ts'
import { isAbsent } from '../clouds/absence.ts'
import type { CloudCall } from '../clouds/driver.ts'
import { CloudRefused } from '../clouds/errors.ts'
import { type MachineBrief, sentOf } from '../dispatch/container.ts'
import { bootOutcomeOf, creationFailed, endedByCloud } from '../dispatch/endings.ts'
import { MachineGone } from '../store/dispatch/keeping.ts'
import type { MachineContext, MachineParts, MachineResult, MachineStep } from './shape.ts'

const heldMs = 10_000

/** @param prefix names the steps of a list that removes what a failed creation made */
export const endSteps = (prefix: string): readonly MachineStep[] => [
  { name: `${prefix}destroy`, kind: 'act', progress: 80, run: destroyMachine },
  { name: `${prefix}gone`, kind: 'wait', progress: 100, run: awaitGone },
]

async function destroyMachine(context: MachineContext): Promise<MachineResult> {
  const brief = await briefOf(context)
  if (!brief || brief.instance === '') return 'nothing'
  const kept = await context.keeping.keep({ state: 'shutdown', ending: brief.ending || creationFailed })
  // A machine on hold stays, however its operation ended.
  if (kept.answer !== 'kept' || kept.brief.ending === '') throw new RetryLater('the machine is on hold', heldMs)
  await context.failpoint('before-act')
  // An act has a slot, so it does not wait: what was refused is asked for again by the wait that follows.
  await destroy(context, brief.instance).catch(ignoreRefusal)
  await context.failpoint('after-act')
  return { events: [['info', `Asked the cloud to end ${brief.instance}: ${brief.ending}`]] }
}

/** @returns undefined once the machine is gone by proof: an owner before this one did not come to end the operation */
async function briefOf({ keeping }: MachineContext): Promise<MachineBrief | undefined> {
  try {
    return (await keeping.read()).brief
  } catch (error) {
    if (error instanceof MachineGone) return undefined
    throw error
  }
}

async function destroy(context: MachineContext, id: string): Promise<void> {
  const { cloud } = context.parts
  const call = context.call()
  await cloud.ask('destroy', call, async driver => {
    await call.failpoint('before-send')
    await driver.destroy(id, call)
    await call.failpoint('after-send')
  })
}

async function awaitGone(context: MachineContext): Promise<MachineResult> {
  const brief = await briefOf(context)
  if (!brief) return 'nothing'
  if (brief.instance !== '') await untilGone(context, brief.instance)
  const { nowMs } = await context.keeping.read()
  await context.keeping.gone()
  if (brief.instance !== '') tellEnd(context.parts, brief, nowMs)
  return { events: [['info', brief.instance === '' ? 'There never was a machine' : `${brief.instance} is gone`]] }
}

function tellEnd({ sight }: MachineParts, brief: MachineBrief, nowMs: number): void {
  const { ending, sinceMs, probedMs } = brief
  const isOurs = ending !== endedByCloud
  sight.vanished(isOurs ? 'shutdown' : stateBefore(brief))
  // Nobody knows when the cloud has ended it.
  if (isOurs) sight.gone((nowMs - sinceMs) / 1000)
  if (probedMs === 0) sight.booted(bootOutcomeOf(ending))
}

/** The state of a machine before it ended. Its record still has the containers that it was asked to run. */
function stateBefore(brief: MachineBrief): 'running' | 'booting' | 'idle' {
  if (sentOf(brief).length > 0) return 'running'
  return brief.probedMs === 0 ? 'booting' : 'idle'
}

/** Asks again each time that `shutdownMs` has passed and the cloud still shows the machine. */
async function untilGone(context: MachineContext, id: string): Promise<void> {
  const { clock, signal, parts } = context
  let againMs = clock.monotonicMs() + parts.times.shutdownMs
  while (!(await isGone(context, id)) && !(await isAbsentNow(context, id))) {
    if (clock.monotonicMs() >= againMs) {
      // An operator may later allow what the cloud refuses now. The machine costs money until then.
      await destroy(context, id).catch(refusedLater)
      againMs = clock.monotonicMs() + parts.times.shutdownMs
    }
    await clock.sleep(Math.min(parts.times.probeMs, Math.max(1, againMs - clock.monotonicMs())), signal)
  }
}

/** A listing serves all keepers; a machine that it does not show is asked about alone, since listings lag. */
async function isGone({ call, parts: { cloud } }: MachineContext, id: string): Promise<boolean> {
  const how: CloudCall = call()
  const listed = (await cloud.list(how).catch(refusedLater)).find(each => each.id === id)
  if (listed) return listed.state === 'gone'
  const found = await cloud.ask('find', how, driver => driver.find(id, how)).catch(refusedLater)
  return found !== 'unknown' && found.state === 'gone'
}

/** A cloud may forget a machine without ever showing it as ended. */
async function isAbsentNow({ call, keeping, parts: { cloud } }: MachineContext, id: string): Promise<boolean> {
  const how: CloudCall = call()
  const { missing } = cloud.driver
  if (!missing) return false
  const asked = cloud.ask('find', how, driver => driver.missing!(id, how))
  await keeping.keep({ missing: await asked.catch(refusedLater) })
  const { facts, nowMs } = await keeping.read()
  return isAbsent(facts.missingSinceMs, nowMs)
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof CloudRefused)) throw error
}

function refusedLater(error: unknown): never {
  if (error instanceof CloudRefused) throw new RetryLater(error.message, 10_000)
  throw error
}
