/** Checks the state at rest: the cluster, Redis and every replica agree, and nothing else is left (I5). */
import { labNames } from '../../../src/labs/names.ts'
import { Keys } from '../../../src/store/keys.ts'
import {
  type Answers,
  type ClusterObject,
  type Evidence,
  recordsOf,
  streamsOf,
  type Violation,
} from '../evidence/evidence.ts'
import { namespacesOf, replay } from './cluster.ts'

type Record = Readonly<globalThis.Record<string, string>>

/** I5 */
export function checkI5(evidence: Evidence): Violation[] {
  return [
    ...evidence.restless.map(why => `I5 no rest: ${why}`),
    ...checkRecords(evidence),
    ...checkCluster(evidence),
    ...checkKeys(evidence),
    ...checkSets(evidence),
    ...checkAnswers(evidence),
  ]
}

function checkRecords(evidence: Evidence): Violation[] {
  const namespaces = namespacesOf(evidence.cluster)
  const pods = Map.groupBy(
    evidence.cluster.filter(({ kind }) => kind === 'Pod'),
    ({ namespace }) => namespace,
  )
  return [...recordsOf(evidence)].flatMap(([user, record]) => {
    const names = labNames(evidence.terms.namespacePrefix, user)
    const namespace = namespaces.get(names.namespace)
    const what = `I5 ${user} is ${record.status} in Redis`
    const passing = ['plan', 'failing', 'provisions'].filter(field => record[field])
    const left = passing.map(field => `${what}, and still has its ${field}`)
    const violations = record.active === '1' ? [`${what}, its operation ${record.op} is not over`] : left
    if (record.status !== 'running') {
      const other = namespace && namespace.uid !== record.nsUid
      return other ? [...violations, `${what}, and another namespace of op ${namespace.op} stands`] : violations
    }
    const pod = pods.get(names.namespace)?.find(({ name }) => name === names.lab)
    if (!namespace || namespace.uid !== record.nsUid || namespace.op !== Number(record.op) || namespace.terminating) {
      violations.push(`${what} by op ${record.op} in ${record.nsUid}; its namespace is ${describe(namespace)}`)
    }
    if (!pod || pod.uid !== record.podUid || pod.terminating) {
      violations.push(`${what} with the pod ${record.podUid}; the pod is ${describe(pod)}`)
    }
    return violations
  })
}

const describe = (object: ClusterObject | undefined) =>
  object ? `${object.uid} of op ${object.op}${object.terminating ? ', terminating' : ''}` : 'not there'

function checkCluster(evidence: Evidence): Violation[] {
  const records = recordsOf(evidence)
  const namespaces = namespacesOf(evidence.cluster)
  const orphans = evidence.cluster.flatMap(({ kind, name, namespace, op, user }) => {
    if (kind !== 'Namespace')
      return namespaces.has(namespace) ? [] : [`I5 ${kind} ${name} stands alone in ${namespace}`]
    const explained = user !== undefined && records.has(user)
    return explained ? [] : [`I5 the namespace ${namespace} of op ${op} stands, and Redis has no lab of ${user}`]
  })
  return [...orphans, ...missing(evidence)]
}

/** Objects of a running lab that the log shows as made and never as deleted must exist. */
function missing(evidence: Evidence): Violation[] {
  const lives = new Map(replay(evidence.audit).map(life => [life.name, life]))
  const existing = new Set(
    evidence.cluster.map(({ kind, name, namespace }) => `${namespace} ${pluralOf(kind)}/${name}`),
  )
  return [...recordsOf(evidence)].flatMap(([user, { status }]) => {
    const { namespace } = labNames(evidence.terms.namespacePrefix, user)
    const life = lives.get(namespace)
    if (status !== 'running' || !life) return []
    return life.lives
      .filter(({ op, untilMs }) => op === life.op && untilMs === Number.POSITIVE_INFINITY)
      .filter(({ resource, name }) => !existing.has(`${namespace} ${resource}/${name}`))
      .map(({ resource, name }) => `I5 ${resource}/${name} of ${user} was made, and is not there`)
  })
}

function pluralOf(kind: string): string {
  const name = kind.toLowerCase()
  return name.endsWith('y') ? `${name.slice(0, -1)}ies` : `${name}s`
}

