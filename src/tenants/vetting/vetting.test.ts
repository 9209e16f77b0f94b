import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json.ts'
import { compareStates, neverAllowed } from './compare.ts'
import { rightsOf, stateOf, type VettedState } from './state.ts'
import { vettedFor } from './vetted.ts'

const clusterRole = (name: string, rules: object[], labels: object = {}): JsonObject => ({
  metadata: { name, labels },
  rules,
})
const pods = { apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['list', 'get'] }
const groups = [
  {
    items: [
      {
        metadata: { name: 'apps' },
        versions: [
          {
            version: 'v1',
            resources: [
              {
                resource: 'deployments',
                scope: 'Namespaced',
                verbs: ['list', 'get'],
                subresources: [{ subresource: 'scale', verbs: ['patch'] }],
              },
            ],
          },
        ],
      },
    ],
  },
]
const state = (...clusterRoles: JsonObject[]) =>
  stateOf({ version: { major: '1', minor: '36+' }, groups, clusterRoles })

describe('stateOf', () => {
  test('reads versions, kinds, sources and rights, each sorted', () => {
    const found = state(
      clusterRole('admin', [pods, { ...pods, resources: ['pods'], verbs: ['watch'] }]),
      clusterRole('more', [], { 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' }),
      clusterRole('off', [], { 'rbac.authorization.k8s.io/aggregate-to-admin': 'false' }),
    )
    expect(found.kubernetes).toBe('1.36')
    expect(found.resources).toEqual({
      'deployments.apps/v1': 'Namespaced get list',
      'deployments/scale.apps/v1': 'patch',
    })
    expect(found.roles.admin).toEqual({ from: ['more'], rights: { pods: 'get list watch', 'pods/log': 'get list' } })
  })

  test('is the same however rules divide the rights', () => {
    const apart = [pods.resources, ['x']].flatMap(resources => [
      { ...pods, resources, verbs: ['get'] },
      { ...pods, resources, verbs: ['list'] },
    ])
    const joined = [{ ...pods, resources: ['x', 'pods/log', 'pods'] }]
    expect(rightsOf(clusterRole('a', apart))).toEqual(rightsOf(clusterRole('a', joined)))
  })

  test('names the objects of a rule, its groups and its paths', () => {
    const rules = [
      { apiGroups: ['a', 'b'], resources: ['x'], resourceNames: ['n'], verbs: ['get'] },
      { nonResourceURLs: ['/healthz'], verbs: ['get'] },
    ]
    expect(rightsOf(clusterRole('a', rules))).toEqual({ 'url /healthz': 'get', 'x.a n': 'get', 'x.b n': 'get' })
  })

  test.each([{}, { major: 'x', minor: 'y' }, null])('refuses the version %j', version => {
    expect(() => stateOf({ version, groups, clusterRoles: [] })).toThrow('does not say its version')
  })

  test('takes whatever an answer has for nothing where it has another form', () => {
    const odd = { version: { major: 1, minor: 36 }, groups: [null, { items: [7] }], clusterRoles: [{}, { rules: 'x' }] }
    expect(stateOf(odd)).toMatchObject({ kubernetes: '1.36', resources: {} })
  })
})

describe('compareStates', () => {
  const vetted = state(clusterRole('admin', [pods]))

  test('finds nothing between equal states', () => {
    expect(compareStates(vetted, state(clusterRole('admin', [pods])))).toEqual([])
  })

  test('finds a right, a verb, a source, a kind and a version', () => {
    const found: VettedState = {
      ...state(
        clusterRole('admin', [
          { ...pods, verbs: ['get'] },
          { apiGroups: ['new'], resources: ['x'], verbs: ['get'] },
        ]),
        clusterRole('more', [], { 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' }),
      ),
      kubernetes: '1.37',
      resources: { 'x.new/v1': 'Namespaced get' },
    }
    expect(compareStates(vetted, found)).toEqual([
      { what: 'version', of: 'Kubernetes', vetted: '1.36', found: '1.37' },
      { what: 'resource', of: 'deployments.apps/v1', vetted: 'Namespaced get list' },
      { what: 'resource', of: 'deployments/scale.apps/v1', vetted: 'patch' },
      { what: 'resource', of: 'x.new/v1', found: 'Namespaced get' },
      { what: 'source of admin', of: 'more', found: 'aggregated' },
      { what: 'right of admin', of: 'pods', vetted: 'get list', found: 'get' },
      { what: 'right of admin', of: 'pods/log', vetted: 'get list', found: 'get' },
      { what: 'right of admin', of: 'x.new', found: 'get' },
    ])
  })

  test('lets what this program brings be absent, but not be another', () => {
    const ours = (verbs: string[]) =>
      state(
        clusterRole('admin', [pods, { apiGroups: ['primehub.io'], resources: ['phapplications'], verbs }]),
        clusterRole('skylab:apps:view', [], { 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' }),
      )
    expect(compareStates(ours(['get']), vetted)).toEqual([])
    expect(compareStates(vetted, ours(['get']))).toHaveLength(2)
    expect(compareStates(ours(['get']), ours(['get', 'patch']))).toEqual([
      { what: 'right of admin', of: 'phapplications.primehub.io', vetted: 'get', found: 'get patch' },
    ])
  })

  test('is not misled by names that objects have by themselves', () => {
    const odd = state(clusterRole('admin', [pods, { apiGroups: [''], resources: ['constructor'], verbs: ['get'] }]))
    expect(compareStates(vetted, odd)).toEqual([{ what: 'right of admin', of: 'constructor', found: 'get' }])
  })
})

describe('neverAllowed', () => {
  const rule = (more: object) => ({ apiGroups: [''], resources: ['pods'], verbs: ['get'], ...more })

  test.each([
    [{ verbs: ['*'] }, '*'],
    [{ resources: ['*'] }, 'get'],
    [{ apiGroups: ['*'] }, 'get'],
    [{ resources: ['namespaces'], verbs: ['get', 'patch'] }, 'patch'],
    [{ resources: ['namespaces/finalize'], verbs: ['update'] }, 'update'],
    [{ resources: ['namespaces'], resourceNames: ['mine'], verbs: ['delete'] }, 'delete'],
    [{ resources: ['roles'], verbs: ['escalate'] }, 'escalate'],
    [{ resources: ['clusterroles'], resourceNames: ['x'], verbs: ['bind'] }, 'bind'],
    [{ apiGroups: [], resources: [], nonResourceURLs: ['/*'] }, 'get'],
  ])('finds %j in any of the roles', (more, verbs) => {
    for (const name of ['admin', 'edit', 'view', 'skylab:authenticated']) {
      const found = neverAllowed(state(clusterRole(name, [rule(more)])))
      expect(found).toEqual([expect.objectContaining({ what: expect.stringContaining(name), found: verbs })])
    }
  })

  test.each([
    [{ verbs: ['create'] }, 'create'],
    [{ resources: ['serviceaccounts/token'], verbs: ['create'] }, 'create'],
    [{ resources: ['users'], verbs: ['impersonate'] }, 'impersonate'],
    [{ resources: ['secrets'], verbs: ['get', 'list'] }, 'get list'],
  ])('finds %j in the role of everybody alone', (more, verbs) => {
    const of = (name: string) => neverAllowed(state(clusterRole(name, [rule(more)])))
    expect(of('admin')).toEqual([])
    expect(of('skylab:authenticated')).toEqual([expect.objectContaining({ found: verbs })])
  })

  test.each(['1.35', '1.36'])('finds nothing in what is shipped as vetted for %s', async version => {
    const shipped = await vettedFor([])(version)
    expect(Object.keys(shipped!.resources).length).toBeGreaterThan(100)
    expect(neverAllowed(shipped!)).toEqual([])
  })
})

test('vettedFor prefers a state of the operator, and knows no other version', async () => {
  const own = state(clusterRole('admin', [pods]))
  expect(await vettedFor([own])('1.36')).toBe(own)
  expect((await vettedFor([{ ...own, kubernetes: '1.37' }])('1.36'))?.roles.admin).not.toEqual(own.roles.admin)
  expect(await vettedFor([own])('1.37')).toBeUndefined()
})
