/** The API of tenants: people with tokens of the cluster, and LNamespaces in which they are eligible, members or strangers. */
import { tenantParent } from '../../src/tenants/words.ts'
import { createKubectl, type Kubectl } from '../kube/kubectl.ts'
import { waitUntil } from '../process/api-client.ts'
import { setup } from '../setup/setup.ts'
import { startBalancer } from '../stack/haproxy.ts'
import { names } from '../tenants/people.ts'
import { setupTenants, startTenants } from '../tenants/site.ts'
import { rates, type SetupScene } from './scene.ts'

const everybody = names.map(name => ({ kind: 'User', name }))
const sudo = { eligible: everybody, maxSeconds: 60 }
/** A namespace of this name is there before, so the LNamespace is not accepted. */
const taken = 'taken'
const specs: Readonly<Record<string, object>> = {
  ...Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`eligible-${index}`, { sudo }])),
  member: { users: everybody, managers: everybody },
  sudoer: { sudoers: everybody, sudo },
  strange: {},
  [taken]: { sudo },
}
/** Policies are enforced some seconds after they are applied. */
const admissionLimitMs = 60_000

export const setupTenantScene: SetupScene = async (progress, signal) => {
  await setup(['balancer'], progress, signal)
  const tools = await setupTenants(progress, signal)
  return async ({ stateDir, replicas: count, signal }) => {
    const overrides = { api: { rates } }
    const site = await startTenants({ stateDir, replicas: count, tools, progress, signal, overrides })
    const { cluster, replicas, people } = site
    const balancer = await startBalancer({ stateDir, program: tools.program('haproxy'), replicas })
    await makeTenants(createKubectl(tools, cluster.kubeconfig, cluster.stateDir), signal)
    return {
      document: `${balancer.url}/tenants/v1/openapi.json`,
      replicas,
      // Streams of tenants do not end.
      timeoutSeconds: 3,
      people: {
        users: Object.fromEntries(Object.values(people).map(({ name, token }) => [name, token])),
        tenants: Object.keys(specs),
      },
    }
  }
}

async function makeTenants(kubectl: Kubectl, signal: AbortSignal): Promise<void> {
  await kubectl(['create', 'namespace', taken])
  const items = Object.entries(specs).map(([name, spec]) => ({ ...tenantParent, metadata: { name }, spec }))
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await waitUntil(async () => (await kubectl(['apply', '-f', '-'], { input })) !== '', {
    ...{ what: 'the admission of LNamespaces', limitMs: admissionLimitMs, signal },
  })
  const ready = Object.keys(specs).filter(name => name !== taken)
  await kubectl(['wait', '--for=condition=Ready', '--timeout=60s', ...ready.map(name => `lnamespace/${name}`)])
}
