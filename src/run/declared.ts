/** Whether a process that carries out custom resources is ready, and what troubles it. */
import type { Readiness } from '../api/monitoring.ts'
import { inFull, type Reason } from '../base/reasons.ts'
import type { AdmissionWatch } from '../kube/policies/watch.ts'
import { kubernetesName, redisName } from './readiness.ts'

export interface DeclaredParts {
  readonly access: { readonly connection: { trouble(): Reason | undefined } }
  readonly kube: { trouble(): Reason | undefined }
  readonly watches: { readonly group: { troubles(): readonly string[] } }
  readonly policies: Pick<AdmissionWatch, 'refusal'>
}

/** Redis spares work alone: a process without it is ready, and tells it. */
export function readinessOfDeclared(
  waiting: ReadonlySet<string>,
  { access, kube, watches, policies }: DeclaredParts,
  rest: { readonly trouble: () => string | undefined } | undefined,
): Readiness {
  const kubernetes = () => {
    const reason = kube.trouble()
    return reason && `${kubernetesName}: ${inFull(reason)}`
  }
  const redis = () => {
    const reason = access.connection.trouble()
    return reason && `${redisName}: ${inFull(reason)}`
  }
  const refused = () => watches.group.troubles()
  const identity = () => {
    const reason = rest?.trouble()
    return reason && `the identity provider: ${reason}`
  }
  return {
    waitingFor: () =>
      [...waiting].map(what =>
        what === kubernetesName ? (kubernetes() ?? [kubernetesName, ...refused()].join(': ')) : what,
      ),
    troubles: () =>
      [redis(), kubernetes(), policies.refusal, identity(), ...refused()].filter(each => each !== undefined),
  }
}
