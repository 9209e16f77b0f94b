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

export interface DeclaredRest {
  /** Why callers cannot be identified. */
  readonly trouble: () => string | undefined
  /** What is read of the cluster for REST alone: a process that begins without it is not ready. */
  readonly templates?: { waitingFor(): string | undefined; trouble(): string | undefined }
}

/** Redis spares work alone: a process without it is ready, and tells it. */
export function readinessOfDeclared(
  waiting: ReadonlySet<string>,
  { access, kube, watches, policies }: DeclaredParts,
  rest: DeclaredRest | undefined,
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
    waitingFor: () => {
      const named = [...waiting].map(what =>
        what === kubernetesName ? (kubernetes() ?? [kubernetesName, ...refused()].join(': ')) : what,
      )
      return [...named, rest?.templates?.waitingFor()].filter(isSaid)
    },
    troubles: () =>
      [redis(), kubernetes(), policies.refusal, identity(), ...refused(), rest?.templates?.trouble()].filter(isSaid),
  }
}

const isSaid = (words: string | undefined): words is string => words !== undefined
