/** What `skylab check` refuses of `tenants.platform` is what the API server refuses: it would refuse it of every tenant. */
import { afterAll, expect, test } from 'vitest'
import { tenants } from '../../../src/config/tenants.ts'
import type { Fact } from '../../../src/reconcile/types.ts'
import { platformObjects } from '../../../src/tenants/platform.ts'
import type { TenantSpec } from '../../../src/tenants/spec.ts'
import { AdminKube } from '../../kit/cluster/kube.ts'
import { fitPlatform, unfitPlatforms } from '../../kit/tenants/platforms.ts'
import { testBed } from '../../kit/testbed.ts'

const admin = new AdminKube(testBed().kubeconfig)
afterAll(() => admin.close())

/** The LNamespace of the objects; a dry run needs none. */
const parent = { ref: { apiVersion: '', kind: '', name: 'try' }, uid: 'try' } as unknown as Fact
const collections: Readonly<Record<string, string>> = { ResourceQuota: 'resourcequotas', LimitRange: 'limitranges' }

/** The API server's answers to quota and limits of a platform, as the controller sends them, in dry runs. */
async function answersTo(platform: object) {
  const spec = { labels: {}, platform: tenants.parse({ platform }).platform } as unknown as TenantSpec
  const wanted = platformObjects(parent, spec, {
    installation: 'skylab',
    isGuarded: true,
    hasRights: true,
    standing: undefined,
  })
  const objects = wanted.map(({ object }) => object).filter(({ kind }) => kind in collections)
  return Promise.all(
    objects.map(({ metadata: { name }, ...object }) =>
      admin.request('POST', `/api/v1/namespaces/default/${collections[object.kind]}?dryRun=All`, {
        ...object,
        metadata: { name },
      }),
    ),
  )
}

test.each(unfitPlatforms)('the API server refuses %j, as skylab check does', async platform => {
  const [answer, ...others] = await answersTo(platform)
  expect([answer?.status, others]).toEqual([422, []])
})

test('the API server accepts what skylab check accepts', async () => {
  expect((await answersTo(fitPlatform)).map(({ status }) => status)).toEqual([201, 201])
})
