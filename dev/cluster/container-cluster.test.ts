import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { administratorManifest, k3sCommand } from './container-cluster.ts'

test('k3sCommand makes the API server write its audit log into a shared folder, line by line', () => {
  const command = k3sCommand('127.0.0.1', true)
  expect(command[0]).toBe('server')
  expect(command).toContain('--kube-apiserver-arg=audit-log-path=/var/log/skylab/audit.json')
  expect(command).toContain('--kube-apiserver-arg=audit-policy-file=/etc/skylab/audit-policy.json')
  expect(command).toContain('--kube-apiserver-arg=audit-log-mode=blocking')
})

test('k3sCommand passes no flag to the API server when there is no audit log', () => {
  expect(k3sCommand('127.0.0.1', false).filter(arg => arg.includes('apiserver'))).toEqual([])
})

test("k3sCommand adds the engine's address to the certificate, and chooses a store that sends progress", () => {
  const command = k3sCommand('engine.example', false)
  expect(command).toContain('--tls-san=engine.example')
  expect(command).toContain('--cluster-init')
})

test('administratorManifest makes the account that plays the nodes an administrator by a ServiceAccount', () => {
  const [account, binding] = parseAllDocuments(administratorManifest).map(document => document.toJS())
  expect(account).toMatchObject({ kind: 'ServiceAccount', metadata: { namespace: 'kube-system' } })
  expect(binding.roleRef.name).toBe('cluster-admin')
  expect(binding.subjects).toEqual([{ kind: 'ServiceAccount', ...account.metadata }])
})
