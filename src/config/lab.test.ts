/** Errors in the block `lab`, each with its key. */
import { describe, expect, it } from 'vitest'
import { labProblems } from '../settings/lab-checks.ts'
import { schemaProblems } from './problems.ts'
import { configSchema } from './schema.ts'

/** One line for each problem, as `skylab check` prints them. */
function problemsOf(lab: object): string[] {
  const parsed = configSchema.safeParse({ lab })
  return parsed.success ? labProblems(parsed.data) : schemaProblems(parsed.error)
}

const size = { limits: { cpu: 1, memory: '1Gi' } }
const data = { name: 'data', emptyDir: {} }
const image = 'quay.io/example/provision:1'
const withVolume = (volume: object) => ({ volumes: [{ name: 'data', ...volume }] })
const withMount = (...mounts: object[]) => ({
  volumes: [data],
  mounts: mounts.map(mount => ({ volume: 'data', ...mount })),
})
const withProvisioning = (provisioning: object) => ({ volumes: [data], provisioning: { image, ...provisioning } })

it('accepts the defaults', () => {
  expect(problemsOf({})).toEqual([])
})

it.each<[string, object]>([
  // sizes
  ['lab.defaultSize: is not in lab.sizes', { defaultSize: 'constructor' }],
  ['lab.sizes.small.groups: ', { sizes: { small: { ...size, groups: [] } } }],
  [
    'lab.sizes.small.limits.memory: not a Kubernetes quantity',
    { sizes: { small: { limits: { cpu: 1, memory: '4Gb' } } } },
  ],
  ['lab.sizes.small.limits.memory: must be greater than 0', { sizes: { small: { limits: { cpu: 1, memory: '0' } } } }],
  [
    'lab.sizes.small.requests.cpu: is more than limits.cpu',
    { sizes: { small: { ...size, requests: { cpu: 2, memory: 1 } } } },
  ],
  // volumes
  ['lab.volumes.0: must have one of nfs,', withVolume({})],
  ['lab.volumes.0: must have one of nfs,', withVolume({ emptyDir: {}, files: {} })],
  ['lab.volumes.1.name: is listed twice', { volumes: [data, data] }],
  ['lab.volumes.0.name: must not begin with skylab-', { volumes: [{ ...data, name: 'skylab-home' }] }],
  ['lab.volumes.0.name: env is reserved', { volumes: [{ ...data, name: 'env' }] }],
  ['lab.volumes.0.name: provision is reserved', { volumes: [{ ...data, name: 'provision' }] }],
  ['lab.volumes.0.name: not a name of a volume', { volumes: [{ ...data, name: 'Data' }] }],
  ['lab.volumes.0.colour: unknown key', withVolume({ emptyDir: {}, colour: 'blue' })],
  ['lab.volumes.0.nfs.path: not an absolute path', withVolume({ nfs: { server: 'a', path: 'export' } })],
  ['lab.volumes.0.hostPath.path: not an absolute path', withVolume({ hostPath: { path: '/a/../etc' } })],
  ['lab.volumes.0.hostPath.path: not an absolute path', withVolume({ hostPath: { path: '/a\n/../etc' } })],
  ['lab.volumes.0.hostPath.type: ', withVolume({ hostPath: { path: '/a', type: 'Folder' } })],
  [
    'lab.volumes.0.persistentVolumeClaim.size: not a Kubernetes quantity',
    withVolume({ persistentVolumeClaim: { accessModes: ['ReadWriteOnce'], size: 'large' } }),
  ],
  [
    'lab.volumes.0.persistentVolumeClaim.accessModes: ',
    withVolume({ persistentVolumeClaim: { accessModes: [], size: 1 } }),
  ],
  ['lab.volumes.0.emptyDir.sizeLimit: not a Kubernetes quantity', withVolume({ emptyDir: { sizeLimit: '1 Gi' } })],
  ['lab.volumes.0.configMap.name: not a name that Kubernetes accepts', withVolume({ configMap: { name: 'A' } })],
  ['lab.volumes.0.files.a/b: not a permitted name', withVolume({ files: { 'a/b': '' } })],
  ['lab.volumes.0.files: is more than 1048576 bytes', withVolume({ files: { a: 'ä'.repeat(2 ** 19) } })],
  // mounts
  ['lab.mounts.0.volume: is not in lab.volumes', withMount({ path: '/a', volume: 'constructor' })],
  ['lab.mounts.0.path: not an absolute path', withMount({ path: 'a' })],
  ['lab.mounts.0.path: not an absolute path', withMount({ path: '/a:b' })],
  ...[
    ...[
      '/',
      '/etc',
      '/etc/',
      '/etc/passwd',
      '/etc/passwd/x',
      '/etc/group',
      '/tmp',
      '/tmp/',
      '/dev',
      '/proc/self',
      '/sys',
    ],
    ...['/etc/skylab/secrets', '/etc/skylab/secrets/token'],
  ].map((path): [string, object] => ['lab.mounts.0.path: this path is taken', withMount({ path })]),
  ['lab.mounts.1.path: this path is taken', withMount({ path: '/a' }, { path: '/a/' })],
  ['lab.mounts.0.path: may have {username} below lab.homePrefix only', withMount({ path: '/etc/{username}' })],
  ['lab.mounts.0.path: may have {username} below lab.homePrefix only', withMount({ path: '/homes/{username}' })],
  ...['/a', '..', 'a/../b', './a', 'a//b', 'a/.', 'a\n/../b', ''].map((subPath): [string, object] => [
    'lab.mounts.0.subPath: not a relative path without . and ..',
    withMount({ path: '/a', subPath }),
  ]),
  // paths of our own files
  ...['/etc', '/tmp', '/etc/passwd', '/dev', '/proc/x'].flatMap((path): [string, object][] => [
    ['lab.secretsPath: this path is taken', { secretsPath: path }],
    ['lab.homePrefix: this path is taken', { homePrefix: path }],
  ]),
  ['lab.homePrefix: this path is taken', { homePrefix: '/' }],
  ['lab.homePrefix: this path is taken', { homePrefix: '/opt/secrets/homes', secretsPath: '/opt/secrets' }],
  ['lab.tmp.sizeLimit: must be greater than 0', { tmp: { sizeLimit: 0.1 } }],
  // secrets
  ['lab.secrets.0.as: token is reserved', { secrets: [{ name: 'a', key: 'token' }] }],
  ['lab.secrets.0.as: token is reserved', { secrets: [{ name: 'a', key: 'b', as: 'token' }] }],
  ['lab.secrets.0.as: activity-token is reserved', { secrets: [{ name: 'a', key: 'activity-token' }] }],
  [
    'lab.secrets.1.as: b is listed twice',
    {
      secrets: [
        { name: 'a', key: 'b' },
        { name: 'c', key: 'd', as: 'b' },
      ],
    },
  ],
  [
    'lab.secrets.1.pull: there is a pull secret already',
    { secrets: ['a', 'b'].map(key => ({ name: 'a', key, pull: true })) },
  ],
  ['lab.secrets.0.as: a pull secret cannot be a file', { secrets: [{ name: 'a', key: 'b', as: 'c', pull: true }] }],
  ['lab.secrets.0.key: not a key', { secrets: [{ name: 'a', key: '../b' }] }],
  ['lab.secrets.0.key: not a key', { secrets: [{ name: 'a', key: '..data' }] }],
  ['lab.secrets.0.key: not a key', { secrets: [{ name: 'a', key: '.' }] }],
  // user and group mappings
  ['lab.nss.passwd: line 2 is not valid in /etc/passwd', { nss: { passwd: 'root:x:0:0::/root:/bin/sh\nada\n' } }],
  ['lab.nss.passwd: line 1 is not valid in /etc/passwd', { nss: { passwd: 'root:x:a:0::/root:/bin/sh\n' } }],
  ['lab.nss.passwd: line 1 is not valid in /etc/passwd', { nss: { passwd: 'root:x:0:0::/root:/bin/sh\r\n' } }],
  ['lab.nss.group: line 2 is not valid in /etc/group', { nss: { group: 'root:x:0:\n\nstaff:x:50:\n' } }],
  // provisioning
  ['lab.provisioning.image: ', { provisioning: {} }],
  ['lab.provisioning.privileged: needs lab.provisioning.runAsRoot', withProvisioning({ privileged: true })],
  [
    'lab.provisioning.env.SKYLAB_UID: is set by Skylab and cannot be changed',
    withProvisioning({ env: { SKYLAB_UID: '0' } }),
  ],
  [
    'lab.provisioning.env.NUBLADO_HOME: is set by Skylab and cannot be changed',
    withProvisioning({ env: { NUBLADO_HOME: '/' } }),
  ],
  ['lab.provisioning.env.A-B: not a permitted name', withProvisioning({ env: { 'A-B': '' } })],
  [
    'lab.provisioning.resources.requests.memory: is more than limits.memory',
    withProvisioning({ resources: { ...size, requests: { cpu: 1, memory: '2Gi' } } }),
  ],
  [
    'lab.provisioning.mounts.0.volume: is not in lab.volumes',
    withProvisioning({ mounts: [{ volume: 'a', path: '/a' }] }),
  ],
  ['lab.provisioning.mounts.0.path: this path is taken', withProvisioning({ mounts: [{ volume: 'data', path: '/' }] })],
  // where labs run
  ['lab.nodeSelector.a b: not a permitted name', { nodeSelector: { 'a b': 'c' } }],
  ['lab.nodeSelector.a: not a value of a label', { nodeSelector: { a: 'b c' } }],
  ['lab.affinity.nodeAfinity: ', { affinity: { nodeAfinity: {} } }],
  ['lab.annotations.a/b/c: not a permitted name', { annotations: { 'a/b/c': '' } }],
  ['lab.application: not a value of a label', { application: 'a b' }],
  ['lab.tolerations.0.operator: must be Exists when key is absent', { tolerations: [{ effect: 'NoSchedule' }] }],
  [
    'lab.tolerations.0.value: is not allowed with the operator Exists',
    { tolerations: [{ key: 'a', operator: 'Exists', value: 'b' }] },
  ],
  [
    'lab.tolerations.0.tolerationSeconds: is allowed with the effect NoExecute only',
    { tolerations: [{ key: 'a', value: 'b', effect: 'NoSchedule', tolerationSeconds: 1 }] },
  ],
  ['lab.tolerations.0.key: not a name of a label', { tolerations: [{ key: 'a b' }] }],
])('reports %s', (problem, lab) => {
  const problems = problemsOf(lab)
  expect(problems).toHaveLength(1)
  expect(problems[0]!.startsWith(problem), problems[0]).toBe(true)
})

