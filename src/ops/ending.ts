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
import type { Shape, StepResult } from './steps.ts'

/** A creation is complete, or a deletion: then nothing is left. */
export function endComplete<K extends Shape>(owned: Owned<K>, last: StepResult<K['fields']>): Promise<void> {
  const { options, claim, work, name } = owned
  const outcome = options.kind.ends[claim.record.kind]
  const events: NewEvent[] = [
    ['progress', '100'],
    ['complete', options.kind.words.complete(name)],
  ]
  return finish(owned, last, { outcome, events, fields: outcome === 'running' ? work.completed() : {} })
}

/** A creation failed, and all its objects are gone. */
export const endCleaned = <K extends Shape>(
  owned: Owned<K>,
  reason: string,
  last: StepResult<K['fields']>,
): Promise<void> =>
  finish(owned, last, { outcome: 'failed', events: [failed(owned)], fields: owned.work.cleaned() }, reason)

/**
 * The operation failed.
 * @param before events before the last one
 * @param later why objects may remain; for a kind whose upkeep removes them, the record then says so
 */
export async function endFailed<K extends Shape>(
  owned: Owned<K>,
  reason: string,
  before: readonly NewEvent[],
  later: NeedsSomeone | undefined,
): Promise<void> {
  const words = later && owned.options.kind.words.remains?.(later.message)
  const events: NewEvent[] = [...before, ...(words === undefined ? [] : [['info', words] as const]), failed(owned)]
  const fields = words === undefined ? {} : { remains: owned.op }
  await finish(owned, 'nothing', { outcome: 'failed', events, fields }, reason)
}

function failed<K extends Shape>({ claim, options, name }: Owned<K>): NewEvent {
  return ['failed', options.kind.words.failed(claim.record.kind, name)]
}

async function finish<K extends Shape>(
  owned: Owned<K>,
  last: StepResult<K['fields']>,
  end: Omit<End<K['fields']>, 'note'>,
  reason?: string,
): Promise<void> {
  const { kind, acceptedAtMs, op, by } = owned.claim.record
  const { audit, clock, metrics } = owned.options
  const { outcome } = end
  const done: Exclude<StepResult<K['fields']>, 'nothing'> = last === 'nothing' ? { events: [] } : last
  await owned.pass('finish.before-act')
  const fields = { ...done.fields, ...end.fields, step: '', acting: false }
  const askedBy = by ?? byUnknown(audit, owned.name)
  const note: EndNote = { kind, result: outcome === 'failed' ? 'failed' : 'succeeded', by: askedBy }
  await owned.journal.finish(done.events, { ...end, fields, note }, () => owned.pass('finish.before-commit'))
  await owned.pass('finish.after-act')
  audit.operation(op, kind, note.result, askedBy)
  const result = outcome === 'failed' ? 'failed' : 'complete'
  const seconds = Math.max(0, clock.wallMs() - acceptedAtMs) / 1000
  metrics.operationDuration.observe({ kind, result, subject_kind: owned.options.kind.name }, seconds)
  owned.log.info({ result, seconds, ...(reason !== undefined && { reason }) }, 'operation ended')
  owned.span.end({ attributes: { 'skylab.result': result }, ...(result === 'failed' && { error: 'failed' }) })
}
