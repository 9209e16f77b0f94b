/** What should stand of an app, and what of it may be touched. Pure. */
import type { Fact, Wanted } from '../reconcile/types.ts'
import type { AppSettings } from './groups.ts'
import { renderApp } from './render.ts'
import type { CheckedApp } from './spec.ts'

export interface AppPlan {
  readonly objects: readonly Wanted[]
  /** Those of the app's objects that may be changed or removed. */
  readonly standing: readonly Fact[]
  readonly pruned: readonly string[]
}

/**
 * Nothing stands of an app that is refused. Only where its instance type is unknown, as after a change of the
 * configuration, its Deployment stays as it is.
 * @param standing its objects that exist, and whatever else has one of their names
 */
export function planOf(
  app: Fact,
  { spec, refusal }: CheckedApp,
  settings: AppSettings,
  standing: readonly Fact[],
): AppPlan {
  if (!spec) return { objects: [], standing, pruned: [] }
  const isDeployment = ({ kind }: { readonly kind: string }) => kind === 'Deployment'
  const hasPods = standing.some(({ ref }) => isDeployment(ref))
  const { objects, pruned } = renderApp(app, spec, settings, hasPods)
  if (!refusal) return { objects, standing, pruned }
  return {
    objects: objects.filter(({ object }) => !isDeployment(object)),
    standing: standing.filter(({ ref }) => !isDeployment(ref)),
    pruned,
  }
}
