import { expect, test } from 'vitest'
import { formatAppsGuide } from './guide.ts'

test('formatAppsGuide has each address, each token, and a command to kill each gateway', () => {
  const url = 'https://platform.localhost:8443'
  const source = {
    ...{ url, authority: '/run/ca.crt', kubeconfig: '/run/admin.kubeconfig' },
    people: { ada: { token: 'ada-1' }, max: { token: 'max-2' } },
    apps: [
      { id: 'orbits', phase: 'Ready', scope: 'group', url: `${url}/console/apps/orbits/` },
      { id: 'database', phase: 'Ready', scope: 'group', url: '' },
    ],
  }
  const gateways = [
    { name: 'gateway-1', pid: 41 },
    { name: 'gateway-2', pid: 42 },
  ]
  const text = formatAppsGuide(source, { kubectl: '/bin/kubectl', gateways, objects: '/checkout/dev/apps/objects' })
  for (const word of [`${url}/console/apps/orbits/`, 'ada-1', 'max-2', 'kill -9 41', 'kill -9 42', '/run/ca.crt']) {
    expect(text).toContain(word)
  }
})
