import { describe, expect, it } from 'vitest'
import type { Changes } from '../../test/kit/labs/plan.ts'
import { initContainers, objectOf, podSpecIn, renderWith } from '../../test/kit/labs/plan.ts'

const image = 'quay.io/example/provision:1'
const gib = 2 ** 30

const provisioned = (provisioning: object = {}, changes: Changes = {}) =>
  renderWith({ provisioning: { image, ...provisioning } }, changes)
const container = (...args: Parameters<typeof provisioned>) => initContainers(provisioned(...args))[0]

describe('the init container', () => {
  it('is this one, to the last field', () => {
    expect(container()).toEqual({
      name: 'provision',
      image,
      imagePullPolicy: 'IfNotPresent',
      envFrom: [{ configMapRef: { name: 'nb-rra-provision' } }],
      resources: { limits: { 'ephemeral-storage': '20Gi' }, requests: { 'ephemeral-storage': '0' } },
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      terminationMessagePolicy: 'FallbackToLogsOnError',
      volumeMounts: [{ name: 'skylab-home', mountPath: '/home/rra' }],
    })
  })

  it('runs the configured command', () => {
    const configured = { command: ['/make-home'], args: ['$(SKYLAB_USER)'], imagePullPolicy: 'Always' }
    expect(container(configured)).toMatchObject(configured)
  })

  it('is left out, with its variables, when none is configured or the user was provisioned', () => {
    for (const plan of [renderWith({}), provisioned({}, { sources: { provisioned: true } })]) {
      expect(podSpecIn(plan)).not.toHaveProperty('initContainers')
      expect(objectOf(plan, 'ConfigMap', '-provision')).toBeUndefined()
    }
  })
})

describe('provisionEnv', () => {
  const variables = (...args: Parameters<typeof provisioned>) =>
    objectOf(provisioned(...args), 'ConfigMap', '-provision')?.data

  it('names the user, the groups and the home', () => {
    expect(variables({ env: { QUOTA: '20G' } })).toEqual({
      QUOTA: '20G',
      HOME: '/home/rra',
      SKYLAB_USER: 'rra',
      SKYLAB_UID: '4266950',
      SKYLAB_GID: '4266950',
      SKYLAB_HOME: '/home/rra',
      SKYLAB_GROUPS: 'lsst-data-management:170034,rra:4266950',
      NUBLADO_UID: '4266950',
      NUBLADO_GID: '4266950',
      NUBLADO_HOME: '/home/rra',
    })
  })

  it('keeps a configured HOME', () => {
    expect(variables({ env: { HOME: '/root' } })).toMatchObject({ HOME: '/root', SKYLAB_HOME: '/home/rra' })
  })

  it('lists each group once, and none without a GID', () => {
    const a = { name: 'a', id: 7 }
    expect(variables({}, { identity: { groups: [a, { name: 'b' }, a] } })).toMatchObject({ SKYLAB_GROUPS: 'a:7' })
    expect(variables({}, { identity: { groups: [] } })).toMatchObject({ SKYLAB_GROUPS: '' })
  })
})

describe('the rights of the init container', () => {
  it('allow root to make folders for others', () => {
    expect(container({ runAsRoot: true })?.securityContext).toEqual({
      runAsUser: 0,
      runAsGroup: 0,
      runAsNonRoot: false,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'], add: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'] },
    })
  })

  it('are unrestricted only when configured so', () => {
    expect(container({ runAsRoot: true, privileged: true })?.securityContext).toEqual({
      runAsUser: 0,
      runAsGroup: 0,
      runAsNonRoot: false,
      allowPrivilegeEscalation: true,
      privileged: true,
    })
  })
})

describe('the resources of the init container', () => {
  const mostDisk = { 'ephemeral-storage': '20Gi' }
  const noDisk = { 'ephemeral-storage': '0' }
  const limits = { cpu: 2, memory: '1Gi' }
  const quota = { spawn: true, cpu: 1, memoryBytes: 4 * gib }
  const small = { request: { options: { size: 'small' } } }

  it('are the configured ones', () => {
    expect(container({ resources: { limits, requests: { cpu: 0.1, memory: '64Mi' } } })?.resources).toEqual({
      limits: { cpu: '2', memory: '1Gi', ...mostDisk },
      requests: { cpu: '100m', memory: '64Mi', ...noDisk },
    })
    expect(container({ resources: { limits } })?.resources).toEqual({
      limits: { cpu: '2', memory: '1Gi', ...mostDisk },
      requests: { cpu: '500m', memory: '256Mi', ...noDisk },
    })
  })

  it('are the lab’s when the user has a quota, since the cluster then requires some', () => {
    expect(container({}, { ...small, identity: { quota } })?.resources).toEqual({
      limits: { cpu: '1', memory: '4Gi', ...mostDisk },
      requests: { cpu: '250m', memory: '1Gi', ...noDisk },
    })
  })

  it('are bounded by the quota, or the cluster would refuse the pod', () => {
    expect(container({ resources: { limits } }, { ...small, identity: { quota } })?.resources).toEqual({
      limits: { cpu: '1', memory: '1Gi', ...mostDisk },
      requests: { cpu: '500m', memory: '256Mi', ...noDisk },
    })
  })
})
