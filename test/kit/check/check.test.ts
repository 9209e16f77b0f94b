/** Histories made by hand break every invariant, and the checker reports each; sound histories pass. */
import { expect, test } from 'vitest'
import type { Evidence, LogLine } from '../evidence/evidence.ts'
import { check } from './check.ts'
import {
  answers,
  call,
  cluster,
  deletionOfBob,
  good,
  key,
  line,
  object,
  opOfAda,
  opOfBob,
  ready,
  request,
  streamOf,
  text,
  transcript,
  withKeys,
  withRecord,
  withStream,
} from './sound-history.ts'

const plus = {
  history: (...entries: Evidence['history']) => ({ ...good, history: [...good.history, ...entries] }),
  audit: (...requests: Evidence['audit']) => ({
    ...good,
    audit: [...good.audit, ...requests].sort((a, b) => a.completedAtMs - b.completedAtMs),
  }),
  logs: (...lines: LogLine[]) => ({ ...good, logs: [...good.logs, ...lines].sort((a, b) => a.atMs - b.atMs) }),
  cluster: (...objects: Evidence['cluster']) => ({ ...good, cluster: [...good.cluster, ...objects] }),
}

const stream = streamOf('ada', opOfAda, 'creation')
const killed = { type: 'strike', what: 'SIGKILL', replica: 'replica-1', pid: 1, wallMs: 140, atMs: 140 } as const
const resumed = (atMs: number) => line('operation resumed', 'ada', opOfAda, atMs, { replica: 'replica-2' })
const taken = (atMs: number): Evidence => ({ ...plus.logs(resumed(atMs)), history: [...good.history, killed] })
const lost = (evidence: Evidence): Evidence => ({ ...evidence, expects: { redisLoss: true } })
const [usage] = good.usage

test('check finds no violation in a sound history', () => {
  expect(check(good)).toEqual([])
})

test.each<[string, Evidence]>([
  ['debris that was removed before the newer pod was made', plus.audit(stray(115), unstray(125))],
  ['a write that was refused', plus.audit({ ...stray(115), code: 403 })],
  [
    'a stream that has expired, when the test says that streams do',
    { ...withKeys({ [key('events:bob')]: undefined }), expects: { streamsExpire: true } },
  ],
  ['a write that was only tried', plus.audit({ ...stray(115), dryRun: true })],
  ['a take-over in time', taken(4000)],
  ['a take-over that another one was struck in', struckAmid(taken(6000), 3200)],
  ['a pod of the same name after the first was deleted', again()],
  ['a namespace that its former owner makes once more when it is gone', madeLate(1)],
  ['a quota that its operation makes anew', recounted(opOfAda)],
  ['an answer that nobody got, and nothing done', plus.history(...call('create', 'ada', {}))],
  [
    'a replica that says nothing after an end',
    plus.history(...call('status', 'ada', { type: 'unknown' }, { after: opOfAda })),
  ],
  [
    'a lab that failed later',
    withStream([...stream, { id: `${opOfAda}-5`, event: 'error', data: 'crashed' }].slice(0, 4)),
  ],
  [
    'a stream that a compare began anew under its reader',
    lost(plus.history(transcript('ada', [...stream, ...stream.slice(0, 2)]))),
  ],
  [
    'an event without id where Redis lost data',
    lost(plus.history(transcript('bob', [{ event: 'failed', data: 'lost' }]))),
  ],
])('check finds no violation in %s', (_, evidence) => {
  expect(check(evidence)).toEqual([])
})

