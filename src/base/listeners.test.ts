import { expect, it } from 'vitest'
import { Listeners } from './listeners.ts'

it('Listeners notifies in the order of addition, until removal', () => {
  const listeners = new Listeners<number>()
  const told: string[] = []
  listeners.notify(1)
  const leave = listeners.add(value => told.push(`first ${value}`))
  listeners.add(value => told.push(`second ${value}`))
  listeners.notify(2)
  leave()
  listeners.notify(3)
  expect(told).toEqual(['first 2', 'second 2', 'second 3'])
})
