/** For tests: what is rendered of an app, and how a server would store it. */
import { appSettings, checkedFact } from '../../../test/kit/apps/facts.ts'
import { asObject, asObjects, type JsonObject } from '../../base/json.ts'
import { factOf, objectToCreate } from '../../reconcile/facts.ts'
import type { Fact, Wanted } from '../../reconcile/types.ts'
import { renderApp } from '../render.ts'

export const render = (fact: Fact, settings = appSettings()) =>
  renderApp(fact, checkedFact(fact, settings).spec!, settings, false)

export const objectOf = (objects: readonly Wanted[], kind: string, name = 'app-mlflow-xyzab'): JsonObject =>
  objects.map(({ object }) => object).find(({ kind: each, metadata }) => each === kind && metadata.name === name)!

export const deploymentOf = (fact: Fact, settings = appSettings()) =>
  asObject(objectOf(render(fact, settings).objects, 'Deployment').spec)
export const podOf = (fact: Fact, settings = appSettings()) =>
  asObject(asObject(deploymentOf(fact, settings).template).spec)
export const containerOf = (fact: Fact, settings = appSettings()) => asObjects(podOf(fact, settings).containers)[0]!
export const prunedOf = (fact: Fact) => render(fact).pruned

/** What the server stores: fields that are null are not. */
export const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(fields.map(([name, inner]) => [name, withoutNulls(inner)]))
}

export const sources = ['Deployment', 'Service', 'NetworkPolicy'].map(kind => ({
  paths: [['spec'], ['metadata', 'labels']],
  watch: {
    kind,
    apiVersion: { Deployment: 'apps/v1', Service: 'v1', NetworkPolicy: 'networking.k8s.io/v1' }[kind]!,
  },
}))
export const stored = (wish: Wanted): Fact =>
  factOf(withoutNulls({ ...objectToCreate(wish), ...{} }) as ReturnType<typeof objectToCreate>, [
    ['spec'],
    ['metadata', 'labels'],
  ])
