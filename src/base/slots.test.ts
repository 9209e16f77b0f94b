import { describe, expect, it } from 'vitest'
import { Slots, SlotsByKey, TooManyWait } from './slots.ts'

/** Enters, and shows whether it is in. */
function enter(slots: Slots, need = 1, signal?: AbortSignal) {
  const state = { isIn: false, refused: undefined as unknown }
  slots.enter(need, signal).then(
    () => {
      state.isIn = true
    },
    reason => {
      state.refused = reason
    },
  )
  return state
}

/** Runs all pending work that waits for no timer. */
const settled = () => new Promise(resolve => setImmediate(resolve))

describe('Slots', () => {
  it('admits callers up to its places, and then in the order of arrival', async () => {
    const slots = new Slots(2)
    const all = [1, 2, 3, 4].map(() => enter(slots))
    const areIn = async () => {
      await settled()
      return all.map(({ isIn }) => isIn)
    }
    expect(await areIn()).toEqual([true, true, false, false])
    expect([slots.taken, slots.waiting]).toEqual([2, 2])
    slots.leave()
    expect(await areIn()).toEqual([true, true, true, false])
    slots.leave()
    expect(await areIn()).toEqual([true, true, true, true])
    expect([slots.taken, slots.waiting]).toEqual([2, 0])
  })

  it('lets no caller overtake one that needs all places', async () => {
    const slots = new Slots(3)
    expect(slots.tryEnter()).toBe(true)
    const alone = enter(slots, 3)
    const late = enter(slots)
    await settled()
    expect([alone.isIn, late.isIn]).toEqual([false, false])
    expect(slots.free).toBe(0)
    expect(slots.tryEnter()).toBe(false)
    slots.leave()
    await settled()
    expect([alone.isIn, late.isIn]).toEqual([true, false])
    expect(slots.free).toBe(0)
    slots.leave(3)
    await settled()
    expect(late.isIn).toBe(true)
    expect(slots.free).toBe(2)
  })

  it('skips a caller that stopped waiting, without losing a place', async () => {
    const slots = new Slots(1)
    await slots.enter()
    const stop = new AbortController()
    const impatient = enter(slots, 1, stop.signal)
    const patient = enter(slots)
    stop.abort(new Error('enough'))
    slots.leave()
    await settled()
    expect([impatient.refused, patient.isIn]).toEqual([new Error('enough'), true])
    slots.leave()
    expect(slots.tryEnter()).toBe(true)
  })

  it('admits callers behind one that gives up', async () => {
    const slots = new Slots(2)
    slots.tryEnter()
    const controller = new AbortController()
    const alone = enter(slots, 2, controller.signal)
    const late = enter(slots)
    controller.abort(new Error('gave up'))
    await settled()
    expect(alone.refused).toMatchObject({ message: 'gave up' })
    expect(late.isIn).toBe(true)
    expect(slots.free).toBe(0)
  })

  it('refuses a caller whose signal is aborted already', async () => {
    const slots = new Slots(1)
    await expect(slots.enter(1, AbortSignal.abort(new Error('over')))).rejects.toThrow('over')
    expect(slots.free).toBe(1)
  })

  it('keeps the place of a caller that is aborted after it entered', async () => {
    const slots = new Slots(1)
    const controller = new AbortController()
    await slots.enter(1, controller.signal)
    controller.abort()
    expect(slots.free).toBe(0)
    slots.leave()
    expect(slots.free).toBe(1)
  })

  it('refuses to wait when the maximum number of callers waits', async () => {
    const slots = new Slots(1, { maxWaiting: 1 })
    const all = [1, 2, 3].map(() => enter(slots))
    await settled()
    expect(all.map(({ isIn }) => isIn)).toEqual([true, false, false])
    expect(all.map(({ refused }) => refused instanceof TooManyWait)).toEqual([false, false, true])
    slots.leave()
    await settled()
    expect(all[1]!.isIn).toBe(true)
    expect(enter(slots).refused).toBeUndefined()
    expect(slots.waiting).toBe(1)
  })

  it('takes several places at once when they are free', () => {
    const slots = new Slots(10)
    expect(slots.tryEnter(6)).toBe(true)
    expect(slots.tryEnter(5)).toBe(false)
    expect(slots.tryEnter(4)).toBe(true)
    expect(slots.tryEnter(0)).toBe(true)
    slots.leave(6)
    expect(slots.taken).toBe(4)
  })

  it('notifies of free places that nobody waits for, except whom leave leaves out', async () => {
    const slots = new Slots(1)
    let told = 0
    const listener = () => {
      told += 1
    }
    let otherTold = 0
    slots.onFree(listener)
    slots.onFree(() => {
      otherTold += 1
    })
    slots.tryEnter()
    const waiting = enter(slots)
    slots.leave()
    await settled()
    expect([waiting.isIn, told]).toEqual([true, 0])
    slots.leave()
    expect(told).toBe(1)
    slots.leave(0)
    slots.tryEnter()
    slots.leave(1, listener)
    expect([told, otherTold]).toEqual([1, 2])
  })

  it('frees the place when the work fails', async () => {
    const slots = new Slots(1)
    await expect(slots.run(() => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
    await expect(slots.run(async () => 'done')).resolves.toBe('done')
    expect(slots.free).toBe(1)
  })
})

describe('SlotsByKey', () => {
  /** Users' work that goes on until a test ends it. */
  function works(slots: SlotsByKey) {
    const begun: string[] = []
    const ends = new Map<string, () => void>()
    const ask = (user: string, name: string) =>
      slots.run(user, () => {
        begun.push(name)
        return new Promise<void>(resolve => ends.set(name, resolve))
      })
    return { begun, ask, end: (name: string) => ends.get(name)?.() }
  }

  it('queues further work of a key in order, without delaying other keys', async () => {
    const { begun, ask, end } = works(new SlotsByKey(2))
    const first = ask('ada', 'a1')
    const all = ['a2', 'a3', 'a4'].map(name => ask('ada', name))
    all.push(ask('bob', 'b1'))
    await settled()
    expect(begun).toEqual(['a1', 'a2', 'b1'])
    end('a1')
    await first
    await settled()
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3'])
    for (const name of ['b1', 'a2', 'a3']) end(name)
    await Promise.all([all[0], all[1], all[3]])
    await settled()
    expect(begun.at(-1)).toBe('a4')
    end('a4')
    await all[2]
  })

  it('gives a place to the next work once, when work gives it back before its end', async () => {
    const slots = new SlotsByKey(1)
    const end = Promise.withResolvers<void>()
    const early = slots.run('ada', leave => {
      leave()
      leave()
      return end.promise
    })
    const { begun, ask, end: endOf } = works(slots)
    const [second, third] = [ask('ada', 'a2'), ask('ada', 'a3')]
    await settled()
    expect(begun).toEqual(['a2'])
    end.resolve()
    await early
    expect(begun).toEqual(['a2'])
    endOf('a2')
    await second
    await settled()
    endOf('a3')
    await third
    expect(slots.size).toBe(0)
  })

  it('goes on when work fails, and removes keys that hold nothing', async () => {
    const slots = new SlotsByKey(1)
    const failing = slots.run('ada', () => Promise.reject(new Error('refused')))
    const next = slots.run('ada', async () => 'done')
    expect(slots.size).toBe(1)
    await expect(failing).rejects.toThrow('refused')
    await expect(next).resolves.toBe('done')
    expect(slots.size).toBe(0)
  })

  it('lets no more wait for one key than it may', async () => {
    const { ask, end } = works(new SlotsByKey(1, { maxWaiting: 1 }))
    const all = [ask('ada', 'a1'), ask('ada', 'a2')]
    await expect(ask('ada', 'a3')).rejects.toThrow(TooManyWait)
    all.push(ask('bob', 'b1'))
    await settled()
    for (const name of ['a1', 'b1']) end(name)
    await all[0]
    await settled()
    end('a2')
    await Promise.all(all)
  })

  it('refuses only a key that holds all of its places, until one is freed', () => {
    const slots = new SlotsByKey(1)
    const leave = slots.tryEnter('ada')
    expect(slots.tryEnter('ada')).toBeUndefined()
    expect(slots.tryEnter('grace')).toBeDefined()
    leave!()
    expect(slots.size).toBe(1)
    expect(slots.tryEnter('ada')).toBeDefined()
  })
})
