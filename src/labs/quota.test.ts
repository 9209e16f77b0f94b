import { describe, expect, it } from 'vitest'
import { all, objectOf, render, renderWith } from '../../test/kit/labs/plan.ts'
import { containerResources, quotasOf, storageOf, withinQuota } from './quota.ts'

const gib = 2 ** 30
const small = { options: { size: 'small' } }
const disk = (most: string) => ({ 'limits.ephemeral-storage': most, 'requests.ephemeral-storage': most })

describe('resourceQuotaSpec', () => {
  const spec = (quota: object) =>
    objectOf(render({ identity: { quota: { spawn: true, ...quota } }, request: small }), 'ResourceQuota')?.spec

  it('allows what the user may use', () => {
    expect(spec({ cpu: 1.5, memoryBytes: 6 * gib })).toEqual({
      hard: {
        'limits.cpu': '1500m',
        'limits.memory': '6Gi',
        'requests.cpu': '1500m',
        'requests.memory': '6Gi',
        ...disk('20Gi'),
      },
    })
  })

  it('omits resources without a limit', () => {
    expect(spec({ cpu: 2 })).toEqual({ hard: { 'limits.cpu': '2', 'requests.cpu': '2', ...disk('20Gi') } })
    expect(spec({ memoryBytes: 6 * gib })).toEqual({
      hard: { 'limits.memory': '6Gi', 'requests.memory': '6Gi', ...disk('20Gi') },
    })
  })

  it('counts the disk of the lab, or of the init container if that is more', () => {
    const limits = { cpu: 1, memory: '1Gi' }
    const hard = (storage: string) => {
      const provisioning = { image: 'prepare', resources: { limits: { ...limits, storage } } }
      const changes = { identity: { quota: { spawn: true, cpu: 9 } }, request: small }
      return objectOf(renderWith({ defaultStorage: '5Gi', provisioning }, changes), 'ResourceQuota')?.spec
    }
    expect(hard('1Gi')).toMatchObject({ hard: disk('5Gi') })
    expect(hard('7Gi')).toMatchObject({ hard: disk('7Gi') })
  })

  it('is not created when nothing is limited', () => {
    expect(spec({})).toBeUndefined()
    expect(objectOf(render(), 'ResourceQuota')).toBeUndefined()
  })

  it('is created before the pod', () => {
    const kinds = all(renderWith({}, { identity: { quota: { spawn: true, cpu: 9 } } })).map(({ kind }) => kind)
    expect(kinds.indexOf('ResourceQuota')).toBeGreaterThan(0)
    expect(kinds.indexOf('ResourceQuota')).toBeLessThan(kinds.indexOf('Pod'))
  })
})

describe('containerResources', () => {
  const configured = quotasOf({ limits: { cpu: 2, memory: 4 * gib }, requests: { cpu: 1, memory: 2 * gib } })

  it('requests a quarter of the limits when no requests are configured', () => {
    expect(quotasOf({ limits: { cpu: 2, memory: 4 * gib } }).requests).toEqual({ cpu: 0.5, memory: gib })
    expect(quotasOf({ limits: { cpu: 0.001, memory: 1 } }).requests).toEqual({ cpu: 0.001, memory: 1 })
  })

  it('limits the disk, and requests none of it when nothing else is configured', () => {
    const size = { limits: { cpu: 2, memory: 4 * gib } }
    expect(storageOf(size, 20 * gib)).toEqual({ limit: 20 * gib, request: 0 })
    expect(containerResources(quotasOf(size), storageOf(size, 20 * gib))).toEqual({
      limits: { cpu: '2', memory: '4Gi', 'ephemeral-storage': '20Gi' },
      requests: { cpu: '500m', memory: '1Gi', 'ephemeral-storage': '0' },
    })
  })

  it('stays within the quota, and else follows the configuration', () => {
    expect(withinQuota(configured, undefined)).toEqual(configured)
    expect(withinQuota(configured, { spawn: true })).toEqual(configured)
    expect(withinQuota(configured, { spawn: true, cpu: 0.5, memoryBytes: 3 * gib })).toEqual({
      limits: { cpu: 0.5, memory: 3 * gib },
      requests: { cpu: 0.5, memory: 2 * gib },
    })
  })
})
