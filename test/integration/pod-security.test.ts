/** The API server refuses privileged pods in the namespace of a lab, whoever asks. */
import { expect, test } from 'vitest'
import type { KubeObject } from '../../src/base/domain.ts'
import { startFleet } from '../kit/fleet/fleet.ts'

const container = { name: 'x', image: 'x' }
const unprivileged = {
  securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [{ ...container, securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } }],
}
const strong: Record<string, object> = {
  'a privileged pod': { containers: [{ ...container, securityContext: { privileged: true } }] },
  'a pod with a folder of the node': {
    ...unprivileged,
    volumes: [{ name: 'a', hostPath: { path: '/' } }],
  },
  'a pod in the network of the node': { ...unprivileged, hostNetwork: true },
  'a pod that sees all processes of the node': { ...unprivileged, hostPID: true },
  'a pod that runs as root': { containers: [{ ...container, securityContext: { runAsUser: 0 } }] },
}

const podIn = (namespace: string, spec: object): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'strong', namespace }, spec },
})

test('a lab’s namespace refuses privileged pods unless its lab mounts a folder of the node', async context => {
  const fleet = await startFleet(context, { replicas: 1 })
  const volumes = [{ name: 'node', hostPath: { path: '/opt' } }]
  const lab = { volumes, mounts: [{ volume: 'node', path: '/opt/node' }] }
  const mounting = await startFleet(context, { replicas: 1, config: { lab } })
  const namespaceIn = async (of: typeof fleet) => {
    const user = of.user()
    await user.create()
    expect((await user.follow()).outcome).toBe('complete')
    return of.namespace(user.username)
  }
  const [strict, lax] = await Promise.all([namespaceIn(fleet), namespaceIn(mounting)])
  const ask = async (namespace: string, spec: object) => {
    const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All`
    const { status, body } = await fleet.world.kube.request('POST', path, podIn(namespace, spec))
    return { status, message: String(body.message ?? '') }
  }
  for (const [name, spec] of Object.entries(strong)) {
    const refused = await ask(strict, spec)
    expect([refused.status, refused.message], name).toEqual([
      403,
      expect.stringContaining('violates PodSecurity "restricted:latest"'),
    ])
    expect((await ask(lax, spec)).status, name).toBe(201)
  }
  expect((await ask(strict, unprivileged)).status).toBe(201)
})
