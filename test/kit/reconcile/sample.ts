/**
 * The kind Sample of the tests: a Sample has a Deployment and a Service, which the server fills with defaults, and a
 * RoleBinding for its members. The shared objects of one colour are in `sample-colour.ts`.
 */
import type { KubeObject } from '../../../src/base/domain.ts'
import { asNumber, asObject, asText, type JsonObject } from '../../../src/base/json.ts'
import { keyOf, placeOf } from '../../../src/kube/cache.ts'
import { registerKind } from '../../../src/kube/kinds.ts'
import type { Change } from '../../../src/kube/picture.ts'
import type { Sight } from '../../../src/reconcile/sight.ts'
import type {
  Effect,
  Fact,
  Hold,
  Kind,
  OwnerReference,
  Path,
  Result,
  Source,
  StatusPatch,
  Verdict,
  Wanted,
} from '../../../src/reconcile/types.ts'

import type { WriteRoute } from './sample-route.ts'

export const sampleVersion = 'sample.skylab.dev/v1'
export const sampleParent = { apiVersion: sampleVersion, kind: 'Sample' }
registerKind(sampleVersion, 'Sample', { plural: 'samples', namespaced: true })
registerKind('apps/v1', 'Deployment', { plural: 'deployments', namespaced: true })

const rbac = 'rbac.authorization.k8s.io'

const label = 'sample.skylab.dev/sample'

interface WatchedKind {
  readonly apiVersion: string
  readonly kind: string
  readonly paths: readonly Path[]
  readonly grants?: readonly Path[]
}

/** The kinds that samples need watches of, with the paths that it owns, and those of rights. */
export const sampleWatches = {
  samples: { apiVersion: sampleVersion, kind: 'Sample', paths: [['spec'], ['status'], ['metadata', 'generation']] },
  services: { apiVersion: 'v1', kind: 'Service', paths: [['spec']] },
  deployments: { apiVersion: 'apps/v1', kind: 'Deployment', paths: [['spec']] },
  bindings: {
    ...{ apiVersion: `${rbac}/v1`, kind: 'RoleBinding' },
    paths: [['subjects'], ['roleRef'], ['metadata', 'labels', label]],
    grants: [['subjects']],
  },
  maps: { apiVersion: 'v1', kind: 'ConfigMap', paths: [['data']] },
} as const satisfies Record<string, WatchedKind>

export type SampleSights = Readonly<Record<keyof typeof sampleWatches, Sight>>

export interface SampleSpec {
  readonly colour: string
  /** Empty: no RoleBinding. */
  readonly members: readonly string[]
  readonly image: string
}

export const sample = (namespace: string, name: string, spec: Partial<SampleSpec> = {}): KubeObject => ({
  apiVersion: sampleVersion,
  kind: 'Sample',
  metadata: { name, namespace },
  spec: { colour: 'red', members: ['ada'], image: 'app:1', ...spec },
})

/** The flavour of a version of the kind that has a ConfigMap for each Sample instead of a Service. */
export const otherObjects = 'other objects'

export interface SampleOptions {
  readonly sights: SampleSights
  /** A wish that differs between two versions of the kind. */
  readonly flavour?: string
  /** Writes to Redis which image a Sample serves. Default: nothing is written. */
  readonly writeRoute?: WriteRoute
}

const childName = (name: string) => `s-${name}`
const parentName = (name: string) => (name.startsWith('s-') ? name.slice(2) : undefined)

export function sampleKind({ sights, flavour = 'a', writeRoute }: SampleOptions): Kind<SampleSights> {
  const { samples, services, deployments, bindings, maps } = sights
  const ofChild = (of: keyof SampleSights, urgent: boolean): Source => ({
    ...sampleWatches[of],
    watch: sights[of],
    made: of !== 'bindings',
    *keysOf({ namespace, name }) {
      const parent = parentName(name)
      if (parent !== undefined) yield { key: keyOf(namespace, parent), urgent }
    },
  })
  return {
    name: 'sample',
    parent: sampleParent,
    sources: [
      {
        ...sampleWatches.samples,
        watch: samples,
        keysOf: change => ofSample(change, [services, deployments, bindings, maps]),
      },
      ofChild('services', false),
      ofChild('deployments', false),
      ofChild('maps', false),
      ofChild('bindings', true),
    ],
    world: () => sights,
    desired: (key, world) => {
      const verdict = desiredOfSample(key, world, flavour)
      return verdict.do === 'hold' && writeRoute ? { ...verdict, effects: effectsOf(verdict, writeRoute) } : verdict
    },
    report,
  }
}

