/** The course of each kind of operation: its phases, the effect of failures, and its end. */
import type { LabPlan } from '../base/domain.ts'
import { NeedsSomeone } from '../base/errors.ts'
import { createSteps } from './create.ts'
import { cleanSteps, deleteSteps } from './delete.ts'
import { endCleaned, endComplete, endFailed, endGone } from './ending.ts'
import { OwnedHost } from './host.ts'
import type { Owned } from './owned.ts'
import { DeadlinePassed, isByRefusal, refusalGraceMs, runPhase } from './phase.ts'
import { podObstacles } from './removal.ts'
import type { StepResult } from './steps.ts'
import { findWhole } from './whole.ts'

/** Brings a claimed operation to its end. Rejects if another replica is to continue. */
export const runCourse = (owned: Owned): Promise<void> =>
  owned.claim.record.kind === 'create' ? create(owned) : remove(owned)

async function create(owned: Owned): Promise<void> {
  const { record, remainingMs } = owned.claim
  if (record.failing) return clean(owned, record.step, record.failing)
  let last: StepResult
  try {
    requireAttempts(owned)
    const plan = openPlan(owned)
    const steps = createSteps(plan)
    last = await owned.phases.within(remainingMs, owned.options.times.spawnMs, signal =>
      runPhase(new OwnedHost(owned, plan), steps, record.step, signal),
    )
  } catch (error) {
    if (!(error instanceof NeedsSomeone)) throw error
    return fail(owned, error.message)
  }
  await endComplete(owned, last)
}

async function remove(owned: Owned): Promise<void> {
  const { record, remainingMs } = owned.claim
  let last: StepResult
  try {
    requireAttempts(owned)
    last = await owned.phases.within(remainingMs, owned.options.times.deleteMs, signal =>
      runPhase(new OwnedHost(owned), deleteSteps, record.step, signal),
    )
  } catch (error) {
    if (!(error instanceof NeedsSomeone)) throw error
    const reason = withObstacles(owned, error)
    return endFailed(owned, reason, [['error', reason]], isByRefusal(error) ? error : undefined)
  }
  await endGone(owned, last)
}

/** Asks the cluster before a creation fails for any reason: a complete lab is no failure. */
async function fail(owned: Owned, reason: string): Promise<void> {
  const { turn, journal, known, refusals } = owned
  // Reading needs no slot: other operations may act meanwhile.
  turn.end()
  const standing = await ask(owned).catch(error => {
    if (error instanceof DeadlinePassed) return new NeedsSomeone(refusals.reason ?? 'it does not answer')
    if (error instanceof NeedsSomeone) return error
    throw error
  })
  // No client was told that this lab is complete, so any replica may remove its objects later.
  if (standing instanceof NeedsSomeone) return endFailed(owned, reason, [['error', reason]], standing)
  if (standing) {
    Object.assign(known, standing)
    return endComplete(owned, 'nothing')
  }
  const first = cleanSteps[0]!
  const fields = { failing: reason, step: first.name, ...turn.next(first) }
  await journal.write([['error', reason]], fields, () => owned.pass('fail.before-commit'))
  await clean(owned, first.name, reason)
}

/**
 * Finds out whether the lab is complete. Refusals end the question after a while, and silence at the deadline or a little
 * later. If Redis may have lost writes, only an answer ends it: a client may already have been told that the lab runs.
 * @throws {NeedsSomeone} when there was no answer in time
 */
function ask(owned: Owned): ReturnType<typeof findWhole> {
  const { op, names, recordMayBeOld, options, agent, log, span } = owned
  const { kube, trust, times, clock } = options
  const leastMs = Math.min(refusalGraceMs, times.deleteMs)
  const untilDeadlineMs = owned.claim.remainingMs - owned.ownedMs
  const [refusalMs, silenceMs] = recordMayBeOld
    ? [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
    : [leastMs, Math.max(leastMs, Math.min(untilDeadlineMs, times.spawnMs))]
  const common = { kube, trust, clock, names, op, recordMayBeOld, refusalMs }
  const onRefusal = owned.reportRefusal.bind(owned, 'fail')
  return owned.phases.within(silenceMs, 0, signal =>
    findWhole({ ...common, call: { signal, agent, log, span }, onRefusal }),
  )
}

/** Removes the objects of a failed creation. The record stays, and shows whether the removal succeeded. */
async function clean(owned: Owned, first: string, reason: string): Promise<void> {
  const { deleteMs } = owned.options.times
  let last: StepResult
  try {
    requireAttempts(owned)
    last = await owned.phases.within(deleteMs, deleteMs, signal =>
      runPhase(new OwnedHost(owned), cleanSteps, first, signal),
    )
  } catch (error) {
    if (!(error instanceof NeedsSomeone)) throw error
    owned.log.warn({ reason: error.message }, 'a failed creation could not be cleaned up')
    // Acts that killed their owner are not left to other replicas.
    const isLater = isByRefusal(error) || error instanceof DeadlinePassed
    return endFailed(owned, reason, [], isLater ? error : undefined)
  }
  await endCleaned(owned, reason, last)
}

function openPlan({ claim, options, user }: Owned): LabPlan {
  const { sealedPlan, nonce } = claim.record
  if (!sealedPlan) throw new NeedsSomeone('The plan of this creation is lost')
  return JSON.parse(options.sealer.open(sealedPlan, user, nonce)) as LabPlan
}

/** Acts that did not return are presumed to have killed their owner. */
function requireAttempts({ turn, options: { maxAttempts } }: Owned): void {
  if (turn.attempts > maxAttempts) {
    throw new NeedsSomeone(`It was given up after ${maxAttempts} attempts that did not return`)
  }
}

/** The reason, followed by the obstacles that the cluster reports. */
function withObstacles({ options: { view }, names: { namespace }, known }: Owned, error: Error): string {
  const pod = view.pods(namespace).find(({ uid }) => uid === known.podUid)
  return [error.message, ...podObstacles(pod), ...(view.namespace(namespace)?.obstacles ?? [])].join('; ')
}
