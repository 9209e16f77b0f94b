/** An owner of notebooks with one that runs, whose watches, Redis and API server a test plays. */
import type { KubeObject } from '../../../base/domain.ts'
import { RetryLater } from '../../../base/errors.ts'
import { stamps } from '../../../kube/labels.ts'
import type { StopRefusal } from '../../../store/idle.ts'
import type { WorkloadFacts } from '../../workloads/workload.ts'
import { NotebookOwner } from '../owner.ts'
import { NotebookSight, type NotebookWorkloadKind } from '../sight.ts'
import { filledWatches, labelledSet, notebook, podOf, setOf } from './objects.ts'

export const id = 'team/blue'
/** Both annotations of activity. */
export const both = { [stamps.lastActivity]: 'a', [stamps.checked]: 'b' }

export interface Parts {
  readonly kind?: NotebookWorkloadKind
  readonly answer?: 'requested' | StopRefusal
  readonly patch?: () => KubeObject | null
  readonly stampPolicy?: 'always' | 'off'
  /** Redis does not answer when a stop is reported. */
  readonly isAway?: boolean
  readonly tenants?: ReadonlyMap<string, unknown>
}

export function ownerWorld({
  kind = 'notebook',
  answer = 'requested',
  patch,
  stampPolicy = 'always',
  isAway = false,
  tenants,
}: Parts = {}) {
  const watches = filledWatches()
  const calls: unknown[] = []
  const stopped: unknown[] = []
  const told: string[] = []
  const withdrawn: string[] = []
  const read = { activity: undefined, floorMs: 0, nowMs: 1, touches: 0, trafficIsUntold: false }
  const owner = new NotebookOwner({
    ...{ kind, stampPolicy, sight: new NotebookSight({ ...watches, tenants }) },
    store: {
      read: async () => read,
      requestStop: async () => answer,
      tellStop: async ({ id: of }) => {
        if (isAway) throw new RetryLater('Redis does not answer')
        told.push(of)
      },
      withdrawStop: async ({ id: of }) => void withdrawn.push(of),
    },
    kube: {
      patch: async ({ kind: of, name, uid }, { metadata }, { resourceVersion, check } = {}) => {
        check?.()
        calls.push([of, name, uid, resourceVersion, metadata?.annotations])
        return patch ? patch() : notebook()
      },
    },
    isInCluster: ip => ip.startsWith('10.'),
    failpoint: async point => void calls.push(point),
    onStopped: ({ name }, atMs) => void stopped.push([name, atMs]),
  })
  if (kind === 'notebook') watches.notebooks.show(notebook({}, both))
  watches.statefulSets.show(kind === 'notebook' ? setOf() : labelledSet({ annotations: both }))
  watches.pods.show(podOf())
  const known = async () => (await owner.read(owner.facts(id) as WorkloadFacts))!
  return { watches, owner, calls, stopped, told, withdrawn, known }
}
