/** A sound history, made by hand, and helpers that spoil it. */
import type { AuditedRequest } from '../evidence/audit.ts'
import type { Answers, ClusterObject, Evidence, LogLine, RedisKey, StreamEvent } from '../evidence/evidence.ts'
import type { Entry, Transcript, Value } from '../evidence/history.ts'

const tag = '{skylab}:'
const [ada, bob] = ['ada', 'bob'] as const
/** Ada has a lab by the first op. Bob had one by the second; the third deleted it. */
export const [opOfAda, opOfBob, deletionOfBob] = [1_000_001, 1_000_002, 1_000_003] as const
const [uidOfNamespace, uidOfPod] = ['uid-of-namespace', 'uid-of-pod'] as const

export const streamOf = (user: string, op: number, kind: 'creation' | 'deletion'): readonly StreamEvent[] => [
  { id: `${op}-1`, event: 'info', data: `lab ${kind} initiated for ${user}` },
  { id: `${op}-2`, event: 'progress', data: '40' },
  { id: `${op}-3`, event: 'progress', data: '100' },
  { id: `${op}-4`, event: 'complete', data: `Operation complete for ${user}` },
]

let calls = 0

/** By default an answer from 400 on is a refusal, and one without a status is unknown. */
export interface CalledAnswer {
  readonly status?: number
  readonly type?: 'ok' | 'fail' | 'unknown'
  readonly atMs?: number
  readonly value?: Value
}

/** A request with its answer. */
export function call(
  what: 'create' | 'delete' | 'status' | 'labs',
  user: string | undefined,
  answer: CalledAnswer,
  more: { readonly key?: string; readonly after?: number } = {},
): Entry[] {
  const { atMs = 100, value, status, type = status === undefined ? 'unknown' : status < 400 ? 'ok' : 'fail' } = answer
  calls += 1
  const about = { by: user ?? 'admin', url: 'http://one', ...(user !== undefined && { user }), ...more }
  return [
    { type: 'invoke', id: calls, what, ...about, wallMs: atMs, atMs },
    {
      type,
      id: calls,
      ...(status !== undefined && { status }),
      ...(value && { value }),
      wallMs: atMs + 10,
      atMs: atMs + 10,
    },
  ]
}

export function transcript(
  user: string,
  events: readonly Partial<StreamEvent>[],
  more: Partial<Transcript> = {},
): Transcript {
  return {
    type: 'stream',
    user,
    url: 'http://one',
    status: 200,
    events: events.map(event => ({ wallMs: 300, ...event })) as Transcript['events'],
    end: 'closed',
    wallMs: 120,
    atMs: 120,
    ...more,
  }
}

/** A request to the API server by the owner of an operation, or by somebody else. */
export function request(
  verb: string,
  path: string,
  op: number | undefined,
  atMs: number,
  more: Partial<AuditedRequest> = {},
): AuditedRequest {
  const [namespace = '', resource = '', name = ''] = path.split('/')
  return {
    verb,
    resource,
    subresource: '',
    namespace,
    name,
    code: verb === 'create' ? 201 : 200,
    message: '',
    sender: 'system:serviceaccount:skylab:skylab',
    userAgent: 'skylab/0',
    op,
    claim: op === undefined ? undefined : 1,
    replica: op === undefined ? undefined : 'replica-1',
    dryRun: false,
    receivedAtMs: atMs,
    completedAtMs: atMs + 1,
    ...more,
  }
}

const namespace = (name: string) => `${name}/namespaces/${name}`

const audit: readonly AuditedRequest[] = [
  request('create', namespace('lab-ada'), opOfAda, 110),
  request('create', 'lab-ada/secrets/nb-ada', opOfAda, 120),
  request('create', 'lab-ada/pods/nb-ada', opOfAda, 130),
  request('create', namespace('lab-bob'), opOfBob, 110),
  request('create', 'lab-bob/pods/nb-bob', opOfBob, 130),
  request('delete', 'lab-bob/pods/nb-bob', deletionOfBob, 410),
  request('delete', namespace('lab-bob'), deletionOfBob, 420),
]

export const line = (msg: string, user: string, op: number, atMs: number, more: Partial<LogLine> = {}): LogLine => ({
  msg,
  replica: 'replica-1',
  atMs,
  user,
  op,
  ...more,
})

const logs: readonly LogLine[] = [
  { msg: 'ready', replica: 'replica-1', atMs: 1 },
  { msg: 'ready', replica: 'replica-2', atMs: 2 },
  line('operation accepted', ada, opOfAda, 105, { kind: 'create' }),
  line('operation accepted', bob, opOfBob, 105, { kind: 'create' }),
  line('step', ada, opOfAda, 131, { result: 'done' }),
  line('operation ended', ada, opOfAda, 200, { kind: 'create', result: 'complete' }),
  line('operation ended', bob, opOfBob, 200, { kind: 'create', result: 'complete' }),
  line('operation accepted', bob, deletionOfBob, 405, { kind: 'delete' }),
  line('operation ended', bob, deletionOfBob, 500, { kind: 'delete', result: 'complete' }),
]