test.each<[string, Evidence, RegExp]>([
  ['a stale object beside the newer pod', plus.audit(stray(115)), /^I1 .* together with the newer pod/],
  ['a stale object that came later', plus.audit(stray(150), unstray(160)), /^I1 .* together with the newer pod/],
  ['a namespace used twice', plus.audit({ ...stray(115), op: opOfAda + 5 }), /^I1 .* second operation/],
  ['an object of a lower op at rest', plus.cluster(object('Secret', 'nb-old', { op: 7 })), /^I1 Secret nb-old/],
  [
    'an object of another namespace’s',
    plus.cluster(object('Secret', 'nb-old', { owner: 'gone' })),
    /^I1 Secret nb-old/,
  ],
  ['two pods at once', plus.audit(request('create', 'lab-ada/pods/other', opOfAda, 150)), /^I2 lab-ada had two pods/],
  ['two pods at rest', plus.cluster(object('Pod', 'other')), /^I2 2 pods stand in lab-ada/],
  ['no end', withStream(stream.slice(0, 3)), /^I3 .* has 0 ends/],
  ['two ends', withStream([...stream, { id: `${opOfAda}-5`, event: 'failed', data: 'x' }]), /^I3 .* has 2 ends/],
  ['an operation without stream', withKeys({ [key('events:bob')]: undefined }), /^I3 .* has no stream/],
  ['an acceptance that nothing knows of', plus.history(...call('create', 'eve', { status: 303 })), /^I3 of 1 accepted/],
  ['a deletion that nothing knows of', plus.history(...call('delete', 'ada', { status: 202 })), /^I3 of 1 accepted/],
  ['an end that came late', late(), /^I3 .* took/],
  ['a gap in the stream', withStream([stream[0]!, ...stream.slice(2)]), /^I4 stream of ada/],
  ['a repeat in the stream', withStream([stream[0]!, ...stream]), /^I4 stream of ada/],
  [
    'progress that falls',
    withStream(stream.map((each, i) => (i === 2 ? { ...each, data: '3' } : each))),
    /^I4 .* progress fell/,
  ],
  ['an event without data', withStream(stream.map(each => ({ ...each, data: '' }))), /^I4 .* has no data/],
  ['a gap in a transcript', plus.history(transcript('ada', [stream[0]!, stream[2]!])), /^I4 transcript of ada/],
  ['a transcript that begins late', plus.history(transcript('ada', stream.slice(1))), /^I4 .* begins with/],
  [
    'a transcript of another operation',
    plus.history(transcript('ada', stream, { lastEventId: '7-1' })),
    /^I4 .* goes on with/,
  ],
  [
    'an event that the stream has not',
    plus.history(transcript('ada', [{ ...stream[0]!, data: 'x' }])),
    /^I4 ada was told/,
  ],
  ['clients that disagree', disagreeing(), /^I4 bob was told .* before/],
  ['an event without id', plus.history(transcript('ada', [{ event: 'failed', data: 'lost' }])), /^I4 .* without id/],
  ['a fleet that does not rest', { ...good, restless: ['an operation of ada'] }, /^I5 no rest/],
  ['an operation in progress', withRecord({ active: '1' }), /^I5 .* is not over/],
  ['a plan that was kept', withRecord({ plan: 'sealed' }), /^I5 .* still has its plan/],
  ['a lab without its pod', { ...good, cluster: cluster.slice(0, 2) }, /^I5 .* the pod is not there/],
  ['a lab with another pod', withRecord({ podUid: 'other' }), /^I5 .* with the pod other/],
  ['a lab in another namespace', withRecord({ nsUid: 'other' }), /^I5 .* by op .* in other/],
  [
    'an object that vanished',
    { ...good, cluster: cluster.filter(({ kind }) => kind !== 'Secret') },
    /^I5 secrets\/nb-ada of ada was made/,
  ],
  ['a namespace that Redis does not know', orphan(), /^I5 the namespace lab-eve/],
  [
    'an object that stands alone',
    plus.cluster(object('Secret', 'x', { namespace: 'lab-eve' })),
    /^I5 Secret x stands alone/,
  ],
  ['a lease that was left', withKeys({ [key('lease:ada')]: text(900) }), /^I5 Redis has the key .*lease:ada/],
  ['a key that never expires', withKeys({ [key('nonce:2')]: text(-1) }), /^I5 .*nonce:2 has no expiry/],
  ['a key that nobody named', withKeys({ [key('novelty')]: text(5) }), /^I5 Redis has the key .*novelty/],
  ['a foreign key', withKeys({ other: text(5) }), /^I5 Redis has the foreign key other/],
  ['a user who still waits', withKeys({ [key('waiting')]: members({ ada: 1 }) }), /^I5 ada is in .*waiting/],
  ['an index that lies', withKeys({ [key('index')]: members({ ada: 4 }) }), /^I5 ada is running, and 4 in the index/],
  [
    'a user in the index alone',
    withKeys({ [key('index')]: members({ ada: 2, eve: 2 }) }),
    /^I5 eve is in the index alone/,
  ],
  ['a replica that leaves a lab out', said({ list: { status: 200, names: [] } }), /^I5 replica-2 lists/],
  ['a replica that denies a lab', said({ labs: { ada: { status: 404 } } }), /^I5 replica-2 says of ada: 404/],
  ['a replica that invents a lab', said({ labs: { bob: { status: 200, lab: ready } } }), /^I5 replica-2 says of bob/],
  [
    'a replica that is behind',
    said({ labs: { ada: { status: 200, lab: { ...ready, seq: 3 } } } }),
    /^I5 replica-2 says of ada/,
  ],
  ['an op of two users', plus.logs(line('operation ended', 'eve', opOfAda, 200)), /^I6 op .* was given to/],
  [
    'an op of two operations',
    plus.logs(line('operation accepted', 'ada', opOfAda, 900, { kind: 'delete' })),
    /^I6 .* a creation and to a deletion/,
  ],
  [
    'an op given out twice',
    plus.logs(line('operation accepted', 'ada', opOfAda, 900, { kind: 'create' })),
    /^I6 .* given out 2 times/,
  ],
  ['a take-over that came late', taken(140 + 4301), /^I7 .* waited 4301 ms from replica-1 to replica-2/],
  [
    'a take-over that came late after another one was struck in it',
    struckAmid(taken(3200 + 4301), 3200),
    /^I7 .* waited 7361 ms/,
  ],
  ['two take-overs that one and the same was struck in', bothTaken(), /^I7 .* of eve waited/],
  ['a refused request that was carried out', refused(), /^I8 create ada: 1 operations .* asked for 0/],
  [
    'a deletion that nobody asked for',
    plus.logs(line('operation accepted', 'ada', opOfAda + 9, 900, { kind: 'delete' })),
    /^I8 delete ada/,
  ],
  [
    'an object made twice',
    plus.audit(request('create', 'lab-ada/secrets/nb-ada', opOfAda, 140)),
    /^I9 secrets\/nb-ada/,
  ],
  ['a namespace that its owner makes once more when it is gone', madeLate(2), /^I9 namespaces\/lab-bob/],
  ['a quota that is made anew after somebody else removed it', recounted(opOfBob), /^I9 resourcequotas\/nb-ada/],
  ['files left open', using({ files: 40 }), /^I10 replica-1 has 40 open files/],
  ['connections to Redis left open', using({ redis: 5 }), /^I10 replica-1 has 5 connections to Redis/],
  ['other connections left open', using({ outgoing: 90 }), /^I10 replica-1 has 90 other connections/],
  ['memory that was kept', using({ heapMb: 80 }), /^I10 replica-1 has 80 MB of heap/],
  [
    'two watches of one kind',
    { ...good, watches: [{ replica: 'replica-1', resource: 'pods', count: 2 }] },
    /^I10 .* 2 watches/,
  ],
  ['a lab denied after its completion', after('status', { status: 404 }, opOfAda), /^P6 .* answered 404/],
  [
    'a lab not running after it',
    after('status', { status: 200, value: { lab: { ...ready, status: 'pending', hasUrl: false } } }, opOfAda),
    /^P6 .* said pending/,
  ],
  ['a lab left out after it', after('labs', { status: 200, value: { names: [] } }, opOfAda), /^P6 .* left it out/],
  [
    'a lab there after its deletion',
    after('status', { status: 200, value: { lab: { ...ready, op: opOfBob } } }, deletionOfBob),
    /^P6 .* answered 200/,
  ],
  [
    'a lab in the list after it',
    after('labs', { status: 200, value: { names: ['bob'] } }, deletionOfBob),
    /^P6 .* had it in the list/,
  ],
])('check finds %s', (_, evidence, words) => {
  expect(check(evidence)).toContainEqual(expect.stringMatching(words))
})

