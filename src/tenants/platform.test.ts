/** What bounds a tenant, and when it is corrected without a lease. */
import { expect, test } from 'vitest'
import { desiredTenant } from './kind.ts'
import { Cluster, user } from './testing/world.ts'

const spec = { users: [user('ada')], platform: { quota: { pods: '5' }, limits: { max: { cpu: '1' } } } }

/** @returns the kinds of the objects that are corrected with the revocations */
function restricting(cluster: Cluster, unguarded?: string): readonly string[] {
  const verdict = desiredTenant(
    'a',
    cluster.world(undefined, () => unguarded),
    cluster.clock.wallMs(),
  )
  const objects = verdict.do === 'hold' ? verdict.objects : []
  return objects.filter(({ restricts }) => restricts).map(({ object }) => object.kind)
}

/** Makes what is wished of these kinds. */
function make(cluster: Cluster, ...kinds: readonly string[]): void {
  const verdict = desiredTenant('a', cluster.world(), cluster.clock.wallMs())
  const objects = verdict.do === 'hold' ? verdict.objects : []
  for (const { object } of objects) if (kinds.includes(object.kind)) cluster.api.put(object)
}

const bounds = ['ResourceQuota', 'LimitRange', 'NetworkPolicy']

test('platformObjects leaves quota, limits and network of a tenant without rights to the holder of the lease', () => {
  const cluster = new Cluster()
  cluster.declare('a', { spec })
  expect(restricting(cluster)).toEqual([])
  make(cluster, 'Namespace')
  expect(restricting(cluster)).toEqual(['Namespace'])
})

test.each(['RoleBinding', 'ClusterRole'])(
  'platformObjects has quota, limits and network corrected at once when a %s stands',
  kind => {
    const cluster = new Cluster()
    cluster.declare('a', { spec })
    make(cluster, 'Namespace', kind)
    expect(restricting(cluster)).toEqual(['Namespace', ...bounds])
  },
)

test('platformObjects corrects nothing without a lease when policies are missing', () => {
  const cluster = new Cluster()
  cluster.declare('a', { spec })
  make(cluster, 'Namespace', 'RoleBinding')
  expect(restricting(cluster, 'no policies')).toEqual([])
})
