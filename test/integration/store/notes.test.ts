/** Notes of what the audit log must tell: left by the script that did it, once, and given to one replica at a time. */
import { expect, test } from 'vitest'
import { formatNote, NoteStore } from '../../../src/store/notes.ts'
import { creation, deletion, useStore } from '../../kit/store/store.ts'

const store = useStore()
const by = JSON.stringify({ user: 'ada lovelace\n"', actor: { kind: 'user', name: 'ä{}' } })
const other = JSON.stringify({ user: 'ada', actor: { kind: 'administrator', name: 'admin' } })

const notes = () => new NoteStore(store().connection, store().keys)
const left = () => store().redis.zrange(store().keys.audit, '0', '-1')
/** As when the time of their replicas has passed. */
const overdue = async () => {
  for (const note of await left()) await store().redis.zadd(store().keys.audit, 'XX', 0, note)
}

test('an acceptance leaves a note in the same step, once, and who owns the operation learns who asked', async () => {
  const asked = creation('ada', { by })
  const first = await store().labs.acceptCreate(asked)
  expect(await store().labs.acceptCreate(asked)).toEqual(first)
  const { op } = first as { op: number }
  expect(await left()).toEqual([formatNote({ op, kind: 'create', result: 'accepted', by })])
  expect((await store().own('ada')).claim.record).toMatchObject({ op, by })
  expect(await store().redis.pttl(store().keys.audit)).toBeGreaterThan(0)
})

test('an end leaves a note once, however often it is sent, and the record forgets who asked', async () => {
  await store().create('ada', { by })
  const { by: owner } = await store().own('ada')
  const note = { kind: 'create', result: 'succeeded', by } as const
  for (let i = 0; i < 2; i++) await store().owners.finish(owner, 1, [['complete', 'up']], 'running', {}, note)
  expect((await left()).sort()).toEqual(
    [
      formatNote({ op: owner.op, ...note }),
      formatNote({ op: owner.op, kind: 'create', result: 'accepted', by }),
    ].sort(),
  )
  expect(await store().redis.hexists(store().keys.record('ada'), 'by')).toBe(0)
})

test('an end that is fenced leaves none', async () => {
  await store().create('ada')
  const { by: owner } = await store().own('ada')
  const note = { kind: 'create', result: 'succeeded', by } as const
  const stale = { ...owner, token: 'stale' }
  await expect(store().owners.finish(stale, 1, [], 'running', {}, note)).rejects.toThrow('moved on')
  expect(await left()).toEqual([])
})

test('a deletion leaves one of its own, and one of the creation that it ends, with who asked for that', async () => {
  const op = await store().create('ada', { by })
  const accepted = await store().labs.acceptDelete(deletion('ada', { by: other }))
  expect(accepted!.superseded).toMatchObject({ op, by })
  expect(new Set(await left())).toEqual(
    new Set([
      formatNote({ op, kind: 'create', result: 'accepted', by }),
      formatNote({ op, kind: 'create', result: 'superseded', by }),
      formatNote({ op: accepted!.op, kind: 'delete', result: 'accepted', by: other }),
    ]),
  )
  expect((await store().own('ada')).claim.record.by).toBe(other)
})

test('nothing is left, and nothing kept, where no audit log is written', async () => {
  await store().create('ada')
  const { by: owner, claim } = await store().own('ada')
  expect(claim.record.by).toBeUndefined()
  await store().owners.finish(owner, 1, [['complete', 'up']], 'running', {})
  await store().labs.acceptDelete(deletion('ada'))
  expect(await left()).toEqual([])
})

test('what a release without the field leaves there is never taken for who asked', async () => {
  const op = await store().create('ada', { by })
  // A deletion by such a release writes its own op, and lets this field stand.
  await store().redis.hset(store().keys.record('ada'), 'op', op + 1)
  expect((await store().own('ada')).claim.record.by).toBeUndefined()
})

test('notes are given when they are due, to one replica at a time, until they are dropped', async () => {
  const op = await store().create('ada', { by })
  expect(await notes().take(10)).toEqual([])
  await overdue()
  const note = { op, kind: 'create', result: 'accepted', by } as const
  expect(await notes().take(10)).toEqual([note])
  expect(await notes().take(10)).toEqual([])
  // Whoever took it died: the next one gets it later.
  await overdue()
  expect(await notes().take(10)).toEqual([note])
  await notes().drop([formatNote(note)])
  await overdue()
  expect(await notes().take(10)).toEqual([])
})

test('a lab that ended by itself leaves a note that is due at once', async () => {
  await store().run('ada')
  const word = { user: 'ada', podUid: 'pod-uid', outcome: 'ended', detail: '', timeoutMs: 1000, by } as const
  await store().compares.tellPod({ ...word, events: [['info', 'shut down']] })
  expect(await notes().take(10)).toMatchObject([{ kind: 'delete', result: 'accepted', by }])
})
