/** What workloads use of processors, judged by the rule of their last check. */
import { expect, test } from 'vitest'
import { UsageStore } from '../../../src/store/usage.ts'
import { activity, hourMs, podUid, useIdle } from '../../kit/store/idle.ts'

const idle = useIdle()
const limits = { jobs: 200 }

function judge(id: string, millicores: number, more: { podUid?: string; agoMs?: number } = {}) {
  const { connection, keys } = idle().store
  return new UsageStore(connection, keys).judge('app', [{ id, podUid, millicores, agoMs: 0, ...more }], limits)
}

/** A workload that was last active two hours ago, and checked by this rule. */
async function idleApp(id: string, rule = 'jobs') {
  await idle().due.enrol('app', [id], 0)
  const now = await idle().nowMs()
  const finding = { state: 'idle' as const, rule, eligibleMs: 0 }
  await idle().check('app', id, { activity: activity({ lastMs: now, warnedMs: now }), finding })
  await idle().pass('app', id, 2 * hourMs)
}
const read = (id: string) => idle().activity.read('app', id, podUid)

test('one that uses more than the limit was active when it was measured', async () => {
  await idleApp('a')
  const before = await read('a')
  expect(before.cpu).toBeUndefined()
  expect(await judge('a', 201, { agoMs: 5000 })).toEqual({ judged: 1, busy: 1 })
  const { activity: known, cpu, nowMs, touches } = await read('a')
  expect(known).toMatchObject({ source: 'cpu', lastMs: cpu!.atMs })
  expect(cpu!.rule).toBe('jobs')
  expect(nowMs - cpu!.atMs).toBeGreaterThanOrEqual(5000)
  expect(touches).toBe(before.touches + 1)
})

test('one that uses no more is only measured', async () => {
  await idleApp('a')
  const { activity: known, touches } = await read('a')
  expect(await judge('a', 200)).toEqual({ judged: 1, busy: 0 })
  expect(await read('a')).toMatchObject({ activity: known!, touches, cpu: { rule: 'jobs' } })
})

test('a stop that was decided before is refused', async () => {
  await idleApp('a')
  const { score } = await idle().take('app', 'a')
  const ask = { kind: 'app' as const, ...idle().ask('a', score, await read('a')) }
  await judge('a', 201, { agoMs: 5000 })
  expect(await idle().activity.requestStop(ask)).toBe('changed')
})

test('nothing is noted of another incarnation, another rule, and what was never checked', async () => {
  await idleApp('a')
  await idleApp('b', 'others')
  expect(await judge('a', 1000, { podUid: 'former' })).toEqual({ judged: 0, busy: 0 })
  expect(await judge('b', 1000)).toEqual({ judged: 0, busy: 0 })
  expect(await judge('c', 1000)).toEqual({ judged: 0, busy: 0 })
  expect(await idle().known('app', 'c')).toEqual({})
  for (const id of ['a', 'b']) expect(await read(id)).toMatchObject({ touches: 0, cpu: undefined })
})

test('a former measurement does not move a later use back', async () => {
  await idleApp('a')
  await idle().touches.touch('app', { id: 'a', ageMs: 0 }, 'push')
  const { touched } = await idle().known('app', 'a')
  await judge('a', 1000, { agoMs: 60_000 })
  expect(await idle().known('app', 'a')).toMatchObject({ touched, touchedBy: 'push', touches: '2' })
})

test('the next incarnation is not measured yet', async () => {
  await idleApp('a')
  await judge('a', 1)
  await idle().check('app', 'a', { activity: activity({ podUid: 'next' }) })
  expect((await idle().activity.read('app', 'a', 'next')).cpu).toBeUndefined()
})
