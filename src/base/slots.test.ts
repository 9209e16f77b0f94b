import { expect, test } from 'vitest'
import { Slots } from './slots.ts'

test('as many as there are, then in the order of asking', async () => {
  const slots = new Slots(2)
  const order: string[] = []
  await slots.take()
  await slots.take()
  const third = slots.take().then(() => order.push('third'))
  const fourth = slots.take().then(() => order.push('fourth'))
  expect(order).toEqual([])
  expect(slots.waiting).toBe(2)
  slots.give()
  await third
  expect(order).toEqual(['third'])
  slots.give()
  await fourth
})

test('who stops waiting is passed over, and costs no slot', async () => {
  const slots = new Slots(1)
  await slots.take()
  const stop = new AbortController()
  const impatient = slots.take(stop.signal)
  const patient = slots.take()
  stop.abort(new Error('enough'))
  await expect(impatient).rejects.toThrow('enough')
  await expect(slots.take(stop.signal)).rejects.toThrow('enough')
  slots.give()
  await patient
  slots.give()
  await slots.take()
})
