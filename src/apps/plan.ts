/** The objects that an app should have, and those that may be touched. Pure. */
import type { Fact, Wanted } from '../reconcile/types.ts'
import type { AppSettings } from './groups.ts'
import { ownerOf, renderApp } from './render.ts'
import type { AppSpec, CheckedApp } from './spec.ts'

export interface AppPlan {
  readonly objects: readonly Wanted[]
  /** Those of the app's objects that may be changed. */
  readonly standing: readonly Fact[]
}

const isDeployment = ({ kind }: { readonly kind: string }): boolean => kind === 'Deployment'

/**
 * Where its instance type is unknown, as after a change of the configuration, its Deployment stays as it is.
 * @param standing its objects that exist, and whatever else has one of their names
 */
export function planOf(
  app: Fact,
  { spec, refusal }: CheckedApp & { readonly spec: AppSpec },
  settings: AppSettings,
  standing: readonly Fact[],
): AppPlan {
  const hasPods = standing.some(({ ref }) => isDeployment(ref))
  const { objects } = renderApp(app, spec, settings, hasPods)
  if (!refusal) return { objects, standing }
  return {
    objects: objects.filter(({ object }) => !isDeployment(object)),
    standing: standing.filter(({ ref }) => !isDeployment(ref)),
  }
}

/**
 * No pod of the app runs, and all else stays as it is. Nothing is removed, since the account has no right to: the garbage
 * collector does it when the app is gone.
 * @param deployment its own; undefined without one
 */
export function withoutPods(app: Fact, deployment: Fact | undefined): AppPlan {
  if (!deployment) return { objects: [], standing: [] }
  const { apiVersion, kind, name, namespace } = deployment.ref
  const metadata = { name, ...(namespace !== undefined && { namespace }), ownerReferences: [ownerOf(app)] }
  const object = { apiVersion, kind, metadata, spec: { replicas: 0 } }
  return { objects: [{ object, stage: 0, compare: 'part', restricts: true }], standing: [deployment] }
}
