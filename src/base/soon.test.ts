import { describe, expect, it } from 'vitest'
import { all, andThen, caught } from './soon.ts'

const fail = (words: string) => () => {
  throw new Error(words)
}

describe('andThen', () => {
  it('goes on at once with a value that is there, and later with one that comes', async () => {
    expect(andThen(1, value => value + 1)).toBe(2)
    const later = andThen(Promise.resolve(1), value => value + 1)
    expect(later).toBeInstanceOf(Promise)
    expect(await later).toBe(2)
    expect(await andThen(1, async value => value + 1)).toBe(2)
  })

  it('throws, or rejects, with what its next step throws', async () => {
    expect(() => andThen(1, fail('now'))).toThrow('now')
    await expect(andThen(Promise.resolve(1), fail('later'))).rejects.toThrow('later')
  })
})

describe('all', () => {
  it('is there at once when all values are, in their order', async () => {
    expect(all([1, 2])).toEqual([1, 2])
    expect(await all([1, Promise.resolve(2)])).toEqual([1, 2])
  })
})

describe('caught', () => {
  it('makes a value of what fails, now or later, and of nothing else', async () => {
    const words = (error: unknown) => (error as Error).message
    expect(caught(fail('now'), words)).toBe('now')
    expect(await caught(async () => fail('later')(), words)).toBe('later')
    expect([caught(() => 'value', words), await caught(async () => 'soon', words)]).toEqual(['value', 'soon'])
  })
})
