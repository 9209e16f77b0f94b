/** Checks of the API server's log and of the cluster at rest: I1, I2 and I9. */
import type { AuditedRequest } from '../evidence/audit.ts'
import type { ClusterObject, Evidence, Violation } from '../evidence/evidence.ts'

/** An object's life by the log: its maker, its start and its end. */
interface Life {
  readonly resource: string
  readonly name: string
  /** The op that made it. */
  readonly op: number | undefined
  readonly fromMs: number
  untilMs: number
}

/** One namespace, from its creation to the next one of its name. */
interface NamespaceLife {
  readonly name: string
  readonly op: number | undefined
  readonly lives: Life[]
}

const succeeded = ({ code, dryRun }: AuditedRequest) => code > 0 && code < 300 && !dryRun

/** Every namespace with its objects, replayed in the order in which the API server completed the requests. */
export function replay(audit: readonly AuditedRequest[]): readonly NamespaceLife[] {
  const all: NamespaceLife[] = []
  const current = new Map<string, NamespaceLife>()
  for (const request of audit) {
    if (!succeeded(request)) continue
    const { verb, resource, subresource, namespace, name, op, completedAtMs } = request
    if (resource === 'namespaces') {
      if (verb !== 'create' || subresource !== '') continue
      const life = { name: namespace, op, lives: [] }
      current.set(namespace, life)
      all.push(life)
      continue
    }
    const lives = current.get(namespace)?.lives
    if (!lives) continue
    const open = (life: Life) => life.resource === resource && life.untilMs === Number.POSITIVE_INFINITY
    const end = (which: readonly Life[]) => {
      for (const life of which) life.untilMs = completedAtMs
    }
    if (verb === 'create' && subresource === '') {
      end(lives.filter(life => open(life) && life.name === name))
      lives.push({ resource, name, op, fromMs: completedAtMs, untilMs: Number.POSITIVE_INFINITY })
    }
    if (verb === 'delete' || (verb === 'create' && subresource === 'eviction')) {
      end(lives.filter(life => open(life) && life.name === name))
    }
    if (verb === 'deletecollection') end(lives.filter(open))
  }
  return all
}

/** I1: no object of another op stays in a namespace, and none was there while the namespace's lab had its pod. */
export function checkI1({ audit, cluster }: Pick<Evidence, 'audit' | 'cluster'>): Violation[] {
  return [...replay(audit).flatMap(strangersIn), ...strangersAtRest(cluster)]
}

function strangersIn({ name, op, lives }: NamespaceLife): Violation[] {
  if (op === undefined) return []
  const pods = lives.filter(life => life.resource === 'pods' && life.op === op)
  return lives
    .filter(life => life.op !== undefined && life.op !== op)
    .flatMap(life => {
      const what = `${life.resource}/${life.name} of op ${life.op} in ${name} of op ${op}`
      if (life.op! > op) return [`I1 ${what}: a namespace was used for a second operation`]
      const seen = pods.some(pod => life.fromMs < pod.untilMs && pod.fromMs < life.untilMs)
      return seen ? [`I1 ${what}: it was there together with the newer pod`] : []
    })
}

function strangersAtRest(cluster: readonly ClusterObject[]): Violation[] {
  const namespaces = namespacesOf(cluster)
  return cluster
    .filter(({ kind }) => kind !== 'Namespace')
    .flatMap(({ kind, name, namespace, op, owner }) => {
      const home = namespaces.get(namespace)
      if (!home || (op === home.op && owner === home.uid)) return []
      return [`I1 ${kind} ${name} of op ${op}, owned by ${owner}, stands in ${namespace} of op ${home.op}, ${home.uid}`]
    })
}

export const namespacesOf = (cluster: readonly ClusterObject[]): ReadonlyMap<string, ClusterObject> =>
  new Map(cluster.filter(({ kind }) => kind === 'Namespace').map(object => [object.namespace, object]))

/** I2: a user never has two pods that are not being deleted, whatever op made them. */
export function checkI2({ audit, cluster }: Pick<Evidence, 'audit' | 'cluster'>): Violation[] {
  const overlaps = replay(audit).flatMap(({ name, lives }) => {
    const pods = lives.filter(({ resource }) => resource === 'pods')
    return pods.flatMap((pod, i) =>
      pods
        .slice(i + 1)
        .filter(other => other.fromMs < pod.untilMs)
        .map(other => `I2 ${name} had two pods at once: ${pod.name} of op ${pod.op}, ${other.name} of op ${other.op}`),
    )
  })
  const existing = cluster.filter(({ kind, terminating }) => kind === 'Pod' && !terminating)
  const crowded = [...Map.groupBy(existing, ({ namespace }) => namespace)].filter(([, pods]) => pods.length > 1)
  return [...overlaps, ...crowded.map(([name, pods]) => `I2 ${pods.length} pods stand in ${name}`)]
}

/** I9: an operation makes each object once, however often it was resumed. */
export function checkI9({ audit, expects }: Pick<Evidence, 'audit' | 'expects'>): Violation[] {
  const made = audit.filter(request => succeeded(request) && request.verb === 'create' && request.op !== undefined)
  const groups = Map.groupBy(
    made.filter(({ subresource }) => subresource === ''),
    ({ op, namespace, resource, name }) => `${resource}/${name} in ${namespace} by op ${op}`,
  )
  return [...groups].flatMap(([what, requests]) => {
    if (requests.length === 1) return []
    const deletions = audit.filter(request => succeeded(request) && request.verb === 'delete')
    // If Redis went back, an operation may find its own namespace removed, and makes everything again.
    const mayLoseAll = expects.redisLoss || isLate(requests)
    if (mayLoseAll && remade(requests, deletions, ({ resource }) => resource === 'namespaces')) return []
    if (remade(requests, deletions, deletion => isRecount(requests[0]!, deletion))) return []
    return [`I9 ${what}: made ${requests.length} times`]
  })
}

/** Requests of a former owner that arrive after its successor's. I5 checks that nothing of them stays. */
const isLate = ([first, ...more]: readonly AuditedRequest[]) =>
  more.every(({ claim }) => claim !== undefined && claim < (first!.claim ?? 0))

/** A quota that counts a pod which was never stored is removed by its own operation, and made anew. */
const isRecount = ({ resource, name, op }: AuditedRequest, deletion: AuditedRequest) =>
  resource === 'resourcequotas' && deletion.resource === resource && deletion.name === name && deletion.op === op

/** Whether such a deletion came before each later creation. */
function remade(
  [first, ...more]: readonly AuditedRequest[],
  deletions: readonly AuditedRequest[],
  isSuch: (deletion: AuditedRequest) => boolean,
): boolean {
  const { namespace, completedAtMs } = first!
  const such = deletions.filter(deletion => deletion.namespace === namespace && isSuch(deletion))
  return more.every(({ completedAtMs: untilMs }) =>
    such.some(deletion => deletion.completedAtMs >= completedAtMs && deletion.completedAtMs <= untilMs),
  )
}
