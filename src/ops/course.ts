/** The course of a creation and of a deletion, of any kind of subjects: phases, the effect of failures, and the end. */
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import { sealedName } from '../base/subject.ts'
import { endCleaned, endComplete, endFailed } from './ending.ts'
import { OwnedHost } from './host.ts'
import type { StepList } from './kind.ts'
import type { Owned } from './owned.ts'
import { DeadlinePassed, isByRefusal, runPhase } from './phase.ts'
import type { Shape, StepResult } from './steps.ts'

/** Brings a claimed operation to its end. Rejects if another replica is to continue. */
export const runCourse = <K extends Shape>(owned: Owned<K>): Promise<void> =>
  owned.claim.record.kind === 'create' ? create(owned) : remove(owned)

async function create<K extends Shape>(owned: Owned<K>): Promise<void> {
  const { record, remainingMs } = owned.claim
  if (record.failing) return clean(owned, record.step, record.failing)
  let last: StepResult<K['fields']>
  try {
    requireAttempts(owned)
    last = await phase(owned, 'create', record.step, remainingMs, openPlan(owned))
  } catch (error) {
    if (!(error instanceof NeedsSomeone)) throw error
    return fail(owned, error.message)
  }
  await endComplete(owned, last)
}

async function remove<K extends Shape>(owned: Owned<K>): Promise<void> {
  const { record, remainingMs } = owned.claim
  let last: StepResult<K['fields']>
  try {
    requireAttempts(owned)
    last = await phase(owned, 'delete', record.step, remainingMs)
  } catch (error) {
    if (!(error instanceof NeedsSomeone)) throw error
    const reason = [error.message, ...(owned.work.obstacles?.() ?? [])].join('; ')
    return endFailed(owned, reason, [['error', reason]], isByRefusal(error) ? error : undefined)
  }
  await endComplete(owned, last)
}

/** Asks before a creation fails for any reason: a complete subject is no failure. */
async function fail<K extends Shape>(owned: Owned<K>, reason: string): Promise<void> {
  const { turn, journal, work } = owned
  // Reading needs no slot: other operations may act meanwhile.
  turn.end()
  const answer = await work.isComplete().catch(error => unanswered(owned, error))
  // No client has learnt that this subject is complete, so its objects may be removed later.
  if (answer instanceof NeedsSomeone) return endFailed(owned, reason, [['error', reason]], answer)
  if (answer) return endComplete(owned, 'nothing')
  const first = work.steps('clean', undefined)[0]!
  const fields = { failing: reason, step: first.name, ...turn.next(first) }
  await journal.write([['error', reason]], fields, () => owned.pass('fail.before-commit'))
  await clean(owned, first.name, reason)
}

/** Why there is no answer: the kind's time for the question has passed, nobody may ask, or nobody hears it. */
function unanswered<K extends Shape>({ refusals }: Owned<K>, error: unknown): NeedsSomeone {
  if (error instanceof DeadlinePassed) return new NeedsSomeone(refusals.reason ?? 'it does not answer')
  if (error instanceof NeedsSomeone) return error
  if (error instanceof RetryLater) return new NeedsSomeone(error.message, { cause: error })
  throw error
}

/** Removes the objects of a failed creation. The record stays, and shows whether the removal succeeded. */
async function clean<K extends Shape>(owned: Owned<K>, first: string, reason: string): Promise<void> {
  let last: StepResult<K['fields']>
  try {
    requireAttempts(owned)
    last = await phase(owned, 'clean', first, Number.POSITIVE_INFINITY)
  } catch (error) {
    if (!(error instanceof NeedsSomeone)) throw error
    owned.log.warn({ reason: error.message }, 'a failed creation could not be cleaned up')
    // Acts that killed their owner are not left to other replicas.
    const isLater = isByRefusal(error) || error instanceof DeadlinePassed
    return endFailed(owned, reason, [], isLater ? error : undefined)
  }
  await endCleaned(owned, reason, last)
}

/**
 * Runs a list of steps from the one that the record names, for no longer than this list may take.
 * @param remainingMs until the deadline of the acceptance
 */
function phase<K extends Shape>(
  owned: Owned<K>,
  list: StepList,
  first: string,
  remainingMs: number,
  plan?: K['plan'],
): Promise<StepResult<K['fields']>> {
  const { listMs } = owned.options.kind.limits
  return owned.phases.within(remainingMs, listMs[list], signal =>
    runPhase(new OwnedHost(owned, plan), owned.work.steps(list, plan), first, signal),
  )
}

function openPlan<K extends Shape>({ claim, options, name }: Owned<K>): K['plan'] {
  const { sealedPlan, nonce } = claim.record
  if (!sealedPlan) throw new NeedsSomeone('The plan of this creation is lost')
  return JSON.parse(options.sealer.open(sealedPlan, sealedName({ kind: options.kind.name, name }), nonce)) as K['plan']
}

/** Acts that did not return are presumed to have killed their owner. */
function requireAttempts<K extends Shape>({ turn, options: { kind } }: Owned<K>): void {
  const { maxAttempts } = kind.limits
  if (turn.attempts > maxAttempts) {
    throw new NeedsSomeone(`It was given up after ${maxAttempts} attempts that did not return`)
  }
}
