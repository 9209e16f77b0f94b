import { expect, test } from 'vitest'
import { systemClock } from './clock.ts'

test('sleep never resolves early', async () => {
  const early = async () => {
    const begunMs = systemClock.monotonicMs()
    await systemClock.sleep(20)
    return systemClock.monotonicMs() - begunMs < 20
  }
  const sleeps = await Promise.all(Array.from({ length: 200 }, (_, i) => systemClock.sleep(i % 40).then(early)))
  expect(sleeps.filter(Boolean)).toEqual([])
})

test('sleep rejects at once with the reason when its signal is aborted', async () => {
  const controller = new AbortController()
  const sleeping = systemClock.sleep(60_000, controller.signal)
  controller.abort(new Error('enough'))
  await expect(sleeping).rejects.toThrow('enough')
  await expect(systemClock.sleep(60_000, controller.signal)).rejects.toThrow('enough')
})

test('after rings once its time has passed, and never when it is cancelled', async () => {
  const begunMs = systemClock.monotonicMs()
  let cancelled = 'never rang'
  const cancel = systemClock.after(20, () => {
    cancelled = 'rang'
  })
  cancel()
  await new Promise<void>(resolve => systemClock.after(40, resolve))
  expect(systemClock.monotonicMs() - begunMs).toBeGreaterThanOrEqual(40)
  expect(cancelled).toBe('never rang')
})

test('sleep waits for a month, which is longer than a timer can', async () => {
  const controller = new AbortController()
  const month = systemClock.sleep(31 * 86_400_000, controller.signal).then(
    () => 'woken',
    () => 'aborted',
  )
  await systemClock.sleep(20)
  controller.abort()
  expect(await month).toBe('aborted')
})
