/** What is due by the clock, and who has a place when. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RetryLater } from '../base/errors.ts'
import { type AnyKind, holding, looksOf } from './testing/kinds.ts'
import { Toys } from './testing/toys.ts'

let toys: Toys
beforeEach(() => {
  toys = new Toys()
})
afterEach(() => toys.stop())

const subjects = (name: string) => JSON.stringify(toys.get('RoleBinding', `g-${name}`)?.subjects ?? [])

describe('Reconciler and time', () => {
  test('looks once at what is due, in time, and does not look again and again', async () => {
    const counted = { looks: 0 }
    const dueMs = toys.clock.wallMs() + 90_000
    const change = (kind: AnyKind) => looksOf(counted)(holding(() => ({ dueMs }))(kind))
    toys.replica({ change: change as never })
    toys.put('one')
    await toys.pass(500)
    counted.looks = 0
    await toys.pass(89_000)
    const before = counted.looks
    await toys.pass(1_000)
    const after = counted.looks - before
    await toys.pass(60_000)
    expect([before, after, counted.looks - before]).toEqual([1, 1, 1])
  })

  test('notices within a minute that the wall clock was stepped', async () => {
    const change = holding(nowMs => (nowMs < 1e9 ? { dueMs: 1e9 } : { objects: [] }))
    toys.replica({ change: change as never })
    toys.put('one')
    await toys.pass(500)
    expect(toys.names('RoleBinding')).toEqual(['g-one'])
    toys.clock.stepWall(1e9)
    await toys.pass(60_500)
    expect(toys.names('RoleBinding')).toEqual([])
  })

  test('has a place for what is not urgent, however little room there is', async () => {
    toys.replica({ room: 1 })
    toys.put('one')
    await toys.pass(1_000)
    expect(toys.phase('one')).toBe('Ready')
  })

  test('keeps places for what is urgent while all else hangs', async () => {
    toys.replica({ room: 4 })
    toys.put('old', { members: ['ada', 'eve'] })
    await toys.pass(500)
    const answered = Promise.withResolvers<void>()
    toys.api.onWrite = (_verb, { kind }) => (kind === 'Service' ? answered.promise : undefined)
    for (let i = 0; i < 10; i += 1) toys.put(`g${i}`)
    await toys.pass(200)
    toys.put('old', { members: ['ada'] })
    await toys.pass(200)
    expect(subjects('old')).not.toContain('eve')
    answered.resolve()
    await toys.pass(1_000)
  })

  test('looks at what others made, while one person edits parents again and again', async () => {
    const shareOf = (key: string) => /^n\/(\w+)-/.exec(key)?.[1] ?? key
    toys.replica({ room: 4, change: ((kind: AnyKind) => ({ ...kind, shareOf })) as never })
    for (let i = 0; i < 60; i += 1) toys.put(`mallory-${i}`)
    await toys.pass(8_000)
    toys.api.onWrite = () => toys.clock.sleep(20)
    toys.put('ada-0')
    for (let ms = 0; ms < 1_000; ms += 10) {
      for (let i = 0; i < 3; i += 1) toys.put(`mallory-${(3 * (ms / 10) + i) % 60}`, { image: `app:${ms}` })
      await toys.pass(10)
    }
    expect(toys.phase('ada-0')).toBe('Ready')
    toys.api.onWrite = () => {}
    await toys.pass(100)
  })

  test('pauses after turns that took too long', async () => {
    toys.replica()
    let writes = 0
    toys.api.onWrite = (_verb, { kind }) => {
      if (kind !== 'Service') return
      writes += 1
      toys.clock.advance(7_000)
      toys.api.objects.delete('v1 Service n/g-one')
      throw new RetryLater('no answer')
    }
    toys.put('one')
    await toys.pass(60_000)
    expect(writes).toBeLessThan(10)
  })
})
