/** One LNamespace on an installation in the cluster: its controller makes it Ready, and its deletion takes all of it. */
import { systemClock } from '../../src/base/clock.ts'
import { tenantLabels, tenantParent } from '../../src/tenants/words.ts'
import { roundSeconds } from '../demo/say.ts'
import type { Kubectl } from '../kube/kubectl.ts'
import { waitUntil } from '../process/api-client.ts'

export interface ShownTenant {
  readonly name: string
  /** As `kubectl get lns` shows it. */
  readonly columns: string
  /** From its creation to Ready. */
  readonly seconds: number
}

const name = 'blue'
/** Policies are enforced some seconds after they are applied. */
const admissionLimitMs = 60_000
/** The garbage collector of a new cluster learns of a new kind within half a minute. */
const removalLimitMs = 120_000

/** Makes it as the administrator, waits, and deletes it again. */
export async function showTenant(
  { kubectl }: { readonly kubectl: Kubectl },
  signal?: AbortSignal,
): Promise<ShownTenant> {
  const spec = { users: [{ kind: 'User', name: 'grace' }] }
  const input = JSON.stringify({ ...tenantParent, metadata: { name }, spec })
  await waitUntil(async () => (await kubectl(['create', '-f', '-'], { input })) !== '', {
    ...{ what: 'the admission of LNamespaces', limitMs: admissionLimitMs, signal },
  })
  const begunMs = systemClock.monotonicMs()
  await kubectl(['wait', '--for=condition=Ready', `lnamespace/${name}`, '--timeout=60s'])
  const seconds = roundSeconds(systemClock.monotonicMs() - begunMs)
  const columns = (await kubectl(['get', 'lns', name, '--no-headers'])).trim()
  await kubectl(['delete', 'lnamespace', name])
  const left = () => kubectl(['get', 'namespaces', '-l', `${tenantLabels.of}=${name}`, '-o', 'name'])
  const what = `the end of the namespace ${name}`
  await waitUntil(async () => (await left()).trim() === '', { what, limitMs: removalLimitMs, signal })
  return { name, columns, seconds }
}
