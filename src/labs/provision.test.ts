import { describe, expect, it } from 'vitest'
import type { Changes } from '../../test/kit/labs/plan.ts'
import { initContainers, objectOf, podSpecIn, renderWith } from '../../test/kit/labs/plan.ts'

const image = 'quay.io/example/provision:1'
const gib = 2 ** 30

const provisioned = (provisioning: object = {}, changes: Changes = {}) =>
  renderWith({ provisioning: { image, ...provisioning } }, changes)
const container = (...args: Parameters<typeof provisioned>) => initContainers(provisioned(...args))[0]

describe('provisioning', () => {
  it('is a container before the lab’s, to the last field', () => {
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

  it('runs what it is configured to run', () => {
    const configured = { command: ['/make-home'], args: ['$(SKYLAB_USER)'], imagePullPolicy: 'Always' }
    expect(container(configured)).toMatchObject(configured)
  })

  it('is left out, with its variables, where there is none and where it has succeeded', () => {
    for (const plan of [renderWith({}), provisioned({}, { sources: { provisioned: true } })]) {
      expect(podSpecIn(plan)).not.toHaveProperty('initContainers')
      expect(objectOf(plan, 'ConfigMap', '-provision')).toBeUndefined()
    }
  })
})

describe('its variables', () => {
  const variables = (...args: Parameters<typeof provisioned>) =>
    objectOf(provisioned(...args), 'ConfigMap', '-provision')?.data

  it('tell for whom it works', () => {
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

  it('have the HOME that is configured, if one is', () => {
    expect(variables({ env: { HOME: '/root' } })).toMatchObject({ HOME: '/root', SKYLAB_HOME: '/home/rra' })
  })

  it('name each group once, and none without a GID', () => {
    const a = { name: 'a', id: 7 }
    expect(variables({}, { identity: { groups: [a, { name: 'b' }, a] } })).toMatchObject({ SKYLAB_GROUPS: 'a:7' })
    expect(variables({}, { identity: { groups: [] } })).toMatchObject({ SKYLAB_GROUPS: '' })
  })
})

describe('its rights', () => {
  it('are, as root, those to make folders for others', () => {
    expect(container({ runAsRoot: true })?.securityContext).toEqual({
      runAsUser: 0,
      runAsGroup: 0,
      runAsNonRoot: false,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'], add: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'] },
    })
  })

  it('are all that there are only if configured so', () => {
    expect(container({ runAsRoot: true, privileged: true })?.securityContext).toEqual({
      runAsUser: 0,
      runAsGroup: 0,
      runAsNonRoot: false,
      allowPrivilegeEscalation: true,
      privileged: true,
    })
  })
})

describe('its resources', () => {
  const mostDisk = { 'ephemeral-storage': '20Gi' }
  const noDisk = { 'ephemeral-storage': '0' }
  const limits = { cpu: 2, memory: '1Gi' }
  const quota = { spawn: true, cpu: 1, memoryBytes: 4 * gib }
  const small = { request: { options: { size: 'small' } } }

  it('are what is configured', () => {
    expect(container({ resources: { limits, requests: { cpu: 0.1, memory: '64Mi' } } })?.resources).toEqual({
      limits: { cpu: '2', memory: '1Gi', ...mostDisk },
      requests: { cpu: '100m', memory: '64Mi', ...noDisk },
    })
    expect(container({ resources: { limits } })?.resources).toEqual({
      limits: { cpu: '2', memory: '1Gi', ...mostDisk },
      requests: { cpu: '500m', memory: '256Mi', ...noDisk },
    })
  })

  it('are the lab’s where the user has a quota, since the cluster demands some', () => {
    expect(container({}, { ...small, identity: { quota } })?.resources).toEqual({
      limits: { cpu: '1', memory: '4Gi', ...mostDisk },
      requests: { cpu: '250m', memory: '1Gi', ...noDisk },
    })
  })

  it('are no more than the quota, or no pod would come', () => {
    expect(container({ resources: { limits } }, { ...small, identity: { quota } })?.resources).toEqual({
      limits: { cpu: '1', memory: '1Gi', ...mostDisk },
      requests: { cpu: '500m', memory: '256Mi', ...noDisk },
    })
  })
})