describe('accepts values close to errors:', () => {
  it.each<[string, object]>([
    ['mounts beside our own folders', withMount({ path: '/etc/motd' }, { path: '/tmp/a' }, { path: '/dev/shm' })],
    ['homes of each user', withMount({ path: '/home/{username}', subPath: 'users/{username}' })],
    ['the folder that homes are in', withMount({ path: '/home' })],
    ['a sub-path that ends with a slash, or begins with a dot', withMount({ path: '/a', subPath: '.a/..b/' })],
    ['paths of provisioning alone', withProvisioning({ mounts: [{ volume: 'data', path: '/etc/skel' }] })],
    ['root', withProvisioning({ runAsRoot: true, privileged: true })],
    ['an empty base', { nss: { passwd: '', group: '' } }],
    ['a base without a newline at its end', { nss: { passwd: 'root:x:0:0:root:/root:/bin/sh' } }],
    ['any taint', { tolerations: [{ operator: 'Exists' }] }],
    ['a taint without a value', { tolerations: [{ key: 'example.org/a', effect: 'NoSchedule' }] }],
    ['names with a prefix', { nodeSelector: { 'pool.example.org/a_B': '' }, annotations: { 'example.org/a': 'b c' } }],
    [
      'a pull secret beside a file of that key',
      {
        secrets: [
          { name: 'a', key: 'b' },
          { name: 'a', key: 'b', pull: true },
        ],
      },
    ],
  ])('%s', (_, lab) => {
    expect(problemsOf(lab)).toEqual([])
  })
})

it('requires labels of pods that may reach labs', () => {
  const { error } = configSchema.safeParse({ network: { proxySelector: {}, hubSelector: { 'a b': 'c' } } })
  expect(schemaProblems(error!)).toEqual([
    'network.proxySelector: without a label it would be every pod',
    'network.hubSelector.a b: not a permitted name',
  ])
})