test('check counts two acceptances as one operation when they share an Idempotency-Key', () => {
  const keyed = call('create', 'ada', { status: 303, atMs: 900 }, { key: 'k' })
  const again = line('operation accepted', 'ada', opOfAda, 900, { kind: 'create' })
  const first = good.history.map(entry => (entry.type === 'invoke' && entry.id === 1 ? { ...entry, key: 'k' } : entry))
  expect(check({ ...plus.logs(again), history: [...first, ...keyed] })).toEqual([])
})

function struckAmid(evidence: Evidence, atMs: number): Evidence {
  return { ...evidence, history: [...evidence.history, { ...killed, replica: 'replica-3', wallMs: atMs, atMs }] }
}

/** One replica was struck, and two operations were resumed late: it can have held only one of them. */
function bothTaken(): Evidence {
  const owned = line('step', 'eve', opOfBob + 9, 139, { replica: 'replica-1' })
  const resumed = line('operation resumed', 'eve', opOfBob + 9, 6000, { replica: 'replica-2' })
  const evidence = struckAmid(taken(6000), 3200)
  return { ...evidence, logs: [...evidence.logs, owned, resumed] }
}

/** An older operation's Secret in the namespace of a newer one. */
function stray(atMs: number) {
  return request('create', 'lab-ada/secrets/nb-ada-env', opOfAda - 5, atMs)
}

