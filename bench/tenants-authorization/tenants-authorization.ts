/**
 * The cost of tenants for others: the time of the API server to authorize, with no tenants and with many, since RBAC looks at all
 * ClusterRoleBindings; and to admit the largest objects, without policies and with them. docs/bench.md explains the result.
 *   npm run bench -- tenants-authorization [--tenants 1000] [--questions 400] [--admissions 40]
 */
import { startBox } from '../../dev/cluster/box-cluster.ts'
import type { Progress } from '../../dev/process/progress.ts'
import { openRun } from '../../dev/run/run.ts'
import { setup } from '../../dev/setup/setup.ts'
import { systemClock } from '../../src/base/clock.ts'
import { AdminKube } from '../../test/kit/cluster/kube.ts'
import { siteTenants } from '../../test/kit/tenants/objects.ts'
import { machine } from '../measure/machine.ts'
import { numbersOf } from '../measure/options.ts'
import { round } from '../measure/statistics.ts'
import { applyTenants } from '../measure/tenant-policies.ts'
import { admissionFigures } from './admission.ts'
import { makeTenants } from './fill.ts'
import { authorizationFigures, compareFigures } from './questions.ts'
import { defaults, type Scene } from './scene.ts'

export async function tenantsAuthorizationBench(
  args: readonly string[],
  progress: Progress,
  signal: AbortSignal,
): Promise<object> {
  const options = numbersOf(args, defaults)
  const tools = await setup(['cluster', 'kubectl'], progress, signal)
  const conditions = { ...options, ...machine() }
  const run = await openRun(progress)
  try {
    const { stateDir } = run
    const cluster = await startBox({ stateDir, tools, progress, realNode: 'never', kwok: 0, audit: false, signal })
    const kube = new AdminKube(cluster.kubeconfig)
    const figures = await figuresOf({ cluster, kube, options, progress, signal })
    kube.close()
    return { bench: 'tenants-authorization', conditions, ...figures }
  } finally {
    await run.close()
  }
}

/** The definition and the rights come first, then the policies, then the tenants. */
async function figuresOf(scene: Scene): Promise<object> {
  const { cluster, kube, options, progress, signal } = scene
  const apply = await applyTenants(cluster, kube, siteTenants, signal)
  const admission = await progress.part('admission', () => admissionFigures(scene, apply))
  await makeTenants(scene, 0, 1)
  const few = await progress.part('authorization without tenants', () => authorizationFigures(scene))
  const begunMs = systemClock.monotonicMs()
  const made = await progress.part(`${options.tenants} tenants`, () => makeTenants(scene, 1, options.tenants))
  const fillSeconds = round((systemClock.monotonicMs() - begunMs) / 1000, 1)
  const many = await progress.part('authorization with tenants', () => authorizationFigures(scene))
  return { admission, fill_s: fillSeconds, objects: made, authorization: compareFigures(few, many) }
}
