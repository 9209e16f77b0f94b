import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../base/domain.ts'
import { reservedBy } from './rules.ts'
import { isServedElsewhere, renderTenantRights, reservedIn, settingsProblem } from './settings.ts'
import { settingsOf } from './testing/world.ts'

const roleOf = (declared: object = {}) => renderTenantRights(settingsOf(declared))[0]!

/** Names by resource. */
const namesOf = ({ rules }: KubeObject) =>
  Object.fromEntries(
    (rules as { resources: string[]; resourceNames: string[] }[]).map(rule => [rule.resources[0], rule.resourceNames]),
  )

describe('renderTenantRights', () => {
  test('makes a role of the configuration, by default without open labels', () => {
    expect(namesOf(roleOf())).toEqual({
      installations: ['skylab'],
      reservednames: ['default', 'kube', 'skylab-tenants'],
      reservedprefixes: ['kube-', 'skylab-', 'openshift-'],
      podsecurity: ['baseline', 'restricted'],
    })
    const declared = { reserved: ['istio-system', 'team-*'], labelPrefixes: ['example.com/'] }
    expect(namesOf(roleOf({ ...declared, laxestPodSecurity: 'privileged' }))).toEqual({
      installations: ['skylab'],
      reservednames: ['default', 'kube', 'skylab-tenants', 'istio-system'],
      reservedprefixes: ['kube-', 'team-'],
      labelprefixes: ['example.com/'],
      podsecurity: ['privileged', 'baseline', 'restricted'],
    })
  })

  test('binds the account of the given namespace', () => {
    const [, binding] = renderTenantRights({ ...settingsOf(), ownNamespace: 'ours' })
    expect(binding).toMatchObject({
      metadata: { name: 'skylab-tenants' },
      subjects: [{ kind: 'ServiceAccount', name: 'skylab-tenants', namespace: 'ours' }],
    })
  })
})

test('reservedBy refuses all names that the role reserves', () => {
  const settings = settingsOf({ reserved: ['istio-system', 'team-*'] })
  const { names, prefixes } = reservedIn(settings)
  const all = [...names, ...prefixes.flatMap(prefix => [prefix, `${prefix}x`])]
  expect(all.filter(name => reservedBy(name, settings) === undefined)).toEqual([])
})

describe('settingsProblem', () => {
  test('is undefined for the rendered role, in any order and split in any way', () => {
    const role = roleOf({ labelPrefixes: ['a.org/', 'b.org/'] })
    const rules = (role.rules as { resourceNames: string[] }[]).flatMap(rule =>
      rule.resourceNames.toReversed().map(name => ({ ...rule, resourceNames: [name] })),
    )
    const settings = settingsOf({ labelPrefixes: ['a.org/', 'b.org/'] })
    expect(settingsProblem(settings, role)).toBeUndefined()
    expect(settingsProblem(settings, { ...role, rules })).toBeUndefined()
  })

  test.each([
    ['reserved', { reserved: ['skylab-*'] }, 'reservedprefixes openshift- only in the role'],
    ['labelPrefixes', { labelPrefixes: ['a.org/'] }, 'labelprefixes a.org/ only in the configuration'],
    ['laxestPodSecurity', { laxestPodSecurity: 'privileged' }, 'podsecurity privileged only in the configuration'],
  ])('names what differs: %s', (_, declared, words) => {
    const problem = settingsProblem(settingsOf(declared), roleOf())
    expect(problem).toContain(words)
    expect(problem).toContain('apply what `skylab rights` prints')
  })

  test('names a role that is missing', () => {
    expect(settingsProblem(settingsOf(), null)).toContain('there is no ClusterRole skylab-tenants-settings')
  })

  test('names the installation that serves tenants, if it is another one, before all else', () => {
    const [role] = renderTenantRights({ ...settingsOf({ reserved: ['x-*'] }), installation: 'observatory' })
    expect(settingsProblem(settingsOf(), role!)).toBe(
      'another installation serves the tenants of this cluster: the ClusterRole skylab-tenants-settings names observatory, and this one is skylab',
    )
  })

  test('asks for a role that names an installation', () => {
    const { rules, ...role } = roleOf()
    const nobody = (rules as { resources: string[] }[]).filter(({ resources }) => resources[0] !== 'installations')
    expect(settingsProblem(settingsOf(), { ...role, rules: nobody })).toContain(
      'installations skylab only in the configuration',
    )
  })

  test('reads only rules of the group of the policies', () => {
    const { rules, ...role } = roleOf()
    const elsewhere = (rules as object[]).map(rule => ({ ...rule, apiGroups: ['example.org'] }))
    expect(settingsProblem(settingsOf(), { ...role, rules: elsewhere })).toContain(
      'podsecurity baseline, restricted only',
    )
  })
})

test('isServedElsewhere is true at every installation that a role names together with another', () => {
  const role = roleOf()
  const rule = { apiGroups: ['skylab.dev'], resources: ['installations'], resourceNames: ['b'], verbs: ['use'] }
  const both = { ...role, rules: [...(role.rules as object[]), rule] }
  expect(['skylab', 'b'].map(installation => isServedElsewhere({ installation }, both))).toEqual([true, true])
  expect([role, null].map(each => isServedElsewhere(settingsOf(), each))).toEqual([false, false])
})
