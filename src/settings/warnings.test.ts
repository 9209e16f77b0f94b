/** Warnings of `skylab check` and of the log. */
import { describe, expect, it } from 'vitest'
import { configSchema } from '../config/schema.ts'
import { configWarnings } from './checks.ts'

const warningsOf = (config: object, key: string) =>
  configWarnings(configSchema.parse(config)).filter(warning => warning.startsWith(key))
const lab = (block: object, key: string) => warningsOf({ lab: block }, key)

const share = { name: 'homes', nfs: { server: '192.0.2.1', path: '/export' } }
const claim = { accessModes: ['ReadWriteOnce'], size: '1Gi' }
const homes = (volume: object, path = '/home') => ({
  volumes: [{ name: 'homes', ...volume }],
  mounts: [{ volume: 'homes', path }],
})

describe('configWarnings about homes that do not outlive labs', () => {
  it.each<[string, object]>([
    ['nothing is mounted', {}],
    ['the folder goes with the lab', homes({ emptyDir: {} })],
    ['the claim goes with the lab', homes({ persistentVolumeClaim: claim })],
    ['the export is mounted elsewhere', homes(share, '/data')],
    ['the export is not mounted', { volumes: [share] }],
  ])('warns when %s', (_, block) => {
    expect(lab(block, 'lab.mounts: ')).toHaveLength(1)
  })

  it.each<[string, object]>([
    ['an export holds them', homes(share)],
    ['an export holds each', homes(share, '/home/{username}')],
    ['a folder of the node holds them', homes({ hostPath: { path: '/srv' } })],
    ['one volume of the cluster holds them', homes({ persistentVolumeClaim: { ...claim, volumeName: 'homes' } })],
  ])('does not warn when %s', (_, block) => {
    expect(lab(block, 'lab.mounts: ')).toEqual([])
  })
})

describe('configWarnings about a folder of the node', () => {
  const warned = (hostPath: object) => lab({ volumes: [{ name: 'a', hostPath }] }, 'lab.volumes.0.hostPath: ')

  it.each(['/', '/etc/kubernetes', '/var', '/var/lib/kubelet', '/run', '/proc/1', '/root'])(
    'warns of root access: %s',
    path => {
      expect(warned({ path })).toEqual([expect.stringMatching(/can become root/)])
    },
  )

  it.each([{ path: '/run/containerd/containerd.sock' }, { path: '/opt/agent', type: 'Socket' }])(
    'warns of a socket: %j',
    hostPath => expect(warned(hostPath)).toEqual([expect.stringMatching(/is a socket of the node/)]),
  )

  it('warns whether or not it is mounted', () => {
    expect(warned({ path: '/opt/software' })).toEqual(['lab.volumes.0.hostPath: /opt/software is a folder of the node'])
  })
})

it('configWarnings warns of a provisioning image without a digest', () => {
  const warned = (image: string) => lab({ provisioning: { image, runAsRoot: true } }, 'lab.provisioning.image: ')
  expect(warned('quay.io/example/make-home:1.0')).toEqual([expect.stringMatching(/has no digest.*runs as root/)])
  expect(warned(`quay.io/example/make-home:1.0@sha256:${'0'.repeat(64)}`)).toEqual([])
})

it('configWarnings warns of variables that clients can read, and of a HOME without effect', () => {
  expect(lab({ secretPatterns: ['*token*', '*SECRET*', '*PASSWORD*', '*_KEY'] }, 'lab.secretPatterns: ')).toEqual([
    expect.stringMatching(/lacks \*PASS\*, .*\*CRED\*/),
  ])
  expect(lab({ secretPatterns: ['*'] }, 'lab.secretPatterns: ')).toEqual([])
  expect(lab({ env: { HOME: '/srv' } }, 'lab.env.HOME: ')).toHaveLength(1)
  expect(lab({}, 'lab.secretPatterns: ')).toEqual([])
})

it('configWarnings warns of a caller’s full token in labs', () => {
  expect(lab({ token: 'bearer' }, 'lab.token: ')).toHaveLength(1)
  expect(lab({}, 'lab.token: ')).toEqual([])
  const gafaelfawr = { provider: 'gafaelfawr', gafaelfawr: { baseUrl: 'https://data.example.org' } }
  expect(warningsOf({ identity: gafaelfawr, lab: { token: 'bearer' } }, 'lab.token: ')).toEqual([])
})

it('configWarnings warns of user namespaces with NFS, which cannot map ids', () => {
  expect(lab({ hostUsers: false, ...homes(share) }, 'lab.hostUsers: ')).toHaveLength(1)
  expect(lab({ hostUsers: false }, 'lab.hostUsers: ')).toEqual([])
})

describe('configWarnings about the network', () => {
  const network = (block: object, key: string) => warningsOf({ network: block }, key)

  it('warns when pods of every namespace are admitted, or all ports are open', () => {
    for (const key of ['proxyNamespace', 'hubNamespace', 'proxyPorts', 'hubPorts']) {
      expect(network({}, `network.${key}: `)).toHaveLength(1)
    }
    const closed = { proxyNamespace: 'a', hubNamespace: 'a', proxyPorts: [8000], hubPorts: [8081] }
    expect(network(closed, 'network.')).toEqual([])
  })

  it('warns when private ranges are open, by name', () => {
    expect(network({ clusterRanges: ['10.96.0.0/12', '172.16.0.0/12', '::/0'] }, 'network.clusterRanges: ')).toEqual([
      expect.stringMatching(/labs reach 10\.0\.0\.0\/8, 192\.168\.0\.0\/16, 100\.64\.0\.0\/10,/),
    ])
    expect(network({ clusterRanges: ['0.0.0.0/0', 'fc00::/6'] }, 'network.clusterRanges: ')).toEqual([])
  })
})
