import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { renderKubeconfig } from '../kube/credentials.ts'
import { clusterBasics } from './basics.ts'
import { clusterNeeds } from './cluster.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cluster-'))
  vi.stubEnv('SKYLAB_TEST_KUBECONFIG', '')
})
afterEach(() => {
  rmSync(folder, { recursive: true })
  vi.unstubAllEnvs()
})

const choice = { realNode: 'never' as const, kwok: 2, audit: true }

test('clusterNeeds asks for an existing cluster only when an option or the environment names it', () => {
  expect(clusterNeeds(choice)).toEqual(['cluster'])
  expect(clusterNeeds({ ...choice, kubeconfig: '/some/file' })).toEqual(['kubectl'])
  expect(clusterNeeds({ ...choice, context: 'some' })).toEqual(['kubectl'])
  vi.stubEnv('SKYLAB_TEST_KUBECONFIG', '/some/file')
  expect(clusterNeeds(choice)).toEqual(['kubectl'])
  expect(clusterNeeds({ ...choice, containers: true })).toEqual(['kwok'])
})

test('clusterNeeds ignores KUBECONFIG and the home folder', () => {
  vi.stubEnv('KUBECONFIG', '/some/file')
  expect(clusterNeeds(choice)).toEqual(['cluster'])
})

test('tokenKubeconfig keeps how the cluster is reached and no credentials of the administrator', async () => {
  const cluster = { server: 'https://api.invalid', 'certificate-authority-data': 'Q0E=', 'tls-server-name': 'api' }
  const asked: string[][] = []
  const kubectl = async (args: string[]) => {
    asked.push(args)
    return args[0] === 'config' ? renderKubeconfig({ cluster, token: 'administrator' }) : 'fresh-token\n'
  }
  const path = await clusterBasics(kubectl, folder).tokenKubeconfig('skylab', 'controller')
  const text = readFileSync(path, 'utf8')
  expect(text).not.toContain('administrator')
  expect(JSON.parse(text)).toMatchObject({
    clusters: [{ cluster }],
    users: [{ user: { token: 'fresh-token' } }],
    contexts: [{ context: { namespace: 'skylab' } }],
  })
  expect(asked.at(-1)).toEqual(['create', 'token', 'controller', '-n', 'skylab', '--duration', '24h'])
  expect(existsSync(join(folder, 'skylab.controller.kubeconfig'))).toBe(true)
})
