/** A route and a site, as the policy of the gateway gets them. */
import type { AppRoute } from '../../../src/base/app-route.ts'
import { siteOf } from '../../../src/gateway/policy/site.ts'

export const exampleSite = siteOf('https://platform.example.org')

export const exampleRoute = (change: Partial<AppRoute> = {}): AppRoute => ({
  ...{ id: 'mlflow-x', uid: 'u1', createdMs: 1, generation: 1, namespace: 'hub', displayName: 'My MLflow' },
  ...{ group: 'physics', audience: { kind: 'members' }, phase: 'Ready', message: '' },
  ...{ address: { ip: '10.96.0.7', port: 5000 }, host: 'app-mlflow-x.hub:5000' },
  ...{ rewrite: false, passHost: false, passAuthorization: false },
  ...change,
})
