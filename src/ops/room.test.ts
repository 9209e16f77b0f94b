import { describe, expect, it } from 'vitest'
import { Room } from './room.ts'

const never = new AbortController().signal

/** Enters, and says whether it is in. */
function enter(room: Room, need: number, signal = never) {
  const state = { isIn: false, refused: undefined as unknown }
  room.enter(need, signal).then(
    () => {
      state.isIn = true
    },
    reason => {
      state.refused = reason
    },
  )
  return state
}

const settled = () => new Promise(resolve => setImmediate(resolve))

describe('Room', () => {
  it('lets in as many as it has places for', async () => {
    const room = new Room(2)
    const all = [enter(room, 1), enter(room, 1), enter(room, 1)]
    await settled()
    expect(all.map(({ isIn }) => isIn)).toEqual([true, true, false])
    room.leave(1)
    await settled()
    expect(all[2]!.isIn).toBe(true)
  })

  it('takes first who came first: nobody passes one who needs all of it', async () => {
    const room = new Room(3)
    expect(room.tryEnter()).toBe(true)
    const alone = enter(room, 3)
    const late = enter(room, 1)
    await settled()
    expect([alone.isIn, late.isIn]).toEqual([false, false])
    expect(room.free).toBe(0)
    expect(room.tryEnter()).toBe(false)
    room.leave(1)
    await settled()
    expect([alone.isIn, late.isIn]).toEqual([true, false])
    expect(room.free).toBe(0)
    room.leave(3)
    await settled()
    expect(late.isIn).toBe(true)
    expect(room.free).toBe(2)
  })

  it('lets those behind one who gives up go on', async () => {
    const room = new Room(2)
    room.tryEnter()
    const controller = new AbortController()
    const alone = enter(room, 2, controller.signal)
    const late = enter(room, 1)
    controller.abort(new Error('gave up'))
    await settled()
    expect(alone.refused).toMatchObject({ message: 'gave up' })
    expect(late.isIn).toBe(true)
    expect(room.free).toBe(0)
  })

  it('refuses who has given up before', async () => {
    const room = new Room(1)
    await expect(room.enter(1, AbortSignal.abort(new Error('over')))).rejects.toThrow('over')
    expect(room.free).toBe(1)
  })

  it('keeps the place of one who gives up when already in', async () => {
    const room = new Room(1)
    const controller = new AbortController()
    await room.enter(1, controller.signal)
    controller.abort()
    expect(room.free).toBe(0)
    room.leave(1)
    expect(room.free).toBe(1)
  })

  it('tells of places that nobody queues for, unless asked not to', async () => {
    const room = new Room(1)
    let told = 0
    room.onFree = () => {
      told += 1
    }
    room.tryEnter()
    const waiting = enter(room, 1)
    room.leave(1)
    await settled()
    expect([waiting.isIn, told]).toEqual([true, 0])
    room.leave(1)
    expect(told).toBe(1)
    room.leave(0)
    room.tryEnter()
    room.leave(1, false)
    expect(told).toBe(1)
  })
})
