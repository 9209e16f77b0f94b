import { expect, test } from 'vitest'
import { formatHubGuide } from './demo.ts'

test('formatHubGuide names the address, the users, their password and the kept logs', () => {
  const guide = formatHubGuide({
    url: 'http://127.0.0.1:1',
    controller: 'http://127.0.0.1:2',
    kubeconfig: '/run/kubeconfig',
    users: { ada: { token: 'ada-1' }, grace: { token: 'grace-2' } },
    logs: ['/kept/hub.log', '/kept/hub-proxy.log'],
    lab: null,
    seconds: { setup: 1, spawn: null, delete: null },
  })
  expect(guide).toMatch(/^Open +http:\/\/127\.0\.0\.1:1$/m)
  expect(guide).toMatch(/^ +ada +ada-1$/m)
  expect(guide).toMatch(/^ +grace +grace-2$/m)
  expect(guide).toMatch(/^Logs, kept +\/kept\/hub\.log\n +\/kept\/hub-proxy\.log$/m)
})