export const object = (kind: string, name: string, more: Partial<ClusterObject> = {}): ClusterObject => ({
  kind,
  name,
  namespace: 'lab-ada',
  uid: `uid-of-${name}`,
  op: opOfAda,
  owner: uidOfNamespace,
  terminating: false,
  user: undefined,
  ...more,
})

export const cluster: readonly ClusterObject[] = [
  object('Namespace', 'lab-ada', { uid: uidOfNamespace, owner: undefined, user: ada }),
  object('Secret', 'nb-ada'),
  object('Pod', 'nb-ada', { uid: uidOfPod }),
]

const stream = (events: readonly StreamEvent[], ttlMs = -1): RedisKey => ({ type: 'stream', ttlMs, value: { events } })

export const recordOfAda = {
  op: String(opOfAda),
  kind: 'create',
  status: 'running',
  active: '0',
  pod: '1',
  nsUid: uidOfNamespace,
  podUid: uidOfPod,
}

export const key = (name: string) => `${tag}${name}`
export const text = (ttlMs: number): RedisKey => ({ type: 'string', ttlMs, value: {} })

const redis: Readonly<Record<string, RedisKey>> = {
  [key('last')]: text(-1),
  [key('generation')]: { type: 'hash', ttlMs: -1, value: { fields: { identity: 'x', found: '0' } } },
  [key('bell')]: stream([], 86_000_000),
  [key('index')]: { type: 'zset', ttlMs: -1, value: { members: { [ada]: 2 } } },
  [key('lab:ada')]: { type: 'hash', ttlMs: -1, value: { fields: recordOfAda } },
  [key('events:ada')]: stream(streamOf(ada, opOfAda, 'creation')),
  [key('events:bob')]: stream(
    [...streamOf(bob, opOfBob, 'creation'), ...streamOf(bob, deletionOfBob, 'deletion')],
    599_000,
  ),
  [key('tombstone:bob')]: text(599_000),
  [key('nonce:1')]: text(599_000),
}

export const ready = { status: 'running', present: true, hasUrl: true, op: opOfAda, seq: 4 } as const

export const answers = (replica: string): Answers => ({
  replica,
  list: { status: 200, names: [ada] },
  labs: { [ada]: { status: 200, lab: ready }, [bob]: { status: 404 } },
})

const history: readonly Entry[] = [
  ...call('create', ada, { status: 303 }),
  ...call('create', bob, { status: 303 }),
  ...call('create', ada, { status: 409, atMs: 150 }),
  transcript(ada, streamOf(ada, opOfAda, 'creation')),
  transcript(ada, streamOf(ada, opOfAda, 'creation').slice(2), { lastEventId: `${opOfAda}-2`, url: 'http://two' }),
  ...call('status', ada, { status: 200, value: { lab: ready }, atMs: 301 }, { after: opOfAda }),
  ...call('labs', undefined, { status: 200, value: { names: [ada, bob] }, atMs: 301 }, { after: opOfAda }),
  ...call('delete', bob, { status: 202, atMs: 400 }),
  transcript(bob, streamOf(bob, deletionOfBob, 'deletion')),
  ...call('status', bob, { status: 404, atMs: 501 }, { after: deletionOfBob }),
  ...call('labs', undefined, { status: 200, value: { names: [ada] }, atMs: 501 }, { after: deletionOfBob }),
]

const gauges = { files: 20, redis: 3, outgoing: 5, serving: 2, heapMb: 30 }

/** The evidence of two users: one has a lab, the other had one. */
export const good: Evidence = {
  terms: {
    installation: 'tests',
    namespacePrefix: 'lab',
    keyPrefix: 'skylab',
    ttlMs: 3000,
    scanMs: 300,
    spawnMs: 600_000,
    deleteMs: 180_000,
  },
  expects: {},
  history,
  audit,
  watches: [{ replica: 'replica-1', resource: 'pods', count: 1 }],
  logs,
  marks: [],
  cluster,
  redis: new Map(Object.entries(redis)),
  answers: [answers('replica-1'), answers('replica-2')],
  usage: [{ replica: 'replica-1', before: gauges, after: { ...gauges, files: 22, outgoing: 40, heapMb: 40 } }],
  restless: [],
}

/** The sound evidence with other keys in Redis; undefined removes a key. */
export function withKeys(changes: Readonly<Record<string, RedisKey | undefined>>): Evidence {
  const changed = { ...redis, ...changes }
  const kept = Object.entries(changed).filter((entry): entry is [string, RedisKey] => entry[1] !== undefined)
  return { ...good, redis: new Map(kept) }
}

export const withRecord = (fields: object): Evidence =>
  withKeys({ [key('lab:ada')]: { type: 'hash', ttlMs: -1, value: { fields: { ...recordOfAda, ...fields } } } })

export const withStream = (events: readonly StreamEvent[]): Evidence =>
  withKeys({ [key('events:ada')]: stream(events) })
