import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { administratorManifest, k3sCommand } from './container-cluster.ts'

test('the API server audits into a folder that is shared, line by line', () => {
  const command = k3sCommand('127.0.0.1', true)
  expect(command[0]).toBe('server')
  expect(command).toContain('--kube-apiserver-arg=audit-log-path=/var/log/skylab/audit.json')
  expect(command).toContain('--kube-apiserver-arg=audit-policy-file=/etc/skylab/audit-policy.json')
  expect(command).toContain('--kube-apiserver-arg=audit-log-mode=blocking')
})

test('without an audit log the API server has no flag of ours', () => {
  expect(k3sCommand('127.0.0.1', false).filter(arg => arg.includes('apiserver'))).toEqual([])
})

test('its certificate is good for the address of the engine, and its store sends progress', () => {
  const command = k3sCommand('engine.example', false)
  expect(command).toContain('--tls-san=engine.example')
  expect(command).toContain('--cluster-init')
})

test('who plays the nodes is an administrator by a ServiceAccount', () => {
  const [account, binding] = parseAllDocuments(administratorManifest).map(document => document.toJS())
  expect(account).toMatchObject({ kind: 'ServiceAccount', metadata: { namespace: 'kube-system' } })
  expect(binding.roleRef.name).toBe('cluster-admin')
  expect(binding.subjects).toEqual([{ kind: 'ServiceAccount', ...account.metadata }])
})
