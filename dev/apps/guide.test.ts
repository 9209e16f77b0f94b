import { expect, test } from 'vitest'
import { formatAppsGuide } from './guide.ts'

test('formatAppsGuide has each address, each password, the files of tokens, and a command to kill each gateway', () => {
  const url = 'https://platform.localhost:8443'
  const person = (name: string) => ({ password: `${name}-1`, token: 'ey', tokenFile: `/run/${name}.token` })
  const source = {
    ...{ url, rest: 'http://127.0.0.1:8081', authority: '/run/ca.crt', kubeconfig: '/run/admin.kubeconfig' },
    people: { ada: person('ada'), max: person('max'), root: person('root') },
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
  const words = [`${url}/console/apps/orbits/`, 'ada-1', 'max-1', 'kill -9 41', 'kill -9 42', '/run/ca.crt']
  for (const word of [...words, '/run/ada.token', '/run/root.token', 'http://127.0.0.1:8081/apps/v1/apps']) {
    expect(text).toContain(word)
  }
})
