import { describe, expect, it } from 'vitest'
import { configSchema } from '../config/schema.ts'
import { labRights, missingRights, renderRights, rightsInWords } from './rights.ts'

const configOf = (lab: object) => configSchema.parse({ lab })
const rightsOf = (lab: object) => rightsInWords(labRights(configOf(lab)))
const plain = ['own installations skylab', 'use prefixes nublado', 'use podsecurity restricted']

/** A volume that labs mount. */
const mounting = (source: object) => ({
  volumes: [{ name: 'v', ...source }],
  mounts: [{ volume: 'v', path: '/v' }],
})
const claim = (more: object) =>
  mounting({ persistentVolumeClaim: { accessModes: ['ReadWriteOnce'], size: 1, ...more } })

describe('labRights', () => {
  it('by default contain the installation, its prefix and the strictest level', () => {
    expect(rightsOf({})).toEqual(plain)
  })

  it.each<[string, object, string[]]>([
    [
      'a path of the node',
      mounting({ hostPath: { path: '/opt' } }),
      ['use podsecurity baseline', 'use podsecurity privileged', 'use hostpaths /opt'],
    ],
    ['an export', mounting({ nfs: { server: 's', path: '/e' } }), ['use podsecurity baseline', 'use nfs s:/e']],
    [
      'an export to read',
      mounting({ nfs: { server: 's', path: '/e', readOnly: true } }),
      ['use podsecurity baseline', 'use nfs s:/e:ro'],
    ],
    [
      'a claim of a class',
      claim({ storageClassName: 'fast', volumeName: 'one' }),
      ['use storageclasses fast', 'use persistentvolumes one'],
    ],
    ['a claim of no class', claim({ storageClassName: '' }), ['use storageclasses ""']],
    ['a claim of the cluster’s own class', claim({}), ['use storageclasses *']],
    ['a toleration', { tolerations: [{ key: 'gpu', operator: 'Exists' }] }, ['use tolerations gpu']],
    ['every toleration', { tolerations: [{ operator: 'Exists' }] }, ['use tolerations *']],
    ['an annotation', { annotations: { 'example.org/a': 'b' } }, ['use annotations example.org/a=b']],
    ['a provisioning as the user', { provisioning: { image: 'x' } }, []],
    [
      'a provisioning as root',
      { provisioning: { image: 'x', runAsRoot: true } },
      [
        'use podsecurity baseline',
        'use users root',
        ...['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'].map(name => `use capabilities ${name}`),
      ],
    ],
    [
      'a privileged provisioning',
      { provisioning: { image: 'x', runAsRoot: true, privileged: true } },
      ['use podsecurity baseline', 'use podsecurity privileged', 'use users root', 'use containers privileged'],
    ],
  ])('contain the rights that labs need: %s', (_, lab, more) => {
    expect(rightsOf(lab)).toEqual([...plain, ...more])
  })

  it('contain all labels of groups where labs reach the apps of their groups', () => {
    const { network } = configSchema.parse({ network: { appsOfGroups: true } })
    expect(rightsInWords(labRights({ ...configOf({}), network }))).toEqual([...plain, 'use labels group.skylab/*'])
  })

  it('leave out a volume that nothing mounts', () => {
    expect(rightsOf({ volumes: [{ name: 'v', hostPath: { path: '/' } }] })).toEqual(plain)
  })
})

