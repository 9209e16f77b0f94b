import { describe, expect, it } from 'vitest'
import { configSchema } from '../config/schema.ts'
import { configWarnings, crossProblems } from './checks.ts'

const physics = { namespace: 'physics' }
/** A process for apps without a warning. */
const calm = {
  ...{ run: ['apps'], kubernetes: { namespace: 'skylab' } },
  apps: { publicUrl: 'https://platform.example.org', groups: { physics } },
  tenants: { rest: { usernameTemplate: 'oidc:{username}' } },
}
const parsed = (more: object) => configSchema.parse({ ...calm, ...more })
const withApps = (apps: object) => parsed({ apps: { ...calm.apps, ...apps } })
const withGroup = (group: object) => withApps({ groups: { physics: { ...physics, ...group } } })
const volume = (path: string) => ({ name: 'd', claim: 'd', path })

describe('crossProblems of a process for apps', () => {
  it('has none when everything fits', () => {
    const group = { volume: { claim: 'c', path: '/project' }, volumes: [volume('/data')], quota: { pods: 4 } }
    expect(crossProblems(withGroup(group))).toEqual([])
  })

  it.each([
    [{ publicUrl: 'https://platform.example.org/x' }, 'apps.publicUrl: has more than scheme, host and port'],
    [{ publicUrl: undefined, appDomain: 'apps.example.net' }, 'apps.appDomain: needs apps.publicUrl'],
    [{ defaultInstanceType: 'huge' }, 'apps.defaultInstanceType: apps.instanceTypes has no huge'],
    [{ defaultInstanceType: 'toString' }, 'apps.defaultInstanceType: apps.instanceTypes has no toString'],
    [
      { instanceTypes: { small: { limits: { cpu: 1, memory: '1Gi' }, requests: { cpu: 2, memory: '1Gi' } } } },
      'apps.instanceTypes.small.requests.cpu: is more than its limit, so every pod would be refused',
    ],
    [
      { groups: { a: physics, b: { ...physics, quota: { pods: 1, persistentvolumeclaims: 1 } } } },
      'apps.groups.b.quota.persistentvolumeclaims: is not counted in a namespace that several groups share',
    ],
  ])('has a problem when nothing could be made: %j', (apps, problem) => {
    expect(crossProblems(withApps(apps))).toEqual([problem])
  })

  it.each([
    [{ namespace: 'kube-system' }, 'namespace: is the controller’s own namespace, or one of the cluster itself'],
    [{ namespace: 'skylab' }, 'namespace: is the controller’s own namespace, or one of the cluster itself'],
    [{ namespace: 'a.b' }, 'namespace: not the name of a namespace'],
    [{ volumes: [volume('/data'), volume('/data')] }, 'volumes.1.path: is apps.groups.physics.volumes.0.path too'],
    [
      { volume: { claim: 'c', path: '/x' }, volumes: [volume('/x')] },
      'volumes.0.path: is apps.groups.physics.volume.path',
    ],
    [{ volumes: [volume('/a/../b')] }, 'volumes.0.path: has a part . or ..'],
    [{ volumes: [volume('/phapplications/x')] }, 'volumes.0.path: is where apps have their own folders'],
    [{ quota: { memorry: '1Gi' } }, 'quota.memorry: no ResourceQuota counts this'],
    [{ quota: { pods: '1.5' } }, 'quota.pods: not a whole number'],
    [{ quota: { 'requests.cpu': 'much' } }, 'quota.requests.cpu: not a Kubernetes quantity'],
  ])('has a problem when the group cannot have apps: %j', (group, problem) => {
    expect(crossProblems(withGroup(group))).toEqual([expect.stringContaining(`apps.groups.physics.${problem}`)])
  })

  it('has a problem when REST cannot know who asks', () => {
    const problems = crossProblems(withApps({ rest: {} }))
    expect(problems).toEqual([expect.stringContaining('identity.')])
  })

  it('has none when the process serves labs: the block is that of another', () => {
    const labs = { ...calm, run: ['labs'], identity: { provider: 'static', static: { file: 'x' } } }
    const config = configSchema.parse({ ...labs, apps: { defaultInstanceType: 'huge' } })
    expect(crossProblems(config).filter(line => line.startsWith('apps'))).toEqual([])
  })
})

describe('configWarnings of a process for apps', () => {
  it('has none when all is set and bounded', () => {
    expect(configWarnings(parsed({}))).toEqual([])
  })

  it.each([
    [{ kubernetes: { requirePolicy: false } }, /^kubernetes\.requirePolicy: .*every namespace$/],
    [{ apps: { groups: { physics } } }, /^apps\.publicUrl: is missing/],
    [{ apps: { publicUrl: 'http://platform', groups: { physics } } }, /^apps\.publicUrl: is http/],
    [{ apps: { ...calm.apps, groups: { physics, chem: { namespace: 'chem' } } } }, /^apps\.groups: are several/],
    [{ tenants: {} }, /^tenants\.rest\.usernameTemplate: is missing/],
  ])('warns of %j', (more, words) => {
    expect(configWarnings(parsed(more))).toEqual([expect.stringMatching(words)])
  })

  it('has none of several groups when each app has a host of its own', () => {
    const groups = { physics, chem: { namespace: 'chem' } }
    expect(configWarnings(withApps({ groups, appDomain: 'apps.example.net' }))).toEqual([])
    expect(configWarnings(withApps({ groups, appDomain: 'apps.example.org' }))).toEqual([
      expect.stringMatching(/^apps\.appDomain: is below example\.org/),
    ])
  })

  it('warns of groups that share a namespace', () => {
    const warnings = configWarnings(parsed({ apps: { ...calm.apps, groups: { physics, b: physics } } }))
    expect(warnings).toContainEqual(
      expect.stringMatching(/^apps\.groups\.b\.namespace: is that of the group physics too: whoever may write/),
    )
  })
})
