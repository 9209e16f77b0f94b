/**
 * The ends of an operation: one script writes the last status, the last events, and whether objects remain. It also writes
 * the result of the last step, `last`, which has no script of its own.
 */
import type { NeedsSomeone } from '../base/errors.ts'
import type { EndNote } from '../store/owners.ts'
import type { NewEvent } from '../store/records.ts'
import { byUnknown } from './audit.ts'
import type { End } from './journal.ts'
import type { Owned } from './owned.ts'
import type { StepResult } from './steps.ts'

/** The lab is complete. */
export function endComplete(owned: Owned, last: StepResult): Promise<void> {
  const { namespaceUid, podUid } = owned.known
  const fields = { podPresent: true, namespaceUid: namespaceUid!, podUid: podUid! }
  return finish(owned, last, { outcome: 'running', events: completed(owned), fields })
}

/** The lab and all its objects are gone. */
export const endGone = (owned: Owned, last: StepResult): Promise<void> =>
  finish(owned, last, { outcome: 'gone', events: completed(owned), fields: {} })

/** A creation failed, and all its objects are gone. */
export const endCleaned = (owned: Owned, reason: string, last: StepResult): Promise<void> =>
  finish(owned, last, { outcome: 'failed', events: [failed(owned)], fields: { podPresent: false } }, reason)

/**
 * The operation failed.
 * @param before events before the last one
 * @param later why objects may remain, which any replica removes as soon as it can
 */
export async function endFailed(
  owned: Owned,
  reason: string,
  before: readonly NewEvent[],
  later: NeedsSomeone | undefined,
): Promise<void> {
  const words = `What is left of the lab is removed as soon as the cluster permits it (${later?.message})`
  const events: NewEvent[] = [...before, ...(later ? [['info', words] as const] : []), failed(owned)]
  await finish(owned, 'nothing', { outcome: 'failed', events, fields: later ? { remains: owned.op } : {} }, reason)
}

const completed = ({ user }: Owned): NewEvent[] => [
  ['progress', '100'],
  ['complete', `Operation complete for ${user}`],
]

function failed({ claim, user }: Owned): NewEvent {
  const what = claim.record.kind === 'create' ? 'creation' : 'deletion'
  return ['failed', `Lab ${what} failed for ${user}`]
}

async function finish(owned: Owned, last: StepResult, end: Omit<End, 'note'>, reason?: string): Promise<void> {
  const { kind, acceptedAtMs, op, by } = owned.claim.record
  const { audit, clock, metrics } = owned.options
  const { outcome } = end
  const done = last === 'nothing' ? { events: [] } : last
  await owned.pass('finish.before-act')
  const fields = { ...done.fields, ...end.fields, step: '', acting: false }
  const askedBy = by ?? byUnknown(audit, owned.user)
  const note: EndNote = { kind, result: outcome === 'failed' ? 'failed' : 'succeeded', by: askedBy }
  await owned.journal.finish(done.events, { ...end, fields, note }, () => owned.pass('finish.before-commit'))
  await owned.pass('finish.after-act')
  audit.operation(op, kind, note.result, askedBy)
  const result = outcome === 'failed' ? 'failed' : 'complete'
  const seconds = Math.max(0, clock.wallMs() - acceptedAtMs) / 1000
  metrics.operationDuration.observe({ kind, result }, seconds)
  owned.log.info({ result, seconds, ...(reason !== undefined && { reason }) }, 'operation ended')
  owned.span.end({ attributes: { 'skylab.result': result }, ...(result === 'failed' && { error: 'failed' }) })
}
