import { expect, it } from 'vitest'
import { Listeners } from './listeners.ts'

it('listeners are told in the order in which they joined, until they leave', () => {
  const listeners = new Listeners<number>()
  const told: string[] = []
  listeners.tell(1)
  const leave = listeners.add(value => told.push(`first ${value}`))
  listeners.add(value => told.push(`second ${value}`))
  listeners.tell(2)
  leave()
  listeners.tell(3)
  expect(told).toEqual(['first 2', 'second 2', 'second 3'])
})
