import { describe, expect, it } from 'vitest'
import { quotasOf, withinQuota } from './quota.ts'
import { all, objectOf, render, renderWith } from './testing-plan.ts'

const gib = 2 ** 30
const small = { options: { size: 'small' } }

describe('the ResourceQuota', () => {
  const spec = (quota: object) =>
    objectOf(render({ identity: { quota: { spawn: true, ...quota } }, request: small }), 'ResourceQuota')?.spec

  it('is what the user may use', () => {
    expect(spec({ cpu: 1.5, memoryBytes: 6 * gib })).toEqual({
      hard: { 'limits.cpu': '1500m', 'limits.memory': '6Gi', 'requests.cpu': '1500m', 'requests.memory': '6Gi' },
    })
  })

  it('is silent on what has no limit', () => {
    expect(spec({ cpu: 2 })).toEqual({ hard: { 'limits.cpu': '2', 'requests.cpu': '2' } })
    expect(spec({ memoryBytes: 6 * gib })).toEqual({ hard: { 'limits.memory': '6Gi', 'requests.memory': '6Gi' } })
  })

  it('is not there where nothing is limited', () => {
    expect(spec({})).toBeUndefined()
    expect(objectOf(render(), 'ResourceQuota')).toBeUndefined()
  })

  it('stands before the pod', () => {
    const kinds = all(renderWith({}, { identity: { quota: { spawn: true, cpu: 9 } } })).map(({ kind }) => kind)
    expect(kinds.indexOf('ResourceQuota')).toBeGreaterThan(0)
    expect(kinds.indexOf('ResourceQuota')).toBeLessThan(kinds.indexOf('Pod'))
  })
})

describe('resources of a container', () => {
  const configured = quotasOf({ limits: { cpu: 2, memory: 4 * gib }, requests: { cpu: 1, memory: 2 * gib } })

  it('request a quarter where nothing else is configured', () => {
    expect(quotasOf({ limits: { cpu: 2, memory: 4 * gib } }).requests).toEqual({ cpu: 0.5, memory: gib })
    expect(quotasOf({ limits: { cpu: 0.001, memory: 1 } }).requests).toEqual({ cpu: 0.001, memory: 1 })
  })

  it('are no more than the quota, and else as configured', () => {
    expect(withinQuota(configured, undefined)).toEqual(configured)
    expect(withinQuota(configured, { spawn: true })).toEqual(configured)
    expect(withinQuota(configured, { spawn: true, cpu: 0.5, memoryBytes: 3 * gib })).toEqual({
      limits: { cpu: 0.5, memory: 3 * gib },
      requests: { cpu: 0.5, memory: 2 * gib },
    })
  })
})
