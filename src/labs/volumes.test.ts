import { describe, expect, it } from 'vitest'
import { initContainers, labContainer, objectOf, podSpecIn, renderWith } from '../../test/kit/labs/plan.ts'
import { asObjects } from '../base/json.ts'

const mounts = (...entries: object[]) =>
  entries.map((entry, index) => ({ volume: 'data', path: `/data${index}`, ...entry }))

/** A lab that mounts the volume `data` of this kind. */
const withVolume = (kind: object, sources = {}) =>
  renderWith({ volumes: [{ name: 'data', ...kind }], mounts: mounts({}) }, { sources })

const volumeIn = (plan: ReturnType<typeof renderWith>, name = 'data') =>
  asObjects(podSpecIn(plan).volumes).find(volume => volume.name === name)

describe('podVolumes with a volume', () => {
  it.each([
    [
      { nfs: { server: '192.0.2.1', path: '/export', readOnly: true } },
      { nfs: { server: '192.0.2.1', path: '/export', readOnly: true } },
    ],
    [{ nfs: { server: '192.0.2.1', path: '/export' } }, { nfs: { server: '192.0.2.1', path: '/export' } }],
    [{ hostPath: { path: '/opt' } }, { hostPath: { path: '/opt', type: '' } }],
    [{ hostPath: { path: '/opt', type: 'Directory' } }, { hostPath: { path: '/opt', type: 'Directory' } }],
    // The limit of the whole lab: the size is large.
    [{ emptyDir: {} }, { emptyDir: { sizeLimit: '20Gi' } }],
    [{ emptyDir: { medium: 'memory' } }, { emptyDir: { medium: 'Memory', sizeLimit: '16Gi' } }],
    [{ emptyDir: { medium: 'memory', sizeLimit: '512Mi' } }, { emptyDir: { medium: 'Memory', sizeLimit: '512Mi' } }],
    [{ emptyDir: { sizeLimit: 1536 } }, { emptyDir: { sizeLimit: '1536' } }],
  ])('contains %j', (configured, made) => {
    expect(volumeIn(withVolume(configured))).toEqual({ name: 'data', ...made })
  })

  it('contains a claim of the lab’s own', () => {
    const claim = { storageClassName: 'fast', accessModes: ['ReadWriteOnce'], size: '10Gi', volumeName: 'pv-1' }
    const plan = withVolume({ persistentVolumeClaim: claim })
    expect(volumeIn(plan)).toEqual({ name: 'data', persistentVolumeClaim: { claimName: 'nb-rra-data' } })
    expect(objectOf(plan, 'PersistentVolumeClaim', '-data')?.spec).toEqual({
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '10Gi' } },
      storageClassName: 'fast',
      volumeName: 'pv-1',
    })
  })

  it('leaves unconfigured fields of a claim to the cluster, but keeps an empty class', () => {
    const claimed = (claim: object) =>
      objectOf(withVolume({ persistentVolumeClaim: claim }), 'PersistentVolumeClaim', '-data')?.spec
    const least = { accessModes: ['ReadWriteMany'], size: 5e9 }
    const made = { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '5G' } } }
    expect(claimed(least)).toEqual(made)
    expect(claimed({ ...least, storageClassName: '' })).toEqual({ ...made, storageClassName: '' })
  })

  it('contains a copy of a ConfigMap', () => {
    const copy = { data: { 'a.txt': 'a' }, binaryData: { 'b.bin': 'AA==' } }
    const plan = withVolume({ configMap: { name: 'site-files' } }, { configMaps: { data: copy } })
    expect(volumeIn(plan)).toEqual({ name: 'data', configMap: { name: 'nb-rra-data', defaultMode: 0o444 } })
    expect(objectOf(plan, 'ConfigMap', '-data')).toMatchObject({ immutable: true, ...copy })
  })

  it('throws when a ConfigMap was not read', () => {
    const configured = { configMap: { name: 'site-files' } }
    expect(() => withVolume(configured)).toThrow('nothing was read for data')
    expect(() =>
      renderWith({
        volumes: [{ name: 'constructor', ...configured }],
        mounts: [{ volume: 'constructor', path: '/x' }],
      }),
    ).toThrow('nothing was read for constructor')
  })

  it('contains files of the configuration', () => {
    const plan = withVolume({ files: { motd: 'Welcome\n', constructor: 'x' } })
    expect(volumeIn(plan)).toEqual({ name: 'data', configMap: { name: 'nb-rra-data', defaultMode: 0o444 } })
    expect(objectOf(plan, 'ConfigMap', '-data')?.data).toEqual({ motd: 'Welcome\n', constructor: 'x' })
  })

  it('leaves a volume and its objects out when nothing mounts it', () => {
    const claim = { accessModes: ['ReadWriteOnce'], size: 1 }
    const volumes = [
      { name: 'data', persistentVolumeClaim: claim },
      { name: 'more', files: { a: 'a' } },
    ]
    const plan = renderWith({ volumes })
    expect([volumeIn(plan), volumeIn(plan, 'more')]).toEqual([undefined, undefined])
    expect(objectOf(plan, 'PersistentVolumeClaim', '-data')).toBeUndefined()
    expect(objectOf(plan, 'ConfigMap', '-more')).toBeUndefined()
  })
})

