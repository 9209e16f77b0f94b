import { describe, expect, it } from 'vitest'
import { excessOf, isCovered, isShareable } from './shares.ts'

const gpu = 'nvidia.com/gpu'

function deployment(requests: object, { replicas = 1, init = {}, limits = {} } = {}) {
  const podSpec = {
    initContainers: [{ resources: { requests: init } }],
    containers: [{ resources: { requests, limits } }, {}],
  }
  return { spec: { replicas, template: { spec: podSpec } } }
}

const quota = { 'requests.cpu': '1', [`requests.${gpu}`]: 1 }

describe('excessOf', () => {
  it('sums what the others take, whatever the form of the amounts', () => {
    const others = [deployment({ cpu: '300m' }), deployment({ cpu: 0.6 }), deployment({ cpu: '8' }, { replicas: 0 })]
    expect(excessOf('physics', quota, others, deployment({ cpu: '0.1' }))).toBeUndefined()
    expect(excessOf('physics', quota, others, deployment({ cpu: '101m' }))).toBe(
      'exceeded quota of the group physics, requested: requests.cpu=0.101, used: requests.cpu=0.9, limited: requests.cpu=1',
    )
  })

  it('counts GPUs, also where only a limit names them', () => {
    const one = deployment({}, { limits: { [gpu]: '1' } })
    expect(excessOf('physics', quota, [], one)).toBeUndefined()
    expect(excessOf('physics', quota, [one], one)).toContain(`used: requests.${gpu}=1, limited: requests.${gpu}=1`)
  })

  it('counts containers that begin before the others by what they need alone', () => {
    expect(excessOf('physics', quota, [], deployment({ cpu: '0.5' }, { init: { cpu: '1' } }))).toBeUndefined()
    expect(excessOf('physics', quota, [], deployment({ cpu: '0.5' }, { init: { cpu: '2' } }))).toContain(
      'requests.cpu=2',
    )
  })

  it('refuses nobody for what is used up already but not asked for', () => {
    const others = [deployment({ cpu: '5' })]
    expect(excessOf('physics', quota, others, deployment({}))).toBeUndefined()
    expect(excessOf('physics', { pods: 1 }, others, deployment({}))).toContain('pods=1')
    expect(excessOf('physics', { cpu: 0, memory: '1Gi' }, [], deployment({ memory: '1Gi' }))).toBeUndefined()
  })
})

describe('isCovered', () => {
  it('is so where the Deployment that stands takes no less', () => {
    const standing = deployment({ cpu: '0.5' })
    expect(isCovered(quota, standing, deployment({ cpu: '500m', memory: '8Gi' }))).toBe(true)
    expect(isCovered(quota, standing, deployment({ cpu: '501m' }))).toBe(false)
    expect(isCovered(quota, deployment({ cpu: '0.5' }, { replicas: 0 }), deployment({ cpu: '0.5' }))).toBe(false)
  })
})

it.each([
  ['pods', true],
  ['cpu', true],
  ['requests.memory', true],
  [`requests.${gpu}`, true],
  ['limits.cpu', true],
  ['requests.storage', false],
  ['persistentvolumeclaims', false],
  ['count/secrets', false],
  [`limits.${gpu}`, false],
])('isShareable says of %s: %s', (name, is) => {
  expect(isShareable(name)).toBe(is)
})