/** The keys of an installation that may stay for ever, by the table of `src/store/keys.ts`. */
function checkKeys(evidence: Evidence): Violation[] {
  const { redis, terms } = evidence
  const keys = new Keys(terms.keyPrefix)
  const tag = keys.last.slice(0, -'last'.length)
  const records = recordsOf(evidence)
  const lasting = new Set([
    keys.last,
    keys.generation,
    keys.index,
    keys.provisioned,
    keys.prepulled,
    keys.prepullFailures,
  ])
  const passing = new Set([
    keys.mark,
    keys.doubt,
    keys.hold,
    keys.bell,
    keys.compareLease,
    keys.prepullLease,
    keys.musterLease,
    keys.cpuLease,
    keys.sealing,
    keys.audit,
    keys.activityFloor,
    keys.activityEvents,
  ])
  return [...redis].flatMap(([key, { ttlMs }]) => {
    if (!key.startsWith(tag)) return [`I5 Redis has the foreign key ${key}`]
    if (terms.kinds?.some(kind => isOfKind(key.slice(tag.length), kind))) return []
    const [, kind = '', user = ''] = /^([a-z-]+):(.*)$/s.exec(key.slice(tag.length)) ?? []
    const ofLab = (kind === 'lab' || kind === 'events') && records.has(user)
    if (ofLab) return ttlMs === -1 ? [] : [`I5 ${key} of a lab that stands expires in ${ttlMs} ms`]
    if (lasting.has(key)) return []
    const known = passing.has(key) || passingKinds.has(kind)
    if (!known) return [`I5 Redis has the key ${key}, which nothing explains at rest`]
    return ttlMs === -1 ? [`I5 ${key} has no expiry`] : []
  })
}

const isOfKind = (name: string, kind: string) => name.startsWith(`${kind}:`) || name.startsWith(`${kind}-`)

const caches = ['catalogue', 'digests', 'lease-of-refresh']
const ofIdle = ['due', 'due-slow', 'activity', 'activity-states', 'activity-stops', 'activity-flushed']
const passingKinds = new Set(['events', 'tombstone', 'nonce', 'idempotency', ...caches, ...ofIdle])

const statusScores: globalThis.Record<string, number> = { pending: 1, running: 2, terminating: 3, failed: 4 }

function checkSets(evidence: Evidence): Violation[] {
  const keys = new Keys(evidence.terms.keyPrefix)
  const membersOf = (key: string) => Object.entries(evidence.redis.get(key)?.value.members ?? {})
  const busy = [keys.waiting, keys.owned, keys.deadlines].flatMap(key =>
    membersOf(key).map(([user]) => `I5 ${user} is in ${key} at rest`),
  )
  const index = new Map(membersOf(keys.index))
  const records = recordsOf(evidence)
  const wrong = [...records]
    .filter(([user, { status }]) => index.get(user) !== statusScores[status!])
    .map(([user, { status }]) => `I5 ${user} is ${status}, and ${index.get(user)} in the index`)
  const strays = [...index.keys()].filter(user => !records.has(user)).map(user => `I5 ${user} is in the index alone`)
  return [...busy, ...wrong, ...strays]
}

function checkAnswers(evidence: Evidence): Violation[] {
  const records = recordsOf(evidence)
  const streams = streamsOf(evidence)
  const running = [...records].filter(([, { status }]) => status === 'running').map(([user]) => user)
  return evidence.answers.flatMap(answers => {
    const { replica, list, labs } = answers
    const said = JSON.stringify(list.names)
    const due = JSON.stringify(running.sort())
    const violations =
      list.status === 200 && said === due ? [] : [`I5 ${replica} lists ${list.status} ${said}, not ${due}`]
    return [
      ...violations,
      ...Object.keys(labs).flatMap(user =>
        checkAnswer(answers, user, records.get(user), seqOf(streams, user, records.get(user))),
      ),
    ]
  })
}

const seqOf = (streams: ReturnType<typeof streamsOf>, user: string, record: Record | undefined) =>
  streams.get(user)?.get(Number(record?.op))?.length ?? 0

function checkAnswer({ replica, labs }: Answers, user: string, record: Record | undefined, seq: number): Violation[] {
  const { status, lab } = labs[user]!
  const what = `I5 ${replica} says of ${user}`
  if (!record) return status === 404 ? [] : [`${what}: ${status} ${lab?.status}; Redis has no lab`]
  if (status !== 200 || !lab) return [`${what}: ${status}; in Redis it is ${record.status}`]
  const present = record.pod === '1'
  const said = [lab.status, lab.present, lab.hasUrl, lab.op, lab.seq].join(' ')
  const due = [record.status, present, record.status === 'running' && present, record.op, seq].join(' ')
  return said === due ? [] : [`${what}: ${said}; in Redis it is ${due}`]
}
