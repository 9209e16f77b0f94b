import { expect, it } from 'vitest'
import { RetryLater } from '../base/errors.ts'
import { Slots } from '../base/slots.ts'
import { Turn } from './turn.ts'

/** A journal whose writes can be refused from some moment on, as those of an operation with another owner are. */
function journal() {
  const state = { refused: false, writes: 0 }
  const write = async () => {
    if (state.refused) throw new RetryLater('the operation has moved on')
    state.writes += 1
  }
  return { state, journal: { write } }
}

const signal = new AbortController().signal

it('Turn frees all slots when a suspect act has entered alone and cannot record it', async () => {
  const room = new Slots(3)
  room.tryEnter()
  const { state, journal: refusing } = journal()
  const turn = new Turn(room, refusing, { attempts: 2, acting: true }, 0)
  const taken = turn.take('act', signal)
  await expect.poll(() => state.writes).toBe(1)
  state.refused = true
  room.leave(1)
  await expect(taken).rejects.toThrow('moved on')
  turn.end()
  expect(room.free).toBe(3)
})

it('Turn holds one slot for an act, all for a suspect one, and none for a wait', async () => {
  const room = new Slots(3)
  const turn = new Turn(room, journal().journal, { attempts: 0, acting: false }, 0)
  await turn.take('act', signal)
  expect(room.free).toBe(2)
  await turn.take('wait', signal)
  expect(room.free).toBe(3)
  const suspect = new Turn(room, journal().journal, { attempts: 2, acting: true }, 0)
  await suspect.take('act', signal)
  expect(room.free).toBe(0)
  suspect.end()
  expect(room.free).toBe(3)
})
