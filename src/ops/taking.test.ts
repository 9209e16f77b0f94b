import { describe, expect, it } from 'vitest'
import { Slots } from '../base/slots.ts'
import { takeAll } from './taking.ts'
import { settled } from './testing/run.ts'

/** Takes `users`; the test answers each take. Those of `begun` need no slot. */
function makeTaking(users: readonly string[], places: number, begun: readonly string[] = []) {
  const room = new Slots(places)
  const asked: string[] = []
  const missed: unknown[] = []
  const errors: unknown[] = []
  const answers = new Map<string, PromiseWithResolvers<boolean>>()
  const state = { closed: false }
  const over = takeAll(users, {
    room,
    needsSlot: user => !begun.includes(user),
    take: async (user, slots) => {
      asked.push(`${user} ${slots}`)
      const answer = Promise.withResolvers<boolean>()
      answers.set(user, answer)
      if (await answer.promise) return true
      room.leave(slots)
      return false
    },
    onMissed: () => missed.push('missed'),
    isClosed: () => state.closed,
    onError: error => errors.push(error),
  })
  const answer = async (user: string, isTaken: boolean) => {
    answers.get(user)!.resolve(isTaken)
    await settled()
  }
  return { over, room, asked, missed, errors, answers, answer, state }
}

describe('takeAll', () => {
  it('takes as many as there are slots for at the same time, in their order', async () => {
    const { over, asked, missed, answer } = makeTaking(['a', 'b', 'c'], 2)
    expect(asked).toEqual(['a 1', 'b 1'])
    await answer('a', true)
    await answer('b', true)
    expect(await over).toBe(0)
    expect(asked).toEqual(['a 1', 'b 1'])
    expect(missed).toHaveLength(1)
  })

  it('gives the slot of a take that failed to the next one', async () => {
    const { over, asked, missed, room, answer } = makeTaking(['a', 'b', 'c'], 2)
    await answer('b', false)
    expect(asked).toEqual(['a 1', 'b 1', 'c 1'])
    await answer('a', true)
    await answer('c', true)
    expect(await over).toBe(1)
    expect(missed).toEqual([])
    expect(room.free).toBe(0)
  })

  it('takes those that need no slot without one', async () => {
    const { over, asked, missed, answer } = makeTaking(['a', 'b', 'c'], 1, ['a', 'b'])
    expect(asked).toEqual(['a 1', 'b 0'])
    await answer('a', true)
    await answer('b', true)
    await over
    expect(asked).toEqual(['a 1', 'b 0'])
    expect(missed).toHaveLength(1)
  })

  it('has at most 16 under way', async () => {
    const users = Array.from({ length: 20 }, (_, i) => `u${i}`)
    const { over, asked, answer } = makeTaking(users, 100)
    expect(asked).toHaveLength(16)
    for (const user of users) await answer(user, true)
    await over
    expect(asked).toHaveLength(20)
  })

  it('takes no more when the replica closes', async () => {
    const { over, asked, answer, state } = makeTaking(['a', 'b'], 1)
    state.closed = true
    await answer('a', false)
    await over
    expect(asked).toEqual(['a 1'])
  })

  it('goes on after a take that threw', async () => {
    const { over, asked, errors, answers } = makeTaking(['a', 'b'], 2)
    answers.get('a')!.reject(new TypeError('a bug'))
    answers.get('b')!.resolve(true)
    await over
    expect(asked).toHaveLength(2)
    expect(errors).toHaveLength(1)
  })
})
