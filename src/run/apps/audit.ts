/** Lines of the audit log about what a replica of apps does by itself, or for a member who asked at a gateway. */
import type { StartOutcome } from '../../appwork/starts.ts'
import { keyOf } from '../../kube/cache.ts'
import type { Fact } from '../../reconcile/types.ts'
import type { TakenIntent } from '../../store/apps/intents.ts'
import type { Basics } from '../basics.ts'
import { joinRequestAudit } from '../request-audit.ts'

export function auditOf(basics: Basics) {
  const { auditor, flush } = joinRequestAudit(basics)
  return {
    started: ({ id, user }: TakenIntent, app: Fact | undefined, outcome: StartOutcome) =>
      auditor.request({
        ...{ action: 'app.start', result: outcome === 'started' ? 'succeeded' : 'refused' },
        ...(outcome !== 'started' && { reason: outcome }),
        actor: { kind: 'user', name: user },
        object: { kind: 'app', name: app ? keyOf(app.ref.namespace, id) : id },
      }),
    stopped: ({ ref }: Pick<Fact, 'ref'>, reason: 'annotation' | 'idle') =>
      auditor.request({
        ...{ action: 'app.stop', result: 'succeeded', reason, actor: { kind: 'controller' } },
        object: { kind: 'app', name: keyOf(ref.namespace, ref.name) },
      }),
    flush,
  }
}
