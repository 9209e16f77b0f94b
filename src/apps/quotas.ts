/**
 * The kind *quota*: the ResourceQuota of a group's namespace, as `apps.groups` has it. It belongs to its Namespace, so that it ends
 * with it, and no app's coming or going changes it. Pure.
 */
import type { KubeObject } from '../base/domain.ts'
import type { AppsConfig } from '../config/apps.ts'
import { keyOf } from '../kube/cache.ts'
import { labels } from '../kube/labels.ts'
import { isAnothers } from '../reconcile/facts.ts'
import type { Sight } from '../reconcile/sight.ts'
import type { Fact, Kind, Path, Verdict, Wanted } from '../reconcile/types.ts'
import { appLabels, appLabelValue } from './words.ts'

/** Its name; RBAC has it too. */
export const quotaName = 'skylab-apps'
const parent = { apiVersion: 'v1', kind: 'Namespace' }

const labelsOf = (installation: string) => ({ [appLabels.app]: appLabelValue, [labels.managedBy]: installation })

/** Another installation on the cluster has quotas of its own, which are not shown. */
export const quotaWatches = (installation: string) => ({
  namespaces: { ...parent, paths: [] as readonly Path[] },
  quotas: {
    ...{ apiVersion: 'v1', kind: 'ResourceQuota' },
    selector: Object.entries(labelsOf(installation))
      .map(([name, value]) => `${name}=${value}`)
      .join(),
    paths: [['spec'], ...Object.keys(labelsOf('')).map(name => ['metadata', 'labels', name])] as readonly Path[],
  },
})

type QuotaWatches = ReturnType<typeof quotaWatches>
export type QuotaSights = Readonly<Record<keyof QuotaWatches, Sight>>

export interface QuotaWorld {
  readonly sights: QuotaSights
  readonly installation: string
  readonly groups: AppsConfig['groups']
  readonly unguarded: () => string | undefined
}

export function quotaKind(world: QuotaWorld): Kind<QuotaWorld> {
  const { namespaces, quotas } = world.sights
  const watches = quotaWatches(world.installation)
  const configured = new Set(Object.values(world.groups).map(({ namespace }) => namespace))
  return {
    name: 'quota',
    parent,
    sources: [
      {
        ...watches.namespaces,
        watch: namespaces,
        *keysOf({ name }) {
          if (configured.has(name) || quotas.get(keyOf(name, quotaName))) yield { key: name, urgent: false }
        },
      },
      {
        ...watches.quotas,
        watch: quotas,
        *keysOf(change) {
          const { namespace, name } = change
          if (name === quotaName) yield { key: namespace, urgent: isAnothers(change) }
        },
      },
    ],
    world: () => world,
    desired: desiredQuota,
    report: () => undefined,
  }
}

function desiredQuota(name: string, { sights, installation, groups, unguarded }: QuotaWorld): Verdict {
  const of = sights.namespaces.get(name)
  if (!of) return { do: 'leave' }
  const reason = unguarded()
  const quota = quotaOf(name, groups)
  return {
    ...{ do: 'hold', parent: of },
    ...(reason !== undefined && { onlyRevocations: reason }),
    objects: Object.keys(quota).length === 0 || of.deleting ? [] : [wanted(of, quota, installation)],
    // A lifted quota loosens: it waits for the policy too, since only removals of rights are done without.
    standing: reason === undefined ? [sights.quotas.get(keyOf(name, quotaName)) ?? []].flat() : [],
  }
}

/** A namespace of several groups has none: it would bound all of them together (`shares.ts`). */
function quotaOf(namespace: string, groups: AppsConfig['groups']): Readonly<Record<string, string>> {
  const [first, ...others] = Object.values(groups).filter(group => group.namespace === namespace)
  if (!first || others.length > 0) return {}
  return Object.fromEntries(Object.entries(first.quota).map(([name, value]) => [name, String(value)]))
}

function wanted({ ref, uid }: Fact, hard: Readonly<Record<string, string>>, installation: string): Wanted {
  const object: KubeObject = {
    ...{ apiVersion: 'v1', kind: 'ResourceQuota' },
    metadata: {
      ...{ name: quotaName, namespace: ref.name, labels: labelsOf(installation) },
      ownerReferences: [{ ...parent, name: ref.name, uid }],
    },
    spec: { hard },
  }
  return { object, stage: 0, compare: 'exact', restricts: true }
}
