/** Joins the watches of notebooks: those of the objects that bear the annotations, and of what is asked. */
import type { KubeObject } from '../../base/domain.ts'
import {
  notebookKind,
  podOfSetLabel,
  projectNotebook,
  projectService,
  projectSet,
  projectSetPod,
  setKind,
} from '../../idle/notebooks/objects.ts'
import type { KubeClient } from '../../kube/client.ts'
import { Reflector, type ReflectorTimes } from '../../kube/reflector.ts'
import { WatchGroup } from '../../kube/watch-group.ts'
import { tenantLabels } from '../../tenants/words.ts'
import type { Basics } from '../basics.ts'

/** As of labs: the server opens a watch at once, so the replica knows that what it sees of addresses is the present. */
const podTimes: Partial<ReflectorTimes> = { watchTimeoutMs: 6_000 }

const notebookKinds = ['notebook', 'statefulset'] as const

/** The tenant of a namespace, which has its name. Only the controller of tenants may write the label. */
const projectTenant = ({ metadata: { name, labels } }: KubeObject): true | undefined =>
  labels?.[tenantLabels.of] === name ? true : undefined

export type NotebookWatchGroup = ReturnType<typeof joinWatches>

export function joinWatches({ config, clock, log }: Basics, client: KubeClient) {
  const watch = <T>(
    of: { readonly apiVersion: string; readonly kind: string },
    project: (object: KubeObject) => T | undefined,
    more: { readonly labelSelector?: string; readonly times?: Partial<ReflectorTimes> } = {},
  ) => new Reflector<T>({ client, ...of, project, ...more, clock, log })
  const core = (kind: string) => ({ apiVersion: 'v1', kind })
  const notebooks = watch(notebookKind, projectNotebook)
  const statefulSets = watch(setKind, projectSet)
  const pods = watch(core('Pod'), projectSetPod, { labelSelector: podOfSetLabel, times: podTimes })
  // Only where a rule asks there: it takes a right of its own.
  const asksServices = config.idle.rules.some(({ address }) => address === 'service')
  const services = asksServices ? watch(core('Service'), projectService) : undefined
  // The same for rules that name tenants.
  const namesTenants = config.idle.rules.some(
    ({ match: { kinds = notebookKinds, tenants } }) => tenants && notebookKinds.some(kind => kinds.includes(kind)),
  )
  const tenants = namesTenants ? watch(core('Namespace'), projectTenant, { labelSelector: tenantLabels.of }) : undefined
  const group = new WatchGroup<string>({
    ...{ notebooks, statefulSets, pods },
    ...(services && { services }),
    ...(tenants && { tenants }),
  })
  return { notebooks, statefulSets, pods, services, tenants, group }
}
