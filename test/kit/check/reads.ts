/** Checks the answer of every replica right after a client saw an end: P6. */

import type { Evidence, ParsedHistory, Violation } from '../evidence/evidence.ts'
import type { Call } from '../evidence/history.ts'
import type { Operation } from './operations.ts'

/** P6: a replica that is asked after an end knows of it. */
export function checkReads(evidence: Evidence, parsed: ParsedHistory, operations: readonly Operation[]): Violation[] {
  const byOp = new Map(operations.map(operation => [operation.op, operation]))
  return parsed.calls
    .filter(({ after, status }) => after !== undefined && (status === 200 || status === 404))
    .flatMap(call => {
      const operation = byOp.get(call.after!)
      // Only the operation knows which user the list must have or lack.
      if (operation?.kinds.size !== 1) return []
      if (movedOn(operation, call, parsed, operations)) return []
      return operation.kinds.has('create') ? afterCreation(operation, call) : afterDeletion(operation, call)
    })
    .map(words => (evidence.expects.redisLoss ? `${words} (Redis had lost data)` : words))
}

function afterCreation({ op, user, stream }: Operation, { url, status, value }: Call): Violation[] {
  const what = `P6 after op ${op} of ${user} was complete ${url}`
  // Events behind the end report later changes of the lab.
  const befallen = (stream ?? []).slice((stream ?? []).findIndex(({ event }) => event === 'complete') + 1).length > 0
  if (value?.names) return befallen || value.names.includes(user) ? [] : [`${what} left it out of the list`]
  if (status === 404) return [`${what} answered 404`]
  const { lab } = value ?? {}
  if (!lab || (lab.op ?? 0) > op || befallen) return []
  return lab.status === 'running' && lab.hasUrl
    ? []
    : [`${what} said ${lab.status}, ${lab.hasUrl ? 'with' : 'without'} URL`]
}

function afterDeletion({ op, user }: Operation, { url, status, value }: Call): Violation[] {
  const what = `P6 after op ${op} of ${user} was complete ${url}`
  if (value?.names) return value.names.includes(user) ? [`${what} had it in the list`] : []
  return status === 404 || (value?.lab?.op ?? 0) > op ? [] : [`${what} answered ${status} ${value?.lab?.status}`]
}

/** Whether a later operation may have been accepted before the answer. */
function movedOn(
  { op, user }: Operation,
  { answeredMs }: Call,
  { calls }: ParsedHistory,
  operations: readonly Operation[],
): boolean {
  const later = operations.filter(other => other.user === user && other.op > op)
  return later.some(({ accepted }) => {
    const acceptedMs = accepted[0]?.atMs
    // No request started it: the lab ended by itself, or a compare found it.
    if (acceptedMs === undefined) return true
    const commands = calls.filter(
      call =>
        call.user === user &&
        (call.what === 'create' || call.what === 'delete') &&
        call.invokedMs <= acceptedMs + 5 &&
        call.answeredMs >= acceptedMs - 5,
    )
    return commands.length === 0 || commands.some(({ invokedMs }) => invokedMs <= answeredMs)
  })
}
