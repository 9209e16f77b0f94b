import { systemClock } from '../../src/base/clock.ts'
import { configSchema } from '../../src/config/schema.ts'
import { KubeClient } from '../../src/kube/client.ts'
import { askForPolicy } from '../../src/ops/upkeep/policy.ts'
import { silentLogger } from '../../src/telemetry/log.ts'
import { waitUntil } from '../process/api-client.ts'

/**
 * Waits until the admission policy is in force, or no longer: API servers take a second to notice a change of it.
 * @param kubeconfig the controller's own
 */
export async function untilPolicy(
  state: 'at work' | 'gone',
  kubeconfig: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const kubernetes = { kubeconfig, requestTimeoutSeconds: 5, maxInFlight: 1 }
  const common = { clock: systemClock, log: silentLogger(), version: 'set-up', replica: 'set-up' }
  const kube = new KubeClient({ ...common, kubernetes })
  const config = configSchema.parse({})
  const isSo = async () =>
    (await askForPolicy({ kube, config, namespace: 'skylab', signal })).active === (state === 'at work')
  try {
    await waitUntil(isSo, { what: `the admission policy ${state}`, limitMs: 30_000, ...(signal && { signal }) })
  } finally {
    await kube.close()
  }
}