function unstray(atMs: number) {
  return request('delete', 'lab-ada/secrets/nb-ada-env', undefined, atMs, { sender: 'garbage collector' })
}

function again(): Evidence {
  return plus.audit(
    request('create', 'lab-bob/namespaces/lab-bob', opOfBob - 9, 10),
    request('create', 'lab-bob/pods/nb-bob', opOfBob - 9, 20),
    request('delete', 'lab-bob/pods/nb-bob', opOfBob, 30),
  )
}

/** The second owner made the namespace. After its deletion the owner with this claim made it again. */
function madeLate(claim: number): Evidence {
  const path = 'lab-bob/namespaces/lab-bob'
  return plus.audit(
    request('create', path, opOfBob - 9, 10, { claim: 2 }),
    request('delete', path, opOfBob - 8, 20),
    request('create', path, opOfBob - 9, 30, { claim }),
    request('delete', path, undefined, 40),
  )
}

/** Ada's quota is removed by this operation, and made a second time by hers. */
function recounted(op: number): Evidence {
  const path = 'lab-ada/resourcequotas/nb-ada'
  const { audit } = plus.audit(
    request('create', path, opOfAda, 112),
    request('delete', path, op, 114),
    request('create', path, opOfAda, 116),
  )
  return { ...plus.cluster(object('ResourceQuota', 'nb-ada')), audit }
}

/** Accepted long before its end. */
function late(): Evidence {
  const logs = good.logs.map(each => (each.msg === 'operation accepted' ? { ...each, atMs: each.atMs - 5000 } : each))
  return { ...good, terms: { ...good.terms, spawnMs: 50, ttlMs: 10, scanMs: 10 }, logs }
}

function disagreeing(): Evidence {
  const [first, ...rest] = streamOf('bob', opOfBob, 'creation')
  const other = [{ ...first!, data: 'something else' }, ...rest]
  return plus.history(transcript('bob', [first!, ...rest]), transcript('bob', other))
}

function orphan(): Evidence {
  const eve = { namespace: 'lab-eve', user: 'eve', owner: undefined }
  return plus.cluster(object('Namespace', 'lab-eve', eve))
}

function members(of: Readonly<Record<string, number>>) {
  return { type: 'zset', ttlMs: -1, value: { members: of } }
}

function said(otherwise: Partial<ReturnType<typeof answers>>): Evidence {
  const usual = answers('replica-2')
  const labs = { ...usual.labs, ...otherwise.labs }
  return { ...good, answers: [answers('replica-1'), { ...usual, ...otherwise, labs }] }
}

function refused(): Evidence {
  const history = good.history.map(entry => {
    if (entry.type !== 'ok' || entry.status !== 303 || entry.id !== 1) return entry
    return { ...entry, type: 'fail' as const, status: 409 }
  })
  return { ...good, history }
}

function using(more: Partial<Evidence['usage'][number]['after']>): Evidence {
  return { ...good, usage: [{ ...usage!, after: { ...usage!.before, ...more } }] }
}

function after(what: 'status' | 'labs', answer: Parameters<typeof call>[2], op: number): Evidence {
  const user = op === opOfAda ? 'ada' : 'bob'
  return plus.history(...call(what, what === 'labs' ? undefined : user, { atMs: 600, ...answer }, { after: op }))
}
