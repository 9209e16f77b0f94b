/** The ends of an operation: one script writes the last status, the last events, and whether objects remain. */
import type { NeedsSomeone } from '../base/errors.ts'
import type { EndNote, Outcome } from '../store/owners.ts'
import type { NewEvent, RecordFields } from '../store/records.ts'
import { byUnknown } from './audit.ts'
import type { Owned } from './owned.ts'

/** The lab is complete. */
export function endComplete(owned: Owned): Promise<void> {
  const { namespaceUid, podUid } = owned.known
  const fields = { podPresent: true, namespaceUid: namespaceUid!, podUid: podUid! }
  return finish(owned, 'running', completed(owned), fields)
}

/** The lab and all its objects are gone. */
export const endGone = (owned: Owned): Promise<void> => finish(owned, 'gone', completed(owned), {})

/** A creation failed, and all its objects are gone. */
export const endCleaned = (owned: Owned, reason: string): Promise<void> =>
  finish(owned, 'failed', [failed(owned)], { podPresent: false }, reason)

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
  const events: NewEvent[] = later ? [...before, ['info', words]] : [...before]
  await finish(owned, 'failed', [...events, failed(owned)], later ? { remains: owned.op } : {}, reason)
}

const completed = ({ user }: Owned): NewEvent[] => [
  ['progress', '100'],
  ['complete', `Operation complete for ${user}`],
]

function failed({ claim, user }: Owned): NewEvent {
  const what = claim.record.kind === 'create' ? 'creation' : 'deletion'
  return ['failed', `Lab ${what} failed for ${user}`]
}

async function finish(
  owned: Owned,
  outcome: Outcome,
  events: readonly NewEvent[],
  fields: RecordFields,
  reason?: string,
): Promise<void> {
  const { kind, acceptedAtMs, op, by } = owned.claim.record
  const { audit, clock, metrics } = owned.options
  await owned.pass('finish.before-act')
  const last = { ...fields, step: '', acting: false }
  const askedBy = by ?? byUnknown(audit, owned.user)
  const note: EndNote = { kind, result: outcome === 'failed' ? 'failed' : 'succeeded', by: askedBy }
  await owned.journal.finish(outcome, events, last, note, () => owned.pass('finish.before-commit'))
  await owned.pass('finish.after-act')
  audit.operation(op, kind, note.result, askedBy)
  const result = outcome === 'failed' ? 'failed' : 'complete'
  const seconds = Math.max(0, clock.wallMs() - acceptedAtMs) / 1000
  metrics.operationDuration.observe({ kind, result }, seconds)
  owned.log.info({ result, seconds, ...(reason !== undefined && { reason }) }, 'operation ended')
  owned.span.end({ attributes: { 'skylab.result': result }, ...(result === 'failed' && { error: 'failed' }) })
}
