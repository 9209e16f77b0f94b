import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../base/json.ts'
import { excessOf, isCovered, isShareable } from './shares.ts'

const gpu = 'nvidia.com/gpu'

function deployment(requests: object, { replicas = 1, init = {}, limits = {} } = {}) {
  const podSpec = {
    initContainers: [{ resources: { requests: init } }],
    containers: [{ resources: { requests, limits } }, {}],
  }
  return { metadata: { name: 'app-other' }, spec: { replicas, template: { spec: podSpec } } }
}

const quota = { 'requests.cpu': '1', [`requests.${gpu}`]: 1 }

interface PodMore {
  readonly phase?: string
  readonly deletionTimestamp?: string
}

/** A pod of an app; `more`: of its metadata, and its phase. */
function pod(app: string, cpu: string, { phase = 'Running', ...more }: PodMore = {}) {
  const metadata = { labels: { 'primehub.io/phapplication': app }, ...more }
  return { metadata, status: { phase }, spec: { containers: [{ resources: { requests: { cpu } } }] } }
}

const deletionTimestamp = '2026-01-01T00:00:00Z'

function excess(
  quota: Parameters<typeof excessOf>[1],
  deployments: readonly JsonObject[],
  wanted: JsonObject,
  pods: readonly JsonObject[] = [],
) {
  return excessOf('physics', quota, { deployments, pods }, { ...wanted, metadata: { name: 'app-mine' } })
}

describe('excessOf', () => {
  it('sums what the others take, whatever the form of the amounts', () => {
    const others = [deployment({ cpu: '300m' }), deployment({ cpu: 0.6 }), deployment({ cpu: '8' }, { replicas: 0 })]
    expect(excess(quota, others, deployment({ cpu: '0.1' }))).toBeUndefined()
    expect(excess(quota, others, deployment({ cpu: '101m' }))).toBe(
      'exceeded quota of the group physics, requested: requests.cpu=0.101, used: requests.cpu=0.9, limited: requests.cpu=1',
    )
  })

  it('counts GPUs, also where only a limit names them', () => {
    const one = deployment({}, { limits: { [gpu]: '1' } })
    expect(excess(quota, [], one)).toBeUndefined()
    expect(excess(quota, [one], one)).toContain(`used: requests.${gpu}=1, limited: requests.${gpu}=1`)
  })

  it('counts containers that begin before the others by what they need alone', () => {
    expect(excess(quota, [], deployment({ cpu: '0.5' }, { init: { cpu: '1' } }))).toBeUndefined()
    expect(excess(quota, [], deployment({ cpu: '0.5' }, { init: { cpu: '2' } }))).toContain('requests.cpu=2')
  })

  it('refuses nobody for what is used up already but not asked for', () => {
    const others = [deployment({ cpu: '5' })]
    expect(excess(quota, others, deployment({}))).toBeUndefined()
    expect(excess({ pods: 1 }, others, deployment({}))).toContain('pods=1')
    expect(excess({ cpu: 0, memory: '1Gi' }, [], deployment({ memory: '1Gi' }))).toBeUndefined()
  })
})

describe('excessOf of pods', () => {
  const wanted = deployment({ cpu: '0.4' })
  const stopped = deployment({ cpu: '0.4' }, { replicas: 0 })

  it.each([
    ['that ends, of an app that is stopped', [stopped], [pod('other', '0.7', { deletionTimestamp })]],
    ['that ends, of the app itself', [], [pod('mine', '0.7', { deletionTimestamp })]],
    [
      'that ends beside one that is still to come',
      [deployment({ cpu: '0.4' })],
      [pod('other', '0.4', { deletionTimestamp })],
    ],
    ['beyond what the Deployment asks for', [deployment({ cpu: '0.4' })], [pod('other', '0.4'), pod('other', '0.4')]],
    ['of an app that is gone', [], [pod('gone', '0.7')]],
  ])('counts one %s', (_, deployments, pods) => {
    expect(excess(quota, deployments, wanted)).toBeUndefined()
    expect(excess(quota, deployments, wanted, pods)).toContain('exceeded quota')
  })

  it.each([
    ['that has ended', [], [pod('other', '0.7', { phase: 'Failed', deletionTimestamp })]],
    ['that its Deployment asks for', [deployment({ cpu: '0.6' })], [pod('other', '0.6')]],
    ['of the app itself that runs', [], [pod('mine', '0.7')]],
  ])('counts no pod %s', (_, deployments, pods) => {
    expect(excess(quota, deployments, wanted, pods)).toBeUndefined()
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
