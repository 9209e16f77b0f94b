/** Compares the resources of replicas at rest with those at the start of the fleet: I10. */
import type { Evidence, Usage, Violation } from '../evidence/evidence.ts'

/** Allowed above a tenth more: files and memory that a process may open or fill once, and keeps. */
const slack = { files: 4, redis: 1, heapMb: 24 } as const
/** Connections to the API server stay open for a while, as many as were needed at once. */
const pooled = 64

/** I10: replicas close what they opened. */
export function checkI10({ usage, watches }: Pick<Evidence, 'usage' | 'watches'>): Violation[] {
  return [...usage.flatMap(grown), ...watches.filter(({ count }) => count > 1).map(tooMany)]
}

function grown({ replica, before, after }: Usage): Violation[] {
  const limits = [
    ['files', 'open files', before.files * 1.1 + slack.files],
    ['redis', 'connections to Redis', before.redis + slack.redis],
    ['outgoing', 'other connections', before.outgoing * 1.1 + pooled],
    ['heapMb', 'MB of heap', before.heapMb * 1.1 + slack.heapMb],
  ] as const
  return limits
    .filter(([name, , limit]) => after[name] > limit)
    .map(([name, what]) => `I10 ${replica} has ${after[name]} ${what}, and had ${before[name]}`)
}

const tooMany = ({ replica, resource, count }: Evidence['watches'][number]) =>
  `I10 ${replica} has ${count} watches of ${resource} open`