describe('labMounts', () => {
  const volumes = [{ name: 'data', emptyDir: {} }]
  const mounted = (...entries: object[]) =>
    asObjects(labContainer(renderWith({ volumes, mounts: mounts(...entries) })).volumeMounts).filter(
      ({ name }) => name === 'data',
    )

  it('puts configured mounts after our own', () => {
    expect(asObjects(labContainer(renderWith({ volumes, mounts: mounts({}) })).volumeMounts)).toEqual([
      { name: 'skylab-home', mountPath: '/home/rra' },
      { name: 'skylab-tmp', mountPath: '/tmp' },
      { name: 'skylab-nss', mountPath: '/etc/passwd', subPath: 'passwd', readOnly: true },
      { name: 'skylab-nss', mountPath: '/etc/group', subPath: 'group', readOnly: true },
      { name: 'skylab-secrets', mountPath: '/etc/skylab/secrets', readOnly: true },
      { name: 'data', mountPath: '/data0' },
    ])
  })

  it('mounts a volume or a part of it, writable or read-only', () => {
    expect(mounted({ readOnly: true }, { subPath: 'projects/{username}' }, { path: '/home/{username}/data/' })).toEqual(
      [
        { name: 'data', mountPath: '/data0', readOnly: true },
        { name: 'data', mountPath: '/data1', subPath: 'projects/rra' },
        { name: 'data', mountPath: '/home/rra/data' },
      ],
    )
  })

  it.each(['/home', '/home/', '/home/{username}'])('uses a mount for the home at %s', path => {
    const plan = renderWith({ volumes, mounts: mounts({ path }) })
    expect(labContainer(plan).workingDir).toBe('/home/rra')
    expect(JSON.stringify(podSpecIn(plan))).not.toContain('skylab-home')
  })

  it.each(['/homes', '/home/rr', '/home/rra/data'])('does not use a mount for the home at %s', path => {
    const plan = renderWith({ volumes, mounts: mounts({ path }) })
    expect(volumeIn(plan, 'skylab-home')).toEqual({ name: 'skylab-home', emptyDir: { sizeLimit: '20Gi' } })
    expect(labContainer(plan).volumeMounts).toContainEqual({ name: 'skylab-home', mountPath: '/home/rra' })
  })
})

it.each([
  [{}, { sizeLimit: '20Gi' }],
  [{ medium: 'disk', sizeLimit: '2Gi' }, { sizeLimit: '2Gi' }],
  [{ medium: 'memory' }, { medium: 'Memory', sizeLimit: '16Gi' }],
])('/tmp is as configured: %j', (tmp, emptyDir) => {
  expect(volumeIn(renderWith({ tmp }), 'skylab-tmp')).toEqual({ name: 'skylab-tmp', emptyDir })
})

it('the home that goes with the lab is as large as configured', () => {
  const plan = renderWith({ home: { sizeLimit: '5Gi' } })
  expect(volumeIn(plan, 'skylab-home')).toEqual({ name: 'skylab-home', emptyDir: { sizeLimit: '5Gi' } })
})

describe('provisionMounts', () => {
  const image = 'quay.io/example/provision:1'
  const volumes = [
    { name: 'data', nfs: { server: '192.0.2.1', path: '/export' } },
    { name: 'more', emptyDir: {} },
  ]
  const seen = (labMounts: object[], provisionMounts: object[]) => {
    const plan = renderWith({ volumes, mounts: mounts(...labMounts), provisioning: { image, mounts: provisionMounts } })
    return { plan, mounts: initContainers(plan)[0]?.volumeMounts }
  }

  it('contains the lab’s own folder when nothing else is mounted for the home', () => {
    expect(seen([], []).mounts).toEqual([{ name: 'skylab-home', mountPath: '/home/rra' }])
  })

  it('contains the mounts that hold the lab’s home, and nothing else of the lab', () => {
    expect(seen([{ path: '/home', readOnly: true }, {}], []).mounts).toEqual([
      { name: 'data', mountPath: '/home', readOnly: true },
    ])
  })

  it('contains configured mounts, which the lab need not have', () => {
    const { plan, mounts } = seen([], [{ volume: 'more', path: '/etc/skel', subPath: '{username}' }])
    expect(mounts).toEqual([
      { name: 'skylab-home', mountPath: '/home/rra' },
      { name: 'more', mountPath: '/etc/skel', subPath: 'rra' },
    ])
    expect(volumeIn(plan, 'more')).toEqual({ name: 'more', emptyDir: { sizeLimit: '20Gi' } })
    expect(JSON.stringify(labContainer(plan))).not.toContain('more')
  })

  it('prefers its own mount at a path that the lab mounts too', () => {
    expect(seen([{ path: '/home', readOnly: true }], [{ volume: 'data', path: '/home/' }]).mounts).toEqual([
      { name: 'data', mountPath: '/home' },
    ])
  })

  it('is empty once the user is provisioned', () => {
    const provisioning = { image, mounts: [{ volume: 'more', path: '/more' }] }
    const plan = renderWith({ volumes, provisioning }, { sources: { provisioned: true } })
    expect(volumeIn(plan, 'more')).toBeUndefined()
  })
})
