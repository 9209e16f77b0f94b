import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../base/domain.ts'
import { factOf } from '../reconcile/facts.ts'
import { checked } from './rules.ts'
import { account, group, lnamespace, settingsOf, user } from './testing/world.ts'
import { tenantWatches } from './watches.ts'

const settings = settingsOf({ reserved: ['istio-system', 'team-*'], labelPrefixes: ['example.com/'] })
const factFor = (object: KubeObject) => factOf(object, tenantWatches.lnamespaces.paths)
const check = (name: string, spec: object = {}) => checked(factFor(lnamespace(name, { spec })), settings)

/** `Reason: message`, or what is accepted. */
function verdict(name: string, spec: object = {}): string {
  const result = check(name, spec)
  return 'refusal' in result ? `${result.refusal.reason}: ${result.refusal.message}` : 'accepted'
}

describe('checked refuses a name', () => {
  test.each([
    ['default', 'Reserved'],
    ['kube-system', 'Reserved'],
    ['kube-anything', 'Reserved'],
    ['skylab-tenants', 'Reserved'],
    ['nublado', 'Reserved'],
    ['nublado-ada', 'Reserved'],
    ['istio-system', 'Reserved'],
    ['team-red', 'Reserved'],
    ['a.b', 'Invalid'],
    ['-a', 'Invalid'],
    ['A', 'Invalid'],
    ['a'.repeat(64), 'Invalid'],
  ])('%s: %s', (name, reason) => {
    expect(verdict(name)).toContain(`${reason}: `)
  })

  test.each(['a', 'kubeflow', 'nubladoada', 'teams', 'istio-systems', 'a'.repeat(63)])('and takes %s', name => {
    expect(verdict(name)).toBe('accepted')
  })
})

describe('checked refuses a subject', () => {
  test.each([
    ['a user of the cluster', { users: [user('system:admin')] }, 'spec.users[0] begins with system:'],
    ['a group of the cluster', { managers: [group('system:authenticated')] }, 'spec.managers[0] begins with system:'],
    ['a group as sudoer', { sudoers: [group('devs')] }, 'spec.sudoers[0] is a "Group"; only User'],
    ['a ServiceAccount as sudoer', { sudoers: [account('a', 'b')] }, 'only User'],
    ['a control character', { users: [user('a\u0007b')] }, 'contains a control character'],
    ['a line separator', { users: [user('a\u2028b')] }, 'contains a control character'],
    ['an invisible character', { users: [user('a\u200bb')] }, 'contains an invisible character'],
    ['half a surrogate pair', { users: [user('\ud800')] }, 'is not well-formed Unicode'],
    ['an empty name', { users: [user('')] }, 'is missing'],
    ['a long name', { users: [user('a'.repeat(257))] }, 'is longer than 256 characters'],
    ['a name that is no text', { users: [{ kind: 'User', name: 7 }] }, 'is missing'],
    ['another kind', { users: [{ kind: 'Robot', name: 'r' }] }, 'spec.users[0] is a "Robot"'],
    ['another group of APIs', { users: [{ ...user('a'), apiGroup: 'x' }] }, 'has the group "x"'],
    ['a user with a namespace', { users: [{ ...user('a'), namespace: 'b' }] }, 'which has no namespace'],
    ['a ServiceAccount without a namespace', { users: [{ kind: 'ServiceAccount', name: 'a' }] }, 'needs the namespace'],
    ['501 of them', { users: Array.from({ length: 501 }, (_, i) => user(`u${i}`)) }, 'has 501 subjects'],
    ['no list', { users: { ada: true } }, 'spec.users is no list'],
    ['a user of the cluster for sudo with an end', { sudo: { eligible: [group('system:masters')] } }, 'system:'],
  ])('that is %s', (_, spec, words) => {
    expect(verdict('a', spec)).toMatch(/^Invalid: /)
    expect(verdict('a', spec)).toContain(words)
  })

  test('and takes 500, each once, in an order of their own', () => {
    const users = Array.from({ length: 500 }, (_, i) => user(`u${i}`))
    const result = check('a', { users, managers: [user('b'), account('n', 'a'), group('g'), user('b')] })
    expect(result).toMatchObject({ spec: { users: expect.objectContaining({ length: 500 }) } })
    expect(result).toMatchObject({ spec: { managers: [group('g'), account('n', 'a'), user('b')] } })
    expect(check('a', { users: users.toReversed() })).toEqual(check('a', { users }))
  })
})

describe('checked refuses what bounds a tenant', () => {
  test.each([
    [{ namespaceLabelOverrides: { 'example.com/': 'b' } }, 'is no key of a label'],
    [{ namespaceLabelOverrides: { 'example.com/a': 'a b' } }, 'is no value of a label'],
    [{ istioRevision: 'a b' }, 'spec.istioRevision is no value of a label'],
    [{ istioRevision: 7 }, 'spec.istioRevision is no value of a label'],
    [{ platform: { podSecurity: 'none' } }, 'spec.platform.podSecurity is "none"'],
    [{ platform: { network: 'maybe' } }, 'spec.platform.network is "maybe"'],
    [{ platform: { quota: { pods: 'many' } } }, 'spec.platform.quota.pods: "many" is no quantity'],
    [{ platform: { limits: { max: { cpu: -1 } } } }, 'spec.platform.limits.max.cpu'],
    [{ platform: { quota: { 'a b': 1 } } }, '"a b" is no resource'],
    [{ sudo: { maxSeconds: 28_801 } }, 'spec.sudo.maxSeconds'],
    [{ sudo: { maxSeconds: 0.5 } }, 'spec.sudo.maxSeconds'],
  ])('%j', (spec, words) => {
    expect(verdict('a', spec)).toMatch(/^Invalid: /)
    expect(verdict('a', spec)).toContain(words)
  })

  test('and fills in what the configuration says', () => {
    const declared = { platform: { quota: { pods: 5 } }, namespaceLabelOverrides: { 'example.com/a': 'b' } }
    expect(check('a', { ...declared, istioRevision: 'canary' })).toMatchObject({
      spec: {
        platform: { podSecurity: 'baseline', network: 'deny', quota: { pods: '5' } },
        labels: { 'example.com/a': 'b', 'istio.io/rev': 'canary' },
        maxSeconds: 3_600,
      },
    })
  })

  test('and sets no label that the configuration does not open, whoever declared it', () => {
    const closed = { team: 'red', 'pod-security.kubernetes.io/enforce': 'privileged', 'lns.skylab/of': 'b' }
    expect(check('a', { namespaceLabelOverrides: { ...closed, 'example.com/a': 'b' } })).toMatchObject({
      spec: { labels: { 'example.com/a': 'b' }, closedLabels: Object.keys(closed) },
    })
  })

  test('a message quotes nothing that a terminal would obey, and little of the rest', () => {
    const evil = `\u001b[2J\u202e${'x'.repeat(10_000)}`
    const words = verdict('a', { users: [{ kind: evil, name: 'a' }] })
    expect(words).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(words.length).toBeLessThan(300)
  })
})

test('checked answers for any object at all', () => {
  fc.assert(
    fc.property(fc.string(), fc.jsonValue(), (name, spec) => {
      const fact = factFor({ ...lnamespace('a'), spec } as never)
      const result = checked({ ...fact, ref: { ...fact.ref, name } }, settings)
      expect(Object.keys(result)).toHaveLength(1)
    }),
  )
})
