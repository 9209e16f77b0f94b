/** For tests: a world of tenants on an API server in memory, seen by any number of replicas. */
import { ManualClock } from '../../../test/kit/clock.ts'
import type { KubeObject } from '../../base/domain.ts'
import { tenants } from '../../config/tenants.ts'
import { FakeApi } from '../../reconcile/testing/api.ts'
import type { TenantSettings } from '../spec.ts'
import { projectionOf, type TenantSights, type TenantWatch, tenantWatches, type WatchedKind } from '../watches.ts'
import { tenantAnnotations, tenantLabels, tenantParent } from '../words.ts'
import { type TenantWorld, tenantWorld } from '../world.ts'

export const installation = 'skylab'

export const settingsOf = (declared: object = {}): TenantSettings => ({
  ...{ installation, ownNamespace: 'skylab-tenants', labPrefix: 'nublado' },
  tenants: tenants.parse(declared),
})

export const user = (name: string) => ({ kind: 'User', name })
export const group = (name: string) => ({ kind: 'Group', name })
export const account = (namespace: string, name: string) => ({ kind: 'ServiceAccount', namespace, name })

export interface Declared {
  readonly spec?: object
  readonly requester?: string
  readonly metadata?: object
  readonly status?: object
}

/** An LNamespace, as its author writes it. */
export function lnamespace(name: string, { spec = {}, requester, metadata = {}, status }: Declared = {}): KubeObject {
  const annotations = requester === undefined ? {} : { [tenantAnnotations.requester]: requester }
  return {
    ...tenantParent,
    metadata: { name, annotations, creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
    spec,
    ...(status !== undefined && { status }),
  } as KubeObject
}

/** By what is in the table of watches, and its label. */
export class Cluster {
  readonly clock = new ManualClock({ nowMs: Date.parse('2026-01-02T00:00:00Z') })
  readonly api = new FakeApi()

  /** The watches of one replica. */
  world(settings = settingsOf(), unguarded: () => string | undefined = () => undefined): TenantWorld {
    const prefixes = settings.tenants.labelPrefixes
    const sights = Object.fromEntries(
      (Object.entries(tenantWatches) as [TenantWatch, WatchedKind][]).map(([watch, { apiVersion, kind, labelled }]) => {
        const selects = ({ metadata }: KubeObject) =>
          !labelled || metadata.labels?.[tenantLabels.installation] === settings.installation
        return [watch, this.api.sightOf(apiVersion, kind, projectionOf(watch, prefixes), this.clock, selects)]
      }),
    ) as unknown as TenantSights
    this.list()
    return tenantWorld(sights, settings, unguarded)
  }

  /** Shows all that is there, as a watch that begins. */
  list(): void {
    for (const object of [...this.api.objects.values()]) this.api.put(object)
  }

  /** Makes or edits an LNamespace, whose generation rises as at the server. */
  declare(name: string, declared: Declared = {}): KubeObject {
    const known = this.get('LNamespace', name)
    const object = lnamespace(name, declared)
    const generation = Number(known?.metadata.generation ?? 0) + 1
    const uid = known?.metadata.uid === undefined ? {} : { uid: known.metadata.uid }
    const status = declared.status ?? known?.status
    return this.api.put({
      ...object,
      metadata: { ...object.metadata, ...uid, generation, ...declared.metadata },
      ...(status !== undefined && { status }),
    } as KubeObject)
  }

  /** Deletes an LNamespace as the server does, before the garbage collector comes. */
  drop(name: string): void {
    this.api.remove({ ...tenantParent, name })
  }

  /** The garbage collector: removes what no living object owns. */
  collect(): void {
    for (const object of [...this.api.objects.values()]) {
      const { name, namespace, ownerReferences: owners = [] } = object.metadata
      const isOwned = owners.some(({ kind, name, uid }) => this.get(kind, name)?.metadata.uid === uid)
      if (owners.length === 0 || isOwned) continue
      this.api.remove({ apiVersion: object.apiVersion, kind: object.kind, name, ...(namespace && { namespace }) })
    }
  }

  get(kind: string, name: string, namespace?: string): KubeObject | undefined {
    return [...this.api.objects.values()].find(
      ({ kind: each, metadata }) => each === kind && metadata.name === name && metadata.namespace === namespace,
    )
  }

  /** Kinds and names of all objects but LNamespaces, in order. */
  names(): string[] {
    return [...this.api.objects.values()]
      .filter(({ kind }) => kind !== 'LNamespace')
      .map(({ kind, metadata: { name, namespace } }) => `${kind} ${namespace ? `${namespace}/` : ''}${name}`)
      .sort()
  }

  /** Names of the subjects of a binding; undefined without one. */
  subjects(kind: 'RoleBinding' | 'ClusterRoleBinding', name: string, namespace?: string): string[] | undefined {
    const binding = this.get(kind, name, namespace)
    return binding && ((binding.subjects as { name: string }[] | undefined) ?? []).map(each => each.name)
  }
}