describe('renderRights', () => {
  it('names the objects after the installation, and binds the account of the namespace', () => {
    const objects = renderRights(configSchema.parse({ installation: 'observatory' }), 'labs')
    expect(objects.map(({ kind, metadata }) => [kind, metadata.name, metadata.namespace])).toEqual([
      ['ClusterRole', 'skylab-installation-observatory', undefined],
      ['ClusterRoleBinding', 'skylab-installation-observatory', undefined],
      ['ClusterRoleBinding', 'skylab-controller-observatory', undefined],
      ['ClusterRoleBinding', 'skylab-marks-observatory', undefined],
      ['Role', 'skylab-installation-observatory', 'labs'],
      ['RoleBinding', 'skylab-installation-observatory', 'labs'],
    ])
    const subjects = [{ kind: 'ServiceAccount', name: 'skylab', namespace: 'labs' }]
    for (const object of objects.filter(({ kind }) => kind.endsWith('Binding')))
      expect(object).toMatchObject({ subjects })
    const labels = { 'skylab.dev/installation': 'observatory', 'skylab.dev/namespace': 'labs' }
    for (const { metadata } of objects) expect(metadata.labels).toEqual(labels)
  })

  it('binds the account to the roles that all installations share', () => {
    const bound = renderRights(configOf({}), 'labs').flatMap(({ roleRef }) => (roleRef as { name: string })?.name ?? [])
    const own = 'skylab-installation-skylab'
    expect(bound).toEqual([own, 'skylab', 'skylab-marks', own])
  })

  it('binds it to the role that stamps pods only when idle labs are stopped', () => {
    const rightsOf = (idle: object) => renderRights(configSchema.parse({ idle }), 'labs')
    const [binding, ...others] = rightsOf({ enabled: true }).filter(
      ({ metadata }) => !rightsOf({}).some(plain => plain.metadata.name === metadata.name),
    )
    expect(binding).toMatchObject({
      ...{ kind: 'ClusterRoleBinding', metadata: { name: 'skylab-idle-skylab' } },
      roleRef: { kind: 'ClusterRole', name: 'skylab-idle' },
      subjects: [{ kind: 'ServiceAccount', name: 'skylab', namespace: 'labs' }],
    })
    expect(others).toEqual([])
  })

  it('binds it to the role that lists what pods use only when a rule goes by that', () => {
    const rule = { name: 'a', sources: ['kernels', 'cpu'], cpu: { millicores: 100 } }
    const rolesOf = (idle: object) =>
      renderRights(configSchema.parse({ idle }), 'labs')
        .filter(({ kind }) => kind === 'ClusterRoleBinding')
        .map(({ metadata }) => metadata.name)
    expect(rolesOf({ enabled: true, rules: [rule] })).toContain('skylab-cpu-skylab')
    for (const idle of [
      { enabled: false, rules: [rule] },
      { enabled: true, rules: [{ name: 'a' }] },
    ]) {
      expect(rolesOf(idle)).not.toContain('skylab-cpu-skylab')
    }
  })

  it('grants reading of each source by name, and nothing when there is none', () => {
    const roleOf = (lab: object) => renderRights(configOf(lab), 'skylab').find(({ kind }) => kind === 'Role')!
    const role = roleOf({
      secrets: [
        { name: 'a', key: 'b' },
        { name: 'a', key: 'c' },
      ],
      volumes: [{ name: 'v', configMap: { name: 'site' } }],
    })
    expect(role.rules).toEqual([
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['a'], verbs: ['get'] },
      { apiGroups: [''], resources: ['configmaps'], resourceNames: ['site'], verbs: ['get'] },
    ])
    expect(roleOf({}).rules).toEqual([])
  })
})

describe('missingRights', () => {
  const needed = labRights(configOf({ tolerations: [{ key: 'a' }, { key: 'b' }] }))
  const [group, verbs] = [['skylab.dev'], ['use']]

  it('returns nothing when all is granted, one by one or at once', () => {
    expect(missingRights(needed, needed)).toEqual([])
    expect(missingRights(needed, [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }])).toEqual([])
  })

  it('names each missing right', () => {
    const some = needed.filter(({ resources }) => resources[0] !== 'tolerations')
    const one = { apiGroups: group, resources: ['tolerations'], resourceNames: ['b'], verbs }
    expect(missingRights(needed, [...some, one])).toEqual(['use tolerations a'])
  })

  it('does not accept rights to single names when every name is needed', () => {
    const any = labRights(configOf(claim({})))
    const named = labRights(configOf(claim({ storageClassName: 'fast' })))
    expect(missingRights(any, named)).toEqual(['use storageclasses *'])
    expect(missingRights(named, any)).toEqual([])
  })
})
