/** Why a process that serves dispatch is not ready, and what troubles one that is. */
import type { Readiness } from '../../api/monitoring.ts'
import { inFull, type Reason } from '../../base/reasons.ts'
import { redisName } from '../readiness.ts'

export const firstCompare = 'the first compare of the records with the cloud'

export interface DispatchReadinessParts {
  readonly store: { readonly connection: { trouble(): Reason | undefined } }
  readonly pool: { readonly comparer: { readonly trouble: string | undefined } }
  readonly rest: { trouble(): string | undefined }
}

/** @param waiting what the process waits for at its start and its end; may change */
export function readinessOf(waiting: ReadonlySet<string>, { store, pool, rest }: DispatchReadinessParts): Readiness {
  const redis = () => {
    const reason = store.connection.trouble()
    return reason && `${redisName}: ${inFull(reason)}`
  }
  const compare = (name: string) => {
    const { trouble } = pool.comparer
    return trouble && `${name}: ${trouble}`
  }
  const words = (what: string) => {
    if (what === redisName) return redis() ?? what
    return what === firstCompare ? (compare(what) ?? what) : what
  }
  return {
    waitingFor: () => [...waiting].map(words),
    troubles: () => [rest.trouble(), redis(), compare('the compare')].filter(each => each !== undefined),
  }
}