/** An edit passes new Samples, and so does the end of one whose rights still stand. A status, ours too, does not. */
function* ofSample(change: Change<Fact>, children: readonly Sight[]) {
  const { namespace, name, type } = change
  const child = keyOf(namespace, childName(name))
  const isFormer = ({ owners }: Fact) => !owners.some(({ uid }) => uid === change.uid)
  const isEdit =
    type === 'put' && change.previous !== undefined && generationOf(change.previous) < generationOf(change.value)
  const isNext = type === 'put' && children.some(sight => [sight.get(child) ?? []].flat().some(isFormer))
  yield { key: keyOf(namespace, name), urgent: type === 'gone' || isEdit || isNext }
}

const generationOf = ({ owned }: Fact): number => asNumber(asObject(owned.metadata).generation)

export function specOf({ owned }: Fact): SampleSpec {
  const { colour, members, image } = asObject(owned.spec)
  return { colour: asText(colour), members: Array.isArray(members) ? members.map(asText) : [], image: asText(image) }
}

export const ownerOf = ({ ref: { apiVersion, kind, name }, uid }: Fact): OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid,
})

function effectsOf({ parent }: Hold, writeRoute: WriteRoute): Effect[] {
  if (parent === 'shared') return []
  const route = { uid: parent.uid, generation: generationOf(parent), image: specOf(parent).image }
  const mark = `${route.uid} ${route.generation} ${route.image}`
  return [{ name: 'route', mark, apply: signal => writeRoute(route, signal) }]
}

function desiredOfSample(
  key: string,
  { samples, services, deployments, bindings, maps }: SampleSights,
  flavour: string,
): Verdict {
  const parent = samples.get(key)
  if (!parent) return { do: 'leave' }
  const { namespace, name } = placeOf(key)
  const child = keyOf(namespace, childName(name))
  const standing = [services, deployments, bindings, maps].flatMap(sight => sight.get(child) ?? [])
  const objects = sampleObjects(parent, namespace, name, flavour)
  // A finalizer may hold up its end, and keeps no rights.
  const isKept = ({ object }: Wanted) => !parent.deleting || object.kind !== 'RoleBinding'
  return { do: 'hold', parent, objects: objects.filter(isKept), standing }
}

function sampleObjects(parent: Fact, namespace: string, name: string, flavour: string): Wanted[] {
  const { image, members } = specOf(parent)
  const metadata = { name: childName(name), namespace, ownerReferences: [ownerOf(parent)] }
  const app = { app: childName(name) }
  const container = {
    name: 'app',
    image,
    env: [{ name: 'FLAVOUR', value: flavour === otherObjects ? 'a' : flavour }],
    resources: { limits: { cpu: '100m' } },
  }
  const subjects = members.map(member => ({ apiGroup: rbac, kind: 'User', name: member }))
  return [
    flavour === otherObjects
      ? {
          object: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { image } },
          ...{ stage: 0, compare: 'exact' as const },
        }
      : {
          object: { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: app, ports: [{ port: 80 }] } },
          ...{ stage: 0, compare: 'covers' as const },
        },
    {
      object: {
        ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata },
        spec: {
          replicas: 0,
          selector: { matchLabels: app },
          template: { metadata: { labels: app }, spec: { containers: [container] } },
        },
      },
      ...{ stage: 1, compare: 'covers' as const, immutable: [['spec', 'selector']] },
    },
    ...(members.length === 0
      ? []
      : [
          {
            object: {
              ...{ apiVersion: `${rbac}/v1`, kind: 'RoleBinding', subjects },
              metadata: { ...metadata, labels: { [label]: name } },
              roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'view' },
            },
            ...{ stage: 2, compare: 'exact' as const, immutable: [['roleRef']] },
          },
        ]),
  ]
}

function report(key: string, { samples }: SampleSights, result: Result): StatusPatch | undefined {
  const of = samples.get(key)
  return of && { of, status: statusOf(of, result) }
}

function statusOf({ owned }: Fact, { settled, conflicts, contended, failure, due }: Result): JsonObject {
  const observedGeneration = asNumber(asObject(owned.metadata).generation)
  const because = (phase: string, message: string) => ({ phase, message, observedGeneration })
  if (conflicts.length > 0) return because('Conflict', conflicts.map(({ ref }) => ref.kind).join(', '))
  if (contended) return because('Contended', 'another writer changes the objects')
  if (failure !== undefined) return because('Failed', failure)
  if (due.length > 0) return because('Ready', `${due.join(', ')} waits for Redis`)
  return because(settled ? 'Ready' : 'Waiting', '')
}
