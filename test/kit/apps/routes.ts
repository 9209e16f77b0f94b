/** Routes and members as controllers of apps write them. */
import type { AppRoute } from '../../../src/base/app-route.ts'
import type { Members } from '../../../src/store/apps/members.ts'

export const route = (more: Partial<AppRoute> = {}): AppRoute => ({
  ...{ id: 'mlflow', uid: 'u1', createdMs: 1_000, generation: 1, namespace: 'hub', displayName: 'MLflow' },
  ...{ group: 'physics', audience: { kind: 'members' }, phase: 'Ready', message: '' },
  ...{ address: { ip: '10.0.0.1', port: 5000 }, host: 'app-mlflow.hub:5000' },
  ...{ rewrite: false, passHost: false, passAuthorization: false },
  ...more,
})

export const members = (users: readonly string[], more: Partial<Members> = {}): Members => ({
  ...{ uid: 'g1', generation: 1, createdMs: 1_000, users, groups: [] },
  ...more,
})
