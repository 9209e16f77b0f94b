/** Looks that are due by the clock, and places for keys. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RetryLater } from '../base/errors.ts'
import { type AnyKind, holding, looksOf } from './testing/kinds.ts'
import { Samples } from './testing/samples.ts'

let samples: Samples
beforeEach(() => {
  samples = new Samples()
})
afterEach(() => samples.stop())

const subjects = (name: string) => JSON.stringify(samples.get('RoleBinding', `s-${name}`)?.subjects ?? [])

describe('Reconciler and time', () => {
  test('looks once at what is due, in time, and does not look again and again', async () => {
    const counted = { looks: 0 }
    const dueMs = samples.clock.wallMs() + 90_000
    const change = (kind: AnyKind) => looksOf(counted)(holding(() => ({ dueMs }))(kind))
    samples.replica({ change: change as never })
    samples.put('one')
    await samples.pass(500)
    counted.looks = 0
    await samples.pass(89_000)
    const before = counted.looks
    await samples.pass(1_000)
    const after = counted.looks - before
    await samples.pass(60_000)
    expect([before, after, counted.looks - before]).toEqual([1, 1, 1])
  })

  test('notices within a minute that the wall clock was stepped', async () => {
    const change = holding(nowMs => (nowMs < 1e9 ? { dueMs: 1e9 } : { objects: [] }))
    samples.replica({ change: change as never })
    samples.put('one')
    await samples.pass(500)
    expect(samples.names('RoleBinding')).toEqual(['s-one'])
    samples.clock.stepWall(1e9)
    await samples.pass(60_500)
    expect(samples.names('RoleBinding')).toEqual([])
  })

  test('has a place for what is not urgent, however little room there is', async () => {
    samples.replica({ room: 1 })
    samples.put('one')
    await samples.pass(1_000)
    expect(samples.phase('one')).toBe('Ready')
  })

  test('hardly delays other shares when one hangs while the server is busy', async () => {
    const shares = (kind: AnyKind) => ({ ...kind, shareOf: (key: string) => /^n\/(\w+)-/.exec(key)![1]! })
    samples.replica({ room: 16, change: shares as never })
    for (let i = 0; i < 40; i += 1) samples.put(`quick${i}-0`)
    await samples.pass(2_000)
    let ms = 20
    samples.api.onWrite = async (_verb, { kind, name }) => {
      const hangs = kind === 'RoleBinding' && name.includes('hanging')
      await samples.clock.sleep(hangs ? 6_000 : ms)
      if (hangs) throw new RetryLater('the webhook does not answer')
    }
    for (let i = 0; i < 20; i += 1) samples.put(`hanging-${i}`)
    await samples.pass(20_000)
    ms = 400
    for (let i = 0; i < 100; i += 1) samples.put(`user${i}-0`)
    const ready = () => samples.names('RoleBinding').filter(name => name.includes('user')).length
    let passedMs = 0
    for (; ready() < 100 && passedMs < 300_000; passedMs += 1_000) await samples.pass(1_000)
    samples.api.onWrite = () => {}
    await samples.pass(6_000)
    // If a share's groups had turns beside all other shares, it would take 220 s.
    expect(passedMs).toBeLessThan(80_000)
  })

  test('writes fewer keys at once while the server is busy, and all of them in the end', async () => {
    const shares = (kind: AnyKind) => ({ ...kind, shareOf: (key: string) => key })
    samples.replica({ room: 32, change: shares as never })
    for (let i = 0; i < 40; i += 1) samples.put(`quick-${i}`)
    await samples.pass(5_000)
    const [before, after] = [new Set<string>(), new Set<string>()]
    let open = before
    samples.api.onWrite = async (_verb, { name }) => {
      open.add(name)
      await samples.clock.sleep(400)
      open.delete(name)
    }
    for (let i = 0; i < 200; i += 1) samples.put(`slow-${i}`)
    await samples.pass(300)
    const most = before.size
    await samples.pass(10_000)
    open = after
    await samples.pass(400)
    expect([most > 20, after.size < most / 2]).toEqual([true, true])
    await samples.pass(100_000)
    expect(samples.names('RoleBinding')).toHaveLength(240)
  })

  test('ends what it has begun while there is much that is new', async () => {
    samples.replica({ room: 4 })
    samples.api.onWrite = () => samples.clock.sleep(20)
    samples.put('begun')
    await samples.pass(500)
    for (let i = 0; i < 100; i += 1) samples.put(`new-${i}`)
    await samples.pass(100)
    samples.api.remove({ apiVersion: 'v1', kind: 'Service', namespace: 'n', name: 's-begun' })
    await samples.pass(500)
    const made = samples.names('Service')
    samples.api.onWrite = () => {}
    await samples.pass(1_000)
    expect([made.includes('s-begun'), made.length < 50]).toEqual([true, true])
  })

  test('keeps places for what is urgent while all else hangs', async () => {
    samples.replica({ room: 4 })
    samples.put('old', { members: ['ada', 'eve'] })
    await samples.pass(500)
    const answered = Promise.withResolvers<void>()
    samples.api.onWrite = (_verb, { kind }) => (kind === 'Service' ? answered.promise : undefined)
    for (let i = 0; i < 10; i += 1) samples.put(`s${i}`)
    await samples.pass(200)
    samples.put('old', { members: ['ada'] })
    await samples.pass(200)
    expect(subjects('old')).not.toContain('eve')
    answered.resolve()
    await samples.pass(1_000)
  })

  test('looks at what others made, while one person edits parents again and again', async () => {
    const shareOf = (key: string) => /^n\/(\w+)-/.exec(key)?.[1] ?? key
    samples.replica({ room: 4, change: ((kind: AnyKind) => ({ ...kind, shareOf })) as never })
    for (let i = 0; i < 60; i += 1) samples.put(`mallory-${i}`)
    await samples.pass(8_000)
    samples.api.onWrite = () => samples.clock.sleep(20)
    samples.put('ada-0')
    for (let ms = 0; ms < 1_000; ms += 10) {
      for (let i = 0; i < 3; i += 1) samples.put(`mallory-${(3 * (ms / 10) + i) % 60}`, { image: `app:${ms}` })
      await samples.pass(10)
    }
    expect(samples.phase('ada-0')).toBe('Ready')
    samples.api.onWrite = () => {}
    await samples.pass(100)
  })

  test('pauses after turns that took too long', async () => {
    samples.replica()
    let writes = 0
    samples.api.onWrite = (_verb, { kind }) => {
      if (kind !== 'Service') return
      writes += 1
      samples.clock.advance(7_000)
      samples.api.objects.delete('v1 Service n/s-one')
      throw new RetryLater('no answer')
    }
    samples.put('one')
    await samples.pass(60_000)
    expect(writes).toBeLessThan(10)
  })
})
