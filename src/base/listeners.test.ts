import { describe, expect, it } from 'vitest'
import { Listeners, ListenersByKey } from './listeners.ts'

describe('Listeners', () => {
  it('notifies in the order of addition, until removal', () => {
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

  it('notifies all when one throws, and then throws its error', () => {
    const listeners = new Listeners()
    const told: string[] = []
    listeners.add(() => {
      throw new Error('a bug')
    })
    listeners.add(() => told.push('second'))
    expect(() => listeners.notify()).toThrow('a bug')
    expect(told).toEqual(['second'])
  })
})

describe('ListenersByKey', () => {
  it('notifies only the listeners of the key', () => {
    const listeners = new ListenersByKey<number>()
    const told: string[] = []
    listeners.add('ada', value => told.push(`ada ${value}`))
    listeners.add('ada', value => told.push(`ada again ${value}`))
    listeners.add('grace', value => told.push(`grace ${value}`))
    listeners.notify('ada', 1)
    listeners.notify('grace', 2)
    listeners.notify('none', 3)
    expect(told).toEqual(['ada 1', 'ada again 1', 'grace 2'])
  })

  it('notifies the listeners of every key', () => {
    const listeners = new ListenersByKey<number>()
    const told: string[] = []
    for (const key of ['ada', 'grace']) listeners.add(key, value => told.push(`${key} ${value}`))
    listeners.notifyAll(1)
    expect(told).toEqual(['ada 1', 'grace 1'])
  })

  it('keeps no key without listeners', () => {
    const listeners = new ListenersByKey()
    const [first, second] = [listeners.add('ada', () => {}), listeners.add('ada', () => {})]
    first()
    expect(listeners.size).toBe(1)
    second()
    second()
    expect(listeners.size).toBe(0)
  })
})
