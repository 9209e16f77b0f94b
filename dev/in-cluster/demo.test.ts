import { expect, test } from 'vitest'
import { formatInClusterGuide } from './demo.ts'

test('formatInClusterGuide names registry and image, and the full path of kubectl', () => {
  const image = `127.0.0.1:5000/skylab/controller@sha256:${'a'.repeat(64)}`
  const guide = formatInClusterGuide(
    {
      ...{ url: 'https://10.96.0.1:8080', kubeconfig: '/state/kubeconfig', lab: null },
      users: { ada: { token: 'ada-1' }, admin: { token: 'admin-2' } },
      inside: { name: 'skylab.skylab.svc', address: '10.96.0.1', ready: 404, api: 401, node: 'node' },
    },
    { kubectl: '/cache/bin/kubectl', redisUrl: 'rediss://looker@10.96.0.2:6379', image },
  )
  expect(guide).toMatch(/^Registry +127\.0\.0\.1:5000$/m)
  expect(guide).toMatch(new RegExp(`^Image +${image}$`, 'm'))
  const commands = guide.split('\n').filter(line => line.includes('kubectl'))
  expect(commands).toHaveLength(3)
  for (const line of commands) expect(line).toMatch(/^ {2}\/cache\/bin\/kubectl --kubeconfig \/state\/kubeconfig /)
})
