/** Notes for the audit log: each is written by the script that acts, once, and given to one replica at a time. */
import { expect, test } from 'vitest'
import { formatNote, NoteStore } from '../../../src/store/notes.ts'
import { creation, deletion, useStore } from '../../kit/store/store.ts'

const store = useStore()
const by = JSON.stringify({ user: 'ada lovelace\n"', actor: { kind: 'user', name: 'ä{}' } })
const other = JSON.stringify({ user: 'ada', actor: { kind: 'administrator', name: 'admin' } })

const notes = () => new NoteStore(store().connection, store().keys)
const left = () => store().redis.zrange(store().keys.audit, '0', '-1')
/** Simulates that the time of their replicas has passed. */
const overdue = async () => {
  for (const note of await left()) await store().redis.zadd(store().keys.audit, 'XX', 0, note)
}

test('an acceptance writes a note in the same step, once, and the owner of the operation learns the caller', async () => {
  const asked = creation('ada', { by })
  const first = await store().labs.acceptCreate(asked)
  expect(await store().labs.acceptCreate(asked)).toEqual(first)
  const { op } = first as { op: number }
  expect(await left()).toEqual([formatNote({ op, kind: 'create', result: 'accepted', by })])
  expect((await store().own('ada')).claim.record).toMatchObject({ op, by })
  expect(await store().redis.pttl(store().keys.audit)).toBeGreaterThan(0)
})

test('an end writes a note once, however often it is sent, and the record drops the caller', async () => {
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

test('a fenced end writes no note', async () => {
  await store().create('ada')
  const { by: owner } = await store().own('ada')
  const note = { kind: 'create', result: 'succeeded', by } as const
  const stale = { ...owner, token: 'stale' }
  await expect(store().owners.finish(stale, 1, [], 'running', {}, note)).rejects.toThrow('moved on')
  expect(await left()).toEqual([])
})

test('a deletion writes its own note, and one with the first caller for the creation that it ends', async () => {
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

test('nothing is stored when no audit log is written', async () => {
  await store().create('ada')
  const { by: owner, claim } = await store().own('ada')
  expect(claim.record.by).toBeUndefined()
  await store().owners.finish(owner, 1, [['complete', 'up']], 'running', {})
  await store().labs.acceptDelete(deletion('ada'))
  expect(await left()).toEqual([])
})

test('a value left by a release without the field is never taken for the caller', async () => {
  const op = await store().create('ada', { by })
  // A deletion by such a release writes its own op, and does not remove this field.
  await store().redis.hset(store().keys.record('ada'), 'op', op + 1)
  expect((await store().own('ada')).claim.record.by).toBeUndefined()
})

test('due notes are given to one replica at a time, until they are dropped', async () => {
  const op = await store().create('ada', { by })
  expect(await notes().take(10)).toEqual([])
  await overdue()
  const note = { op, kind: 'create', result: 'accepted', by } as const
  expect(await notes().take(10)).toEqual([note])
  expect(await notes().take(10)).toEqual([])
  // The replica that took it has died: the next one gets it later.
  await overdue()
  expect(await notes().take(10)).toEqual([note])
  await notes().drop([formatNote(note)])
  await overdue()
  expect(await notes().take(10)).toEqual([])
})

test('a lab that ended by itself writes a note that is due at once', async () => {
  await store().run('ada')
  const finding = { user: 'ada', podUid: 'pod-uid', outcome: 'ended', detail: '', timeoutMs: 1000, by } as const
  await store().compares.settlePod({ ...finding, events: [['info', 'shut down']] })
  expect(await notes().take(10)).toMatchObject([{ kind: 'delete', result: 'accepted', by }])
})
