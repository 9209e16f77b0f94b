/** For tests: a PhApplication as the controller sees it, and the settings of the example of the configuration. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { type AppSettings, groupsOf } from '../../../src/apps/groups.ts'
import { type AppPod, projectAppPod } from '../../../src/apps/pods.ts'
import { type CheckedApp, readApp } from '../../../src/apps/spec.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { asObject, asObjects, type JsonObject } from '../../../src/base/json.ts'
import { apps } from '../../../src/config/apps.ts'
import { factOf } from '../../../src/reconcile/facts.ts'
import type { Fact, Path } from '../../../src/reconcile/types.ts'
import { seedApp } from './seed.ts'

const example = new URL('../../../docs/examples/apps.yaml', import.meta.url)

/** Those of docs/examples/apps.yaml without labs and with one host, and the group `phusers` in the namespace `hub`. */
export function appSettings(more: object = {}): AppSettings {
  const { apps: declared } = parse(readFileSync(example, 'utf8')) as { apps: { groups: object } }
  const groups = { ...declared.groups, phusers: { namespace: 'hub' } }
  return {
    apps: apps.parse({ ...declared, groups, labs: false, appDomain: undefined, ...more }),
    ownNamespace: 'skylab',
    installation: 'skylab',
  }
}

const paths: readonly Path[] = [['spec'], ['status'], ['metadata']]

/** As the watch shows it. */
export function appFact(app: KubeObject = seedApp(), more: object = {}): Fact {
  const metadata = {
    ...{ uid: 'app-uid', resourceVersion: '7', generation: 3, creationTimestamp: '2026-01-01T00:00:00Z' },
    ...app.metadata,
    ...more,
  }
  return factOf({ ...app, metadata }, paths)
}

/** The seed's app with other fields of its spec, and another namespace. */
export function appWith(spec: JsonObject, namespace = 'hub', annotations: Record<string, string> = {}): Fact {
  const app = seedApp()
  const metadata = { ...app.metadata, namespace, annotations }
  return appFact({ ...app, metadata, spec: { ...asObject(app.spec), ...spec } })
}

/** The seed's app with other fields of its pod. */
export const withPod = (pod: JsonObject, namespace?: string): Fact =>
  appWith({ podTemplate: { spec: { ...seedPod(), ...pod } } }, namespace)

/** The seed's app with other fields of its container. */
export const withContainer = (container: JsonObject, namespace?: string): Fact =>
  withPod({ containers: [{ ...asObjects(seedPod().containers)[0], ...container }] }, namespace)

const seedPod = (): JsonObject => asObject(asObject(asObject(seedApp().spec).podTemplate).spec)

/** The group `physics` of the example has a volume; any fact can be made one of it. */
export const inPhysics = (fact: Fact): Fact => ({
  ...fact,
  ref: { ...fact.ref, namespace: 'physics' },
  owned: { ...fact.owned, spec: { ...asObject(fact.owned.spec), groupName: 'physics' } },
})

export const checkedFact = (fact: Fact, settings = appSettings(), isTaken = false): CheckedApp =>
  readApp(fact, settings, { groups: groupsOf(fact.ref.namespace ?? '', settings, () => false), isTaken })

export interface PodChange {
  readonly name?: string
  readonly createdAt?: string
  readonly deleting?: boolean
  readonly status?: object
}

/** A pod of the seed's app. */
export function appPod({ name = 'app-mlflow-xyzab-5f-a', createdAt, deleting, status }: PodChange = {}): AppPod {
  return projectAppPod({
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      ...{ name, namespace: 'hub', uid: name, creationTimestamp: createdAt ?? '2026-01-01T00:00:00Z' },
      ...(deleting && { deletionTimestamp: '2026-01-01T00:10:00Z' }),
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'app-mlflow-xyzab-5f', uid: 'rs' }],
    },
    status: { phase: 'Pending', ...status },
  })
}
